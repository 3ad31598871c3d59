//! The corpus of the fuzz target, as an ordinary test (fuzz/README.md).

use fairways_testing::corpora::run;

use crate::sound::writes;

#[test]
fn whatever_was_written_the_tree_is_sound() {
    run("resctrl", 800, writes);
}
