//! The corpus of the fuzz target, as an ordinary test (fuzz/README.md).

use std::path::Path;

use crate::sound::writes;

#[test]
fn whatever_was_written_the_tree_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/resctrl");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let path = entry.expect("a readable folder").path();
        writes(&std::fs::read(&path).expect("a readable file"));
        files += 1;
    }
    assert!(files >= 30, "{files} files in {}", folder.display());
}
