//! Builds tests, and finds the binaries.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// A test binary.
#[derive(Clone, Debug)]
pub(crate) struct TestBinary {
    /// The package's name.
    pub(crate) package: String,
    /// The package's folder, in which the binary runs.
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) program: PathBuf,
}

/// The result of a build.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// The test binaries.
    pub(crate) tests: Vec<TestBinary>,
    /// The programs that the tests run, by name.
    pub(crate) programs: Vec<(String, PathBuf)>,
}

/// Cargo's message about something that it has built.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds with `cargo test --no-run` and these arguments.
///
/// # Errors
/// If the build fails.
pub(crate) fn build(arguments: &[&str]) -> anyhow::Result<Built> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    cargo.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = cargo.output().context("cargo")?;
    if !output.status.success() {
        bail!("cargo test --no-run {}: {}", arguments.join(" "), output.status);
    }
    let mut all = Built::default();
    for line in String::from_utf8(output.stdout)?.lines() {
        // Messages of other kinds have other members.
        let Ok(artifact) = serde_json::from_str::<Artifact>(line) else { continue };
        let Artifact { manifest_path, target, profile, executable: Some(program) } = artifact
        else {
            continue;
        };
        if target.kind.iter().any(|kind| kind == "bin") && !profile.test {
            all.programs.push((target.name, program));
        } else if target.kind.iter().any(|kind| kind == "test") && profile.test {
            let folder = manifest_path.parent().context("a manifest in a folder")?.to_owned();
            let manifest: toml::Table = toml::from_str(&std::fs::read_to_string(&manifest_path)?)?;
            let package = manifest["package"]["name"].as_str().context("a name")?.to_owned();
            all.tests.push(TestBinary { package, folder, name: target.name, program });
        }
    }
    Ok(all)
}
