//! Versions of what a suite runs: the toolchain, programs from packages, the kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::CheckSubject;

/// Variables that suites and steps are run with.
pub(crate) const SET: [(&str, &str); 3] = [
    // A test without what it needs fails instead of being skipped.
    ("FAIRWAYS_REQUIRE_SYSTEM", "1"),
    // Properties are checked on the same cases each time; a run without the seed draws others.
    ("PROPTEST_RNG_SEED", "20261122"),
    ("RUSTDOCFLAGS", "--deny warnings"),
];

/// Other variables that change what tests do, by how they begin. Whether debug information is built
/// is not one of them.
const VARIABLES: [&str; 10] = [
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CLANG",
    "FAIRWAYS_",
    "PROPTEST_",
    "RUST_TEST_",
    "RUSTFLAGS",
    "TRYCMD",
];

/// Variables that only name places and machines, or that the runner sets itself.
const OF_NO_EFFECT: [&str; 7] = [
    "CARGO_TARGET_DIR",
    "FAIRWAYS_SHARED",
    "FAIRWAYS_KERNEL_LAB",
    "FAIRWAYS_REQUIRE_SHARED",
    "FAIRWAYS_REQUIRE_SYSTEM",
    "CARGO_PROFILE_DEV_DEBUG",
    "PROPTEST_RNG_SEED",
];

/// Something that suites need.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteNeed {
    /// Programs to look for, and the package that brings each.
    #[serde(default)]
    pub(crate) programs: BTreeMap<String, String>,
    /// Packages without a program to look for.
    #[serde(default)]
    pub(crate) packages: Vec<String>,
    /// Commands that print a version.
    #[serde(default)]
    pub(crate) run: Vec<String>,
    /// Packages of PyPI, with their versions.
    #[serde(default)]
    pub(crate) pip: Vec<String>,
}

impl SuiteNeed {
    /// Its packages.
    pub(crate) fn packages(&self) -> impl Iterator<Item = &str> {
        self.programs.values().chain(&self.packages).map(String::as_str)
    }
}

/// The need of suites that boot kernels.
const KERNELS: &str = "kernel lab";

/// Versions by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolVersions {
    /// What every suite depends on: the toolchain, and variables of the environment.
    pub(crate) common: Vec<String>,
    /// The running kernel, for suites that depend on it.
    pub(crate) running: String,
    /// What each need is, as suites name it: packages and their versions, programs and what they
    /// print.
    pub(crate) needs: BTreeMap<String, String>,
}

impl ToolVersions {
    /// Asks the system for what these needs are. `build` are cargo's arguments for whatever is
    /// built.
    pub(crate) fn read(root: &Path, needs: &BTreeMap<String, SuiteNeed>, build: &[&str]) -> Self {
        let mut common = vec![printed("rustc", &["-vV"])];
        common.extend(SET.map(|(name, value)| format!("{name}={value}")));
        let variables = std::env::vars().filter(|(name, _)| {
            let is_known = VARIABLES.iter().any(|start| name.starts_with(start));
            is_known && !OF_NO_EFFECT.contains(&name.as_str())
        });
        let mut variables: Vec<String> =
            variables.map(|(name, value)| format!("{name}={value}")).collect();
        variables.sort();
        common.extend(variables);
        let packages: Vec<&str> = needs.values().flat_map(|need| need.packages()).collect();
        let versions = versions(&packages);
        let versions_of_needs = needs.iter().map(|(name, need)| {
            let mut words: Vec<String> = need
                .packages()
                .map(|package| {
                    let version = versions.get(package).cloned().unwrap_or_else(unknown);
                    format!("{package} {version}")
                })
                .collect();
            words.extend(need.run.iter().map(|line| {
                let mut words = line.split(' ');
                printed(words.next().unwrap_or_default(), &words.collect::<Vec<_>>())
            }));
            words.extend(need.pip.iter().cloned());
            if name == KERNELS {
                words.push(kernels(root, build));
            }
            (name.clone(), words.join("\n"))
        });
        Self { common, running: printed("uname", &["-srm"]), needs: versions_of_needs.collect() }
    }

    /// What a suite depends on, in words.
    pub(crate) fn words(&self, subject: &CheckSubject) -> Vec<String> {
        let mut words = self.common.clone();
        words.extend(subject.command.iter().cloned());
        if subject.is_of_the_system {
            words.push(self.running.clone());
        }
        for need in &subject.needs {
            words.push(format!("{need}: {}", self.needs.get(need).map_or("", String::as_str)));
        }
        words
    }
}

/// The kernels that the lab boots: those that it keeps, or those that it would fetch.
fn kernels(root: &Path, build: &[&str]) -> String {
    let kept = std::env::var_os("FAIRWAYS_KERNEL_LAB");
    let kept = kept.map_or_else(|| root.join("target/kernel-lab"), PathBuf::from);
    let mut words = Vec::new();
    for kernel in ["bookworm", "sid", "trixie"] {
        let version = std::fs::read_to_string(kept.join(kernel).join("version"));
        words.push(version.unwrap_or_else(|_| {
            // Of the selection that everything is built in, so that it is not built twice.
            let lab = ["build", "--quiet", "--locked", "--bin", "fairways-kernel-lab"];
            printed("cargo", &[&lab, build].concat());
            let lab = root.join("target/debug/fairways-kernel-lab");
            printed(&lab.to_string_lossy(), &["newest", "--kernel", kernel])
        }));
    }
    let words: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    words.join(" ")
}

/// The versions of Debian's packages: of those that are installed, that; of others, the one that
/// would be.
fn versions(packages: &[&str]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut query = vec!["-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"];
    query.extend(packages);
    for line in printed("dpkg-query", &query).lines() {
        if let Some((name, version)) =
            line.strip_prefix("installed ").and_then(|rest| rest.split_once(' '))
        {
            all.insert(name.to_owned(), version.to_owned());
        }
    }
    let missing: Vec<&str> =
        packages.iter().copied().filter(|package| !all.contains_key(*package)).collect();
    if !missing.is_empty() {
        let policy = printed("apt-cache", &[&["policy"], &missing[..]].concat());
        let mut name = "";
        for line in policy.lines() {
            if let Some(candidate) = line.trim_start().strip_prefix("Candidate: ") {
                if candidate != "(none)" {
                    all.insert(name.to_owned(), candidate.to_owned());
                }
            } else if !line.starts_with(' ') {
                name = line.trim_end_matches(':');
            }
        }
    }
    all
}

/// Stands for a version that can't be found: no two are the same, so no pass holds with it.
fn unknown() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("unknown at {}", now.map_or(0, |now| now.as_nanos()))
}

/// What a program prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(unknown)
}
