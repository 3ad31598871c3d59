//! The corpus of the fuzz target, as an ordinary test (fuzz/README.md).

use fairways_testing::corpora::run;

use crate::properties::language;

#[test]
fn whatever_is_read_is_written_the_same() {
    run("language", 500, language);
}
