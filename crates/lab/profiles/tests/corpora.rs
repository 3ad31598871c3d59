//! The corpora of the fuzz targets, as an ordinary test (fuzz/README.md).

mod checks;

use fairways_testing::corpora::run;

#[test]
fn profiles() {
    run("profiles", 100, checks::profiles);
}

#[test]
fn mixes() {
    run("mixes", 30, checks::mixes);
}

#[test]
fn phased() {
    run("phased", 30, checks::phased);
}
