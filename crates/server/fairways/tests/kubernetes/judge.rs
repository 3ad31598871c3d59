//! What judges manifests, and reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fairways_testing::needs::{Need, find, has, skip};
use serde_json::Value;

/// The oldest Kubernetes that knows all fields, and the newest that the judge knows.
pub(crate) const VERSIONS: [&str; 2] = ["1.30.0", "1.37.0"];

pub(crate) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub(crate) fn manifest(name: &str) -> PathBuf {
    project().join("packaging/kubernetes").join(name)
}

/// Checks files against the schemas of that Kubernetes version, which the judge includes; fields
/// that they do not know are errors.
pub(crate) fn judged(files: &[PathBuf], version: &str) -> Output {
    let mut judge = Command::new("kubernetes-validate");
    judge.args(["--strict", "--no-warn", "--kubernetes-version", version]).args(files);
    judge.output().unwrap()
}

/// The Python that runs the judge, with the libraries that the judge needs.
pub(crate) fn python() -> Command {
    let judge = fs::canonicalize(find("kubernetes-validate").unwrap()).unwrap();
    let script = fs::read_to_string(judge).unwrap();
    Command::new(script.lines().next().unwrap().strip_prefix("#!").unwrap())
}

/// The manifests.
pub(crate) fn read(kind: &str, files: &[PathBuf]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/read.py");
    let output = python().arg(script).arg(kind).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn can(test: &str) -> bool {
    if !has(test, &[Need::Program("kubernetes-validate")]) {
        return false;
    }
    let all = python().args(["-c", "import dockerfile_parse, yaml"]).output().unwrap();
    if !all.status.success() {
        skip(test, "dockerfile-parse is missing beside kubernetes-validate");
    }
    all.status.success()
}

/// The settings in force with that configuration.
pub(crate) fn shown(text: &str) -> Value {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    fs::write(&file, text).unwrap();
    let fairways = assert_cmd::cargo::cargo_bin("fairways");
    let output = Command::new(fairways).args(["config", "show", "--json"]).arg(&file).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
