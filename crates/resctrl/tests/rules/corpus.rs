//! The corpus of the fuzz target, as an ordinary test (fuzz/README.md).

use std::path::Path;

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
