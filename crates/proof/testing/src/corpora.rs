//! The inputs that fuzz targets have found, for the tests that run them again (fuzz/README.md).
//!
//! Each target has one archive: thousands of small files would be most of the repository's files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

/// The inputs of a target with their names, sorted by name.
///
/// # Panics
/// If `fuzz/corpus` has no such archive, or it can't be read.
#[must_use]
pub fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus");
    let path = folder.join(format!("{target}.tar.gz"));
    let file = File::open(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut archive = Archive::new(GzDecoder::new(file));
    let entries = archive.entries().expect("an archive");
    let files = entries.map(|entry| entry.expect("an entry of the archive"));
    let mut inputs: Vec<(String, Vec<u8>)> = files
        .filter(|entry| entry.header().entry_type().is_file())
        .map(|mut entry| {
            let path = entry.path().expect("a name").into_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            (path.file_name().expect("a file").to_string_lossy().into_owned(), bytes)
        })
        .collect();
    inputs.sort();
    inputs
}

/// Runs a check on each input of a target, which must have at least `least` inputs.
///
/// # Panics
/// If the check does, or if there are fewer inputs.
pub fn run(target: &str, least: usize, check: fn(&[u8])) {
    let inputs = inputs(target);
    assert!(inputs.len() >= least, "{} inputs of {target}", inputs.len());
    for (_, bytes) in inputs {
        check(&bytes);
    }
}
