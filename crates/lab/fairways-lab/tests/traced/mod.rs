//! Commands that run programs under QEMU, in a folder.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use fairways_testing::needs::Need;
use fairways_tracer::QEMU;

pub(crate) fn there_is_qemu() -> bool {
    fairways_testing::needs::has("a real program", &[Need::Program(QEMU)])
}

pub(crate) fn fairways(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("fairways-lab"));
    command.current_dir(folder).args(words).stdin(Stdio::null());
    command
}

pub(crate) fn run(folder: &Path, words: &[&str]) -> Output {
    fairways(folder, words).output().unwrap()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a text to sort, of 20,000 lines.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..20_000).map(|n| format!("{} line\n", n * 7919 % 20_011)).collect();
    std::fs::write(folder.path().join("text"), text).unwrap();
    folder
}
