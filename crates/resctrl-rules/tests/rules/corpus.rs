//! The corpus of the fuzz target, as an ordinary test (fuzz/README.md).

use fairways_corpora::run;

use crate::language::language;
use crate::sound::writes;

#[test]
fn whatever_was_written_the_tree_is_sound() {
    run("resctrl", 800, writes);
}

#[test]
fn whatever_is_read_is_written_the_same() {
    run("language", 500, language);
}
