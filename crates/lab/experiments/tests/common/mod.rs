//! The measured profiles and golden results, which are outside of the project.

use std::io::Write;
use std::path::{Path, PathBuf};

use fairways_profiles::{Mix, ProfileTable, read_mixes, read_table};

/// The folder `shared` beside the project, or the one of `FAIRWAYS_SHARED`. Without it the calling
/// test has nothing to check: it reports that on the terminal, past the capture of test output, and
/// fails where `FAIRWAYS_REQUIRE_SHARED` is set, as in CI.
pub(crate) fn shared(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let folder = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from);
    if folder.join("golden/policies.csv").is_file() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("FAIRWAYS_REQUIRE_SHARED").is_none(),
        "{test} needs the measured profiles, and {} does not have them",
        folder.display()
    );
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED {test}: no measured profiles in {}; set FAIRWAYS_SHARED",
        folder.display()
    );
    None
}

pub(crate) fn read(folder: &Path, file: &str) -> Vec<u8> {
    let path = folder.join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The measured profiles and the golden mixes.
pub(crate) fn spec(folder: &Path) -> (ProfileTable, Vec<Mix>) {
    let table = read_table(&read(folder, "data/spec-skylake/metrics.csv"), "metrics.csv").unwrap();
    let mixes =
        read_mixes(&read(folder, "golden/mixes.csv"), "mixes.csv", |name: &str| table.find(name))
            .unwrap();
    (table, mixes)
}
