//! What CI runs, in which order and side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::io::stdout;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::binaries::{Built, build};
use crate::pool::{Job, run_all, sum_up};
use crate::prepare::{judges, prepare};
use crate::suites::{Suite, Suites, Tier};

/// The README's command for all quick tests that need only the toolchain.
const TESTS: &str = "cargo test --workspace";

/// The other steps, one after the other.
const STEPS: [(&str, &str); 14] = [
    (
        "tools",
        "cargo install --locked --debug --root target/tools cargo-deny@0.20.2 cargo-machete@0.9.2",
    ),
    // Advisories need access to their database: `cargo deny check` checks them.
    ("licences and sources", "target/tools/bin/cargo-deny check licenses sources"),
    ("unused dependencies", "target/tools/bin/cargo-machete"),
    (
        "unit tests of sched-ext",
        "cargo test -p fairways-daemon -p fairways-sched-ext --features sched-ext --lib --locked",
    ),
    ("simulate", "cargo run --release --locked -- simulate"),
    ("corpus", "cargo xtask corpus --check gzip bzip2 sqlite3"),
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
    // A nightly toolchain runs them, but any toolchain compiles them.
    ("fuzz targets", "cargo check --manifest-path fuzz/Cargo.toml --locked"),
];

/// Runs everything; returns whether all passed.
///
/// # Errors
/// If something can't be installed, built or started.
pub(crate) fn ci() -> anyhow::Result<bool> {
    let readme = std::fs::read_to_string("README.md").context("README.md")?;
    ensure!(readme.lines().any(|line| line == TESTS), "README.md: expected the line {TESTS}");
    ensure!(readme.lines().count() < 150, "README.md: expected fewer than 150 lines");
    let path = prepare()?;
    let mut suites = Suites::read()?.suite;
    // `--all-targets` leaves out suites with `test = false`.
    let lint = format!(
        "cargo clippy --workspace --locked {} -- --deny warnings",
        named(&suites, None).join(" ")
    );
    // All are linted.
    suites.retain(|suite| suite.tier != Tier::Slow);
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
            must_run_tests: false,
            runs_alone: false,
        })
        .collect();
    // CI has the measured profiles beside the project; other checkouts may not.
    let shared = ("FAIRWAYS_REQUIRE_SHARED".to_owned(), "1".to_owned());
    jobs.iter_mut().chain(&mut steps).for_each(|job| job.variables.push(shared.clone()));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let done = run_all(jobs, lanes, steps, Path::new("target/ci"), &mut stdout())?;
    Ok(sum_up(done, &mut stdout()))
}

/// Runs the suites of a tier, or with these names; returns whether all passed.
///
/// # Errors
/// If no suite matches, or one can't be built or started.
pub(crate) fn test(tier: Option<Tier>, names: &[String]) -> anyhow::Result<bool> {
    let all = Suites::read()?.suite;
    for name in names {
        ensure!(
            all.iter().any(|suite| suite.test == *name),
            "{name}: expected a suite of {}",
            all.iter().map(|suite| suite.test.as_str()).collect::<Vec<_>>().join(", ")
        );
    }
    let suites: Vec<Suite> = all
        .into_iter()
        .filter(|suite: &Suite| {
            let is_asked = !names.is_empty() || suite.tier != Tier::Slow;
            tier.map_or(is_asked, |tier| suite.tier == tier)
                && (names.is_empty() || names.contains(&suite.test))
        })
        .collect();
    ensure!(!suites.is_empty(), "{}: no suite of this tier", names.join(", "));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let jobs = jobs(suites, judges().as_deref())?;
    let done = run_all(jobs, lanes, Vec::new(), Path::new("target/ci"), &mut stdout())?;
    Ok(sum_up(done, &mut stdout()))
}

/// Builds suites, and returns the job that runs each.
fn jobs(suites: Vec<Suite>, path: Option<&Path>) -> anyhow::Result<Vec<Job>> {
    let features: BTreeSet<Option<&str>> =
        suites.iter().map(|suite| suite.feature.as_deref()).collect();
    let mut built = BTreeMap::new();
    // Suites without a feature come last: their programs stay where cargo puts them.
    for feature in features.iter().rev() {
        built.insert(feature.map(str::to_owned), build_with(*feature, &named(&suites, *feature))?);
    }
    let mut jobs = Vec::new();
    for Suite { package, test, only, feature, alone, .. } in suites {
        let Built { tests, programs } = &built[&feature];
        let binary = tests.iter().find(|binary| binary.package == package && binary.name == test);
        let binary = binary.with_context(|| format!("{package} has no test {test}"))?;
        let folder = binary.folder.clone();
        let mut variables = variables(path);
        variables.push(("CARGO_MANIFEST_DIR".to_owned(), text(&folder)));
        variables.extend(
            programs.iter().map(|(name, path): &(String, PathBuf)| {
                (format!("CARGO_BIN_EXE_{name}"), text(path))
            }),
        );
        let name = [Some(package.as_str()), Some(&test), only.as_deref()];
        let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let command = std::iter::once(text(&binary.program)).chain(only).collect();
        jobs.push(Job {
            name,
            command,
            folder,
            variables,
            must_run_tests: true,
            runs_alone: alone,
        });
    }
    Ok(jobs)
}

/// Cargo's arguments that name the suites with a feature, or those without one.
fn named<'a>(suites: &'a [Suite], feature: Option<&str>) -> Vec<&'a str> {
    let suites = suites.iter().filter(|suite| suite.feature.as_deref() == feature);
    suites.flat_map(|suite| ["--test", suite.test.as_str()]).collect()
}

/// Builds the suites that need a feature, or that need none. Programs with a feature are moved
/// aside, because those without one have the same paths.
fn build_with(feature: Option<&str>, named: &[&str]) -> anyhow::Result<Built> {
    let Some(feature) = feature else { return build(&[&["--workspace"], named].concat()) };
    let packages = ["-p", "fairways", "-p", "fairways-sched-ext", "--features", feature];
    let mut built = build(&[&packages[..], named].concat())?;
    let aside = std::env::current_dir()?.join("target/ci").join(feature);
    std::fs::create_dir_all(&aside)?;
    for (name, program) in &mut built.programs {
        let to = aside.join(name);
        // Another job may be running the file: it keeps its copy.
        let _ = std::fs::remove_file(&to);
        std::fs::copy(&program, &to).with_context(|| text(program))?;
        *program = to;
    }
    Ok(built)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The environment variables of tests and lints.
fn variables(path: Option<&Path>) -> Vec<(String, String)> {
    let mut all = vec![
        // A test without what it needs fails instead of being skipped.
        ("FAIRWAYS_REQUIRE_SYSTEM".to_owned(), "1".to_owned()),
        // Properties are checked on the same cases each time; a run without the seed draws others.
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
