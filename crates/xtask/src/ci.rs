//! What is run, in which order, beside what.

use std::collections::{BTreeMap, BTreeSet};
use std::io::stdout;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::binaries::{Built, build};
use crate::pool::{Job, run_all, sum_up};
use crate::prepare::{judges, prepare};
use crate::suites::{Suite, Suites, Tier};

/// The command of the README, for what is quick and needs nothing but the toolchain.
const TESTS: &str = "cargo test --workspace";

/// Cargo's other steps, one after the other.
const STEPS: [(&str, &str); 13] = [
    (
        "tools",
        "cargo install --locked --debug --root target/tools cargo-deny@0.20.2 cargo-machete@0.9.2",
    ),
    // Advisories are for whoever can reach their database: `cargo deny check`.
    ("licences and sources", "target/tools/bin/cargo-deny check licenses sources"),
    ("unused dependencies", "target/tools/bin/cargo-machete"),
    (
        "unit tests of sched-ext",
        "cargo test -p fairways-daemon -p fairways-sched-ext --features sched-ext --lib --locked",
    ),
    ("simulate", "cargo run --release --locked -- simulate"),
    ("format", "cargo fmt --all --check"),
    ("format of fuzz targets", "cargo fmt --manifest-path fuzz/Cargo.toml --check"),
    ("clippy", "cargo clippy --workspace --all-targets --locked -- --deny warnings"),
    (
        "clippy sched-ext",
        "cargo clippy -p fairways -p fairways-daemon -p fairways-sched-ext --features sched-ext --all-targets --test * --locked -- --deny warnings",
    ),
    ("site", "cargo xtask site"),
    ("documentation", "cargo doc --workspace --no-deps --locked"),
    (
        "documentation sched-ext",
        "cargo doc -p fairways-sched-ext --features sched-ext --no-deps --locked",
    ),
    // They are run by a nightly toolchain, but any compiles them.
    ("fuzz targets", "cargo check --manifest-path fuzz/Cargo.toml --locked"),
];

/// Runs everything; whether all passed.
///
/// # Errors
/// If something can't be installed, built or started.
pub(crate) fn ci() -> anyhow::Result<bool> {
    let readme = std::fs::read_to_string("README.md").context("README.md")?;
    ensure!(readme.lines().any(|line| line == TESTS), "README.md: expected the line {TESTS}");
    let path = prepare()?;
    let suites = Suites::read()?.suite;
    // What has `test = false` is no part of all targets.
    let lint = format!(
        "cargo clippy --workspace --locked {} -- --deny warnings",
        named(&suites, None).join(" ")
    );
    let mut jobs = jobs(suites, path.as_deref())?;
    build(&["--workspace"])?;
    let own = [
        ("tests of the README", format!("{TESTS} --locked --no-fail-fast")),
        ("clippy of suites", lint),
    ];
    let steps = own.into_iter().chain(STEPS.map(|(name, line)| (name, line.to_owned())));
    let mut steps: Vec<Job> = steps
        .map(|(name, line)| Job {
            name: name.to_owned(),
            command: line.split(' ').map(str::to_owned).collect(),
            folder: ".".into(),
            variables: variables(path.as_deref()),
            tests: false,
            alone: false,
        })
        .collect();
    // CI has the measured profiles beside the project, which others may not have.
    let shared = ("FAIRWAYS_REQUIRE_SHARED".to_owned(), "1".to_owned());
    jobs.iter_mut().chain(&mut steps).for_each(|job| job.variables.push(shared.clone()));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let done = run_all(jobs, lanes, steps, Path::new("target/ci"), &mut stdout())?;
    Ok(sum_up(done, &mut stdout()))
}

/// Runs suites of a tier, or of these names; whether all passed.
///
/// # Errors
/// If there is no such suite, or it can't be built or started.
pub(crate) fn test(tier: Option<Tier>, names: &[String]) -> anyhow::Result<bool> {
    let all = Suites::read()?.suite;
    for name in names {
        let there = || all.iter().map(|of| of.test.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(all.iter().any(|of| of.test == *name), "{name}: expected a suite of {}", there());
    }
    let is_asked = |of: &Suite| {
        tier.is_none_or(|tier| of.tier == tier) && (names.is_empty() || names.contains(&of.test))
    };
    let suites: Vec<Suite> = all.into_iter().filter(is_asked).collect();
    ensure!(!suites.is_empty(), "{}: no suite of this tier", names.join(", "));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let jobs = jobs(suites, judges().as_deref())?;
    let done = run_all(jobs, lanes, Vec::new(), Path::new("target/ci"), &mut stdout())?;
    Ok(sum_up(done, &mut stdout()))
}

/// Builds suites; the job that runs each.
fn jobs(suites: Vec<Suite>, path: Option<&Path>) -> anyhow::Result<Vec<Job>> {
    let features: BTreeSet<Option<&str>> = suites.iter().map(|of| of.feature.as_deref()).collect();
    let mut built = BTreeMap::new();
    // What has no feature comes last: its programs are those that stay where cargo puts them.
    for feature in features.iter().rev() {
        built.insert(feature.map(str::to_owned), build_with(*feature, &named(&suites, *feature))?);
    }
    let mut jobs = Vec::new();
    for Suite { package, test, only, feature, alone, .. } in suites {
        let Built { tests, programs } = &built[&feature];
        let binary = tests.iter().find(|of| of.package == package && of.name == test);
        let binary = binary.with_context(|| format!("{package} has no test {test}"))?;
        let folder = binary.folder.clone();
        let mut variables = variables(path);
        variables.push(("CARGO_MANIFEST_DIR".to_owned(), text(&folder)));
        let program =
            |(name, path): &(String, PathBuf)| (format!("CARGO_BIN_EXE_{name}"), text(path));
        variables.extend(programs.iter().map(program));
        let name = [Some(package.as_str()), Some(&test), only.as_deref()];
        let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let command = std::iter::once(text(&binary.program)).chain(only).collect();
        jobs.push(Job { name, command, folder, variables, tests: true, alone });
    }
    Ok(jobs)
}

/// Cargo's arguments that name the suites with a feature, or those without.
fn named<'a>(suites: &'a [Suite], feature: Option<&str>) -> Vec<&'a str> {
    let suites = suites.iter().filter(|of| of.feature.as_deref() == feature);
    suites.flat_map(|of| ["--test", of.test.as_str()]).collect()
}

/// Builds suites that need a feature, or that need none. Programs with a feature are put aside, for
/// those without take their places.
fn build_with(feature: Option<&str>, named: &[&str]) -> anyhow::Result<Built> {
    let Some(feature) = feature else { return build(&[&["--workspace"], named].concat()) };
    let packages = ["-p", "fairways", "-p", "fairways-sched-ext", "--features", feature];
    let mut built = build(&[&packages[..], named].concat())?;
    let aside = std::env::current_dir()?.join("target/ci").join(feature);
    std::fs::create_dir_all(&aside)?;
    for (name, program) in &mut built.programs {
        let to = aside.join(name);
        // Another may be running: it keeps its file.
        let _ = std::fs::remove_file(&to);
        std::fs::copy(&program, &to).with_context(|| text(program))?;
        *program = to;
    }
    Ok(built)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The environment of tests and lints.
fn variables(path: Option<&Path>) -> Vec<(String, String)> {
    let mut all = vec![
        // A test that misses what it needs fails, rather than being skipped.
        ("FAIRWAYS_REQUIRE_SYSTEM".to_owned(), "1".to_owned()),
        // Properties are tried on the same cases each time; who tests without it tries others.
        ("PROPTEST_RNG_SEED".to_owned(), "20261122".to_owned()),
        ("RUSTDOCFLAGS".to_owned(), "--deny warnings".to_owned()),
    ];
    if let Some(first) = path {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(PathBuf::from(first)).chain(std::env::split_paths(&rest));
        if let Ok(joined) = std::env::join_paths(folders) {
            all.push(("PATH".to_owned(), joined.to_string_lossy().into_owned()));
        }
    }
    all
}
