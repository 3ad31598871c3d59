//! The examples of the documentation, run. `TRYCMD=overwrite` writes what they print.

#[test]
fn examples_print_what_they_show() {
    trycmd::TestCases::new().case("../../README.md").case("../../docs/*.md");
}
