//! What CI runs, in which order and side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};

use crate::binaries::{Built, build};
use crate::inputs::{Checkout, SET, SHARED, ToolVersions, git, shared};
use crate::plan::{PlanEntry, RunDecision, plan, print};
use crate::pool::{Job, JobResult, run_all, show, sum_up};
use crate::prepare::{judges, prepare, prepare_build};
use crate::record::{PassRecord, PassedLine};
use crate::suites::{Suite, Suites, Tier};

/// The README's command for all quick tests that need only the toolchain.
const TESTS: &str = "cargo test --workspace";

/// Where the output of jobs is kept.
const LOGS: &str = "target/ci";

/// What a run of CI is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CiRequest {
    /// Everything runs, and what each suite opens is compared with its inputs.
    pub(crate) all: bool,
    /// Only the plan is printed.
    pub(crate) plan: bool,
    /// Results that the change under test recorded itself don't count.
    pub(crate) is_ci: bool,
}

/// Checks that the README has the command of its tests, and is short.
fn check_readme(readme: &str) -> anyhow::Result<()> {
    ensure!(readme.lines().any(|line| line == TESTS), "README.md: expected the line {TESTS}");
    ensure!(readme.lines().count() < 150, "README.md: expected fewer than 150 lines");
    Ok(())
}

/// Runs whatever has no recorded pass with its present inputs, and one more that has; returns
/// whether all passed.
///
/// # Errors
/// If something can't be installed, built or started.
pub(crate) fn ci(asked: CiRequest) -> anyhow::Result<bool> {
    check_readme(&std::fs::read_to_string("README.md").context("README.md")?)?;
    let (root, suites) = (here()?, Suites::read()?);
    if asked.plan {
        let (_, _, entries) = decide(&root, &suites, asked)?;
        print(&entries, &mut stdout());
        return Ok(true);
    }
    prepare_build()?;
    let (checkout, record, entries) = decide(&root, &suites, asked)?;
    print(&entries, &mut stdout());
    // The rest is installed beside the build.
    std::thread::scope(|scope| {
        let installed = scope.spawn(prepare);
        build(&suites.build_arguments())?;
        let runs =
            |name: &str| entries.iter().any(|entry| entry.subject.name == name && entry.runs());
        let named = suites.suite.iter().filter(|suite| runs(&suite.name()));
        let named: Vec<Suite> = named.cloned().collect();
        let built = build_suites(&suites, &named)?;
        let path = installed.join().map_err(|_| anyhow::anyhow!("the installation panicked"))??;
        let mut jobs = jobs(named, &built, path.as_deref())?;
        let features = suites.features.join(",");
        let tests = format!("{TESTS} --features {features} --locked --no-fail-fast");
        let mut steps = vec![job("tests of the README", &tests, path.as_deref())];
        for step in suites.step.iter().filter(|step| runs(&step.name)) {
            let install = step.tool.as_ref().map_or(String::new(), |tool| {
                format!("cargo install --quiet --locked --debug --root target/tools {tool} && ")
            });
            steps.push(job(&step.name, &format!("{install}{}", step.command), path.as_deref()));
        }
        // CI has the measured profiles beside the project; other checkouts may not.
        for job in jobs.iter_mut().chain(&mut steps) {
            job.variables.push(("FAIRWAYS_REQUIRE_SHARED".to_owned(), "1".to_owned()));
            let entry = entries.iter().find(|entry| entry.subject.name == job.name);
            job.times = entry.map_or(1, |entry| entry.times);
            if asked.all && entry.is_some() {
                watch(job, &root)?;
            }
        }
        let lanes = std::thread::available_parallelism().map_or(2, usize::from);
        let watched = asked.all.then(|| compiled(&built));
        let mut keeper = PassKeeper { root: &root, checkout, record, entries: &entries, watched };
        let done =
            run_all(jobs, lanes, steps, Path::new(LOGS), &mut |result| keeper.ended(result))?;
        writeln!(stdout(), "\n== not run")?;
        for entry in entries.iter().filter(|entry| !entry.runs()) {
            writeln!(stdout(), "{}: {}", entry.subject.name, entry.reason())?;
        }
        Ok(sum_up(done, &reasons(&entries), &mut stdout()))
    })
}

/// Runs the suites of a tier, or with these names; `watched` says whether what they open is
/// compared with their inputs. Returns whether all passed.
///
/// # Errors
/// If no suite matches, or one can't be built or started.
pub(crate) fn test(tier: Option<Tier>, names: &[String], watched: bool) -> anyhow::Result<bool> {
    let mut suites = Suites::read()?;
    for name in names {
        ensure!(
            suites.suite.iter().any(|suite| suite.is_named(name)),
            "{name}: expected a suite of {}",
            suites.suite.iter().map(|suite| suite.test.as_str()).collect::<Vec<_>>().join(", ")
        );
    }
    let mut asked = suites.suite.clone();
    asked.retain(|suite| match (names, tier) {
        ([], None) => suite.tier != Tier::Slow,
        ([], Some(tier)) => suite.tier == tier,
        (names, tier) => {
            names.iter().any(|name| suite.is_named(name))
                && tier.is_none_or(|tier| suite.tier == tier)
        }
    });
    ensure!(!asked.is_empty(), "{}: no suite of this tier", names.join(", "));
    suites.suite.retain(|suite| asked.iter().any(|other| other.name() == suite.name()));
    let root = here()?;
    suites.needs.retain(|name, _| asked.iter().any(|suite| suite.needs.contains(name)));
    let all = CiRequest { all: true, plan: false, is_ci: false };
    let (checkout, record, entries) = decide(&root, &suites, all)?;
    let built = build_suites(&suites, &asked)?;
    let mut jobs = jobs(asked, &built, judges().as_deref())?;
    if shared(&root).is_some() {
        let variable = ("FAIRWAYS_REQUIRE_SHARED".to_owned(), "1".to_owned());
        jobs.iter_mut().for_each(|job| job.variables.push(variable.clone()));
    }
    if watched {
        jobs.iter_mut().try_for_each(|job| watch(job, &root))?;
    }
    let lanes = std::thread::available_parallelism().map_or(2, usize::from);
    let watched = watched.then(|| compiled(&built));
    let mut keeper = PassKeeper { root: &root, checkout, record, entries: &entries, watched };
    let done =
        run_all(jobs, lanes, Vec::new(), Path::new(LOGS), &mut |result| keeper.ended(result))?;
    Ok(sum_up(done, &BTreeMap::new(), &mut stdout()))
}

/// Why each runs, by name.
fn reasons(entries: &[PlanEntry]) -> BTreeMap<String, String> {
    entries.iter().map(|entry| (entry.subject.name.clone(), entry.reason())).collect()
}

fn here() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_dir()?.canonicalize()?)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Reads the checkout and the record, and decides what runs.
fn decide(
    root: &Path,
    suites: &Suites,
    asked: CiRequest,
) -> anyhow::Result<(Checkout, PassRecord, Vec<PlanEntry>)> {
    let tools = ToolVersions::read(root, &suites.needs, &suites.build_arguments());
    let checkout = Checkout::read(root, &suites.features, &suites.reads, tools)?;
    let record = PassRecord::read(root, Suites::read()?.names(), asked.is_ci)?;
    let profile = suites.profile(root)?;
    let tests = suites.suite.iter().filter(|suite| suite.tier != Tier::Slow);
    let steps = suites.step.iter().filter(|step| asked.all || !step.only_in_all);
    let mut subjects: Vec<_> = tests.map(|suite| suite.subject(&profile)).collect();
    subjects.extend(steps.map(|step| step.subject(&profile)));
    let seed = git(root, &["rev-parse", "HEAD"]).unwrap_or_default();
    let entries = plan(&checkout, &record, subjects, asked.all, &seed, now())?;
    Ok((checkout, record, entries))
}

/// Builds suites with all features, as the rest is built.
fn build_suites(suites: &Suites, named: &[Suite]) -> anyhow::Result<Built> {
    let tests: BTreeSet<&str> = named.iter().map(|suite| suite.test.as_str()).collect();
    let tests = tests.into_iter().flat_map(|test| ["--test", test]);
    let mut arguments = suites.build_arguments();
    arguments.extend(tests);
    if named.is_empty() { Ok(Built::default()) } else { build(&arguments) }
}

/// The job that runs each suite.
fn jobs(suites: Vec<Suite>, built: &Built, path: Option<&Path>) -> anyhow::Result<Vec<Job>> {
    let Built { tests, programs } = built;
    let mut jobs = Vec::new();
    for suite in suites {
        let Suite { package, test, .. } = &suite;
        let binary = tests.iter().find(|binary| binary.package == *package && binary.name == *test);
        let binary = binary.with_context(|| format!("{package} has no test {test}"))?;
        let mut variables = variables(path);
        variables.push(("CARGO_MANIFEST_DIR".to_owned(), text(&binary.folder)));
        variables.extend(
            programs.iter().map(|(name, path)| (format!("CARGO_BIN_EXE_{name}"), text(path))),
        );
        jobs.push(Job {
            name: suite.name(),
            command: std::iter::once(text(&binary.program)).chain(suite.arguments()).collect(),
            folder: binary.folder.clone(),
            variables,
            must_run_tests: true,
            runs_alone: suite.alone,
            times: 1,
        });
    }
    Ok(jobs)
}

/// The job that runs a line of shell.
fn job(name: &str, line: &str, path: Option<&Path>) -> Job {
    Job {
        name: name.to_owned(),
        command: ["bash", "-c", line].map(str::to_owned).to_vec(),
        folder: ".".into(),
        variables: variables(path),
        must_run_tests: false,
        runs_alone: false,
        times: 1,
    }
}

/// Lets a job note which files of the checkout it opens.
fn watch(job: &mut Job, root: &Path) -> anyhow::Result<()> {
    let mut command = vec![text(&std::env::current_exe()?), "opened".to_owned()];
    for folder in [Some(root.to_owned()), shared(root)].into_iter().flatten() {
        command.extend(["--folder".to_owned(), text(&folder.canonicalize()?)]);
    }
    command.extend(["--to".to_owned(), text(&root.join(opened_file(&job.name))), "--".to_owned()]);
    command.append(&mut job.command);
    job.command = command;
    Ok(())
}

/// Where rustc lists the sources of each suite's test.
fn compiled(built: &Built) -> BTreeMap<String, PathBuf> {
    let suites = Suites::read().map_or_else(|_| Vec::new(), |suites| suites.suite);
    let tests = suites.into_iter().filter_map(|suite| {
        let mut tests = built.tests.iter();
        let test = tests.find(|test| test.package == suite.package && test.name == suite.test)?;
        Some((suite.name(), test.program.with_extension("d")))
    });
    tests.collect()
}

/// Where it is noted what a job opened.
fn opened_file(name: &str) -> PathBuf {
    Path::new(LOGS).join(format!("{}.opened.txt", name.replace([' ', '/'], "-")))
}

/// Prints the result of each job as it ends, and records those that passed.
struct PassKeeper<'a> {
    root: &'a Path,
    checkout: Checkout,
    record: PassRecord,
    entries: &'a [PlanEntry],
    /// If what suites open is noted: for each suite that was built, where rustc lists its sources.
    watched: Option<BTreeMap<String, PathBuf>>,
}

impl PassKeeper<'_> {
    fn ended(&mut self, result: &mut JobResult) -> anyhow::Result<()> {
        let entry = self.entries.iter().find(|entry| entry.subject.name == result.name);
        let mut remarks = Vec::new();
        if let Some(entry) = entry {
            remarks = self.keep(entry, result)?;
        }
        show(result, &mut stdout());
        for remark in remarks {
            writeln!(stdout(), "== {}: {remark}", result.name)?;
        }
        Ok(())
    }

    /// Records a result; returns remarks on it.
    fn keep(&mut self, entry: &PlanEntry, result: &mut JobResult) -> anyhow::Result<Vec<String>> {
        let mut remarks = Vec::new();
        if self.watched.is_some() && !result.was_cut_off {
            remarks = self.unexpected(entry)?;
            result.has_passed &= remarks.is_empty();
        }
        if result.was_cut_off {
            remarks.push("it was cut off: nothing is recorded".to_owned());
        } else if !result.has_passed {
            self.record.fail(&result.name, entry.inputs.clone())?;
            if let RunDecision::Drawn(stamp) = &entry.decision {
                remarks.push(self.void(entry, stamp)?);
            }
        } else if result.has_skipped() {
            remarks.push("it skipped something: nothing is recorded".to_owned());
        } else if self.has_changed(entry)? {
            remarks.push("its inputs changed while it ran: nothing is recorded".to_owned());
        } else {
            let commit = git(self.root, &["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
            let line = PassedLine {
                inputs: entry.inputs.clone(),
                commit: commit.trim().to_owned(),
                time: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
                seconds: (result.duration.as_secs_f64() * 10.0 / f64::from(entry.times)).round()
                    / 10.0,
                tests: result.tests().map(|tests| tests / entry.times),
            };
            self.record.pass(&result.name, line, entry.times)?;
        }
        Ok(remarks)
    }

    fn has_changed(&self, entry: &PlanEntry) -> anyhow::Result<bool> {
        let now = self.checkout.reread(self.root)?;
        Ok(!now.is_built_as(&self.checkout) || now.inputs(&entry.subject)? != entry.inputs)
    }

    /// One that was held to be unchanged fails: lines of its package don't count any more.
    fn void(&mut self, entry: &PlanEntry, stamp: &str) -> anyhow::Result<String> {
        let package = &entry.subject.package;
        let void = self.entries.iter().filter(|other| other.subject.package == *package);
        let void: Vec<String> = void.map(|other| other.subject.name.clone()).collect();
        self.record.void(&void)?;
        Ok(format!(
            "its inputs are unchanged since {stamp}, and it fails: either an input is missing in \
             suites.toml, or the suite does not always pass; no longer recorded: {}",
            void.join(", ")
        ))
    }

    /// The files of the checkout that a suite opened, or was compiled from, and that are not among
    /// its inputs.
    fn unexpected(&self, entry: &PlanEntry) -> anyhow::Result<Vec<String>> {
        let file = self.root.join(opened_file(&entry.subject.name));
        let Ok(mut opened) = std::fs::read_to_string(&file) else {
            return Ok(vec!["what it opens could not be noted: that needs root".to_owned()]);
        };
        let sources = self.watched.iter().find_map(|all| all.get(&entry.subject.name));
        if let Some(sources) = sources {
            let sources = std::fs::read_to_string(sources).with_context(|| text(sources))?;
            let lines = sources.lines().filter_map(|line| line.split_once(": ")).map(|line| line.1);
            for source in lines.flat_map(str::split_whitespace) {
                opened += &format!("{}\n", text(&self.root.join(source)));
            }
        }
        let shared = shared(self.root).and_then(|shared| shared.canonicalize().ok());
        let expected = self.checkout.opened(&entry.subject)?;
        let mut unexpected = BTreeSet::new();
        for path in opened.lines().map(Path::new) {
            let in_shared = shared.as_deref().and_then(|shared| path.strip_prefix(shared).ok());
            let name = match (path.strip_prefix(self.root), in_shared) {
                (Ok(path), _) => text(path),
                (_, Some(path)) => format!("{SHARED}{}", path.display()),
                _ => continue,
            };
            if self.checkout.has(&name) && !expected.contains(&name) {
                unexpected.insert(name);
            }
        }
        Ok(unexpected
            .into_iter()
            .map(|name| format!("opened {name}, which is not among its inputs"))
            .collect())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The environment variables of tests and lints.
fn variables(path: Option<&Path>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        SET.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    if let Some(first) = path {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(PathBuf::from(first)).chain(std::env::split_paths(&rest));
        if let Ok(joined) = std::env::join_paths(folders) {
            all.push(("PATH".to_owned(), joined.to_string_lossy().into_owned()));
        }
    }
    all
}

#[cfg(test)]
mod tests;
