//! The corpora of the fuzz targets, as an ordinary test (fuzz/README.md).

mod checks;

use std::path::Path;

fn run(corpus: &str, least: usize, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let path = entry.expect("a readable folder").path();
        check(&std::fs::read(&path).expect("a readable file"));
        files += 1;
    }
    assert!(files >= least, "{files} files in {}", folder.display());
}

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
