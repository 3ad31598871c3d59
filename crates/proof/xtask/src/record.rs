//! `ci/passed.toml`: the suites that passed, each with the inputs that it passed with.
//!
//! Only a run in which a suite passed writes its line. A line counts as long as the suite's inputs
//! are those of the line; [`PassRecord::standing`] has the other conditions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::inputs::{SuiteInputs, git};

/// Where the record is, in the checkout.
pub(crate) const FILE: &str = "ci/passed.toml";

/// How long a line counts.
const LASTS: u64 = 14 * DAY;

/// In CI, by how much the commit of a line must be older than the commit under test. A change is
/// made of the commits of some hours: what these recorded is run again.
const OLD_IN_CI: u64 = 12 * HOUR;

/// How often a suite has to pass with inputs with which it failed once, before that is recorded.
pub(crate) const PASSES_AFTER_A_FAILURE: u32 = 3;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// A suite that passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassedLine {
    pub(crate) inputs: SuiteInputs,
    /// The commit that was checked out; changes that were not committed are in the inputs alone.
    pub(crate) commit: String,
    /// When it had passed, as RFC 3339 writes it.
    pub(crate) time: String,
    pub(crate) seconds: f64,
    /// How many tests passed; none for a step.
    pub(crate) tests: Option<u32>,
}

/// What is recorded.
#[derive(Debug)]
pub(crate) struct PassRecord {
    root: PathBuf,
    lines: BTreeMap<String, PassedLine>,
    /// How many seconds before the commit under test that commit was made that brought a line; only
    /// in CI.
    ages: Option<BTreeMap<String, u64>>,
    failures: BTreeMap<String, Vec<FailedInputs>>,
    /// The suites that exist; lines of others are dropped when the record is written.
    known: Vec<String>,
}

/// The inputs with which a suite failed, on this machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FailedInputs {
    inputs: SuiteInputs,
    /// How often it has passed since.
    passes: u32,
}

/// Why a suite runs, or that it needn't.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PassStanding {
    /// It passed with these inputs.
    Holds(PassedLine),
    Runs(String),
}

impl PassRecord {
    /// Reads the record of a checkout; in CI with the ages of its lines.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn read(root: &Path, known: Vec<String>, is_ci: bool) -> anyhow::Result<Self> {
        let failures = fs::read_to_string(failures(root)).unwrap_or_default();
        Ok(Self {
            root: root.to_owned(),
            lines: lines(root)?,
            ages: is_ci.then(|| ages(root)),
            failures: toml::from_str(&failures).unwrap_or_default(),
            known,
        })
    }

    /// Whether a suite has to run with these inputs, and why.
    pub(crate) fn standing(&self, name: &str, inputs: &SuiteInputs, now: u64) -> PassStanding {
        if self.failed(name, inputs).is_some() {
            return PassStanding::Runs("it failed with these inputs".to_owned());
        }
        let Some(line) = self.lines.get(name) else {
            return PassStanding::Runs("no pass is recorded".to_owned());
        };
        let parts = [
            ("code", line.inputs.code != inputs.code),
            ("data", line.inputs.data != inputs.data),
            ("tools", line.inputs.tools != inputs.tools),
        ];
        let changed: Vec<&str> =
            parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect();
        if !changed.is_empty() {
            let changed = changed.join(" and ");
            return PassStanding::Runs(format!("{changed} changed since {}", line.stamp()));
        }
        // A time in the future is a mistake of some clock: such a line does not count, either.
        if line.passed_at().and_then(|at| now.checked_sub(at)).is_none_or(|age| age > LASTS) {
            return PassStanding::Runs(format!("passed on {}: older than 14 days", line.stamp()));
        }
        if let Some(ages) = &self.ages
            && ages.get(name).is_none_or(|age| *age < OLD_IN_CI)
        {
            let why = "its pass was not committed 12 hours before this commit";
            return PassStanding::Runs(why.to_owned());
        }
        PassStanding::Holds(line.clone())
    }

    /// How many passes in a row a suite still needs before they are recorded.
    pub(crate) fn passes_needed(&self, name: &str, inputs: &SuiteInputs) -> u32 {
        let failed = self.failed(name, inputs);
        failed.map_or(1, |failure| PASSES_AFTER_A_FAILURE.saturating_sub(failure.passes).max(1))
    }

    fn failed(&self, name: &str, inputs: &SuiteInputs) -> Option<&FailedInputs> {
        self.failures.get(name)?.iter().find(|failure| failure.inputs == *inputs)
    }

    /// Notes that a suite passed, and writes the record if that is enough.
    ///
    /// # Errors
    /// If a file can't be written.
    pub(crate) fn pass(&mut self, name: &str, line: PassedLine, times: u32) -> anyhow::Result<()> {
        let failures = self.failures.entry(name.to_owned()).or_default();
        if let Some(at) = failures.iter().position(|failure| failure.inputs == line.inputs) {
            failures[at].passes += times;
            let are_enough = failures[at].passes >= PASSES_AFTER_A_FAILURE;
            if are_enough {
                failures.remove(at);
            }
            self.write_failures()?;
            if !are_enough {
                return Ok(());
            }
        }
        self.reread()?;
        self.lines.insert(name.to_owned(), line);
        self.write()
    }

    /// Notes that a suite failed with these inputs: on this machine it has to pass three times. A
    /// line that says that it passes with them is dropped.
    ///
    /// # Errors
    /// If that can't be written.
    pub(crate) fn fail(&mut self, name: &str, inputs: SuiteInputs) -> anyhow::Result<()> {
        let failures = self.failures.entry(name.to_owned()).or_default();
        failures.retain(|failure| failure.inputs != inputs);
        failures.push(FailedInputs { inputs: inputs.clone(), passes: 0 });
        self.write_failures()?;
        if self.lines.get(name).is_some_and(|line| line.inputs == inputs) {
            self.void(&[name.to_owned()])?;
        }
        Ok(())
    }

    /// Drops the lines of these suites: they don't stand for what they say.
    ///
    /// # Errors
    /// If the record can't be written.
    pub(crate) fn void(&mut self, names: &[String]) -> anyhow::Result<()> {
        self.reread()?;
        self.lines.retain(|name, _| !names.contains(name));
        self.write()
    }

    /// Takes over what another run, or git, has written meanwhile.
    fn reread(&mut self) -> anyhow::Result<()> {
        self.lines = lines(&self.root)?;
        self.lines.retain(|name, _| self.known.contains(name));
        Ok(())
    }

    /// When and for how long a suite last passed.
    pub(crate) fn line(&self, name: &str) -> Option<&PassedLine> {
        self.lines.get(name)
    }

    fn write(&self) -> anyhow::Result<()> {
        let mut text =
            "# Suites that passed, each with its inputs. Only `cargo xtask` writes this.\n"
                .to_owned();
        for (name, line) in &self.lines {
            let value = toml::Value::try_from(line)?;
            writeln!(text, "{} = {value}", toml::Value::String(name.clone()))?;
        }
        replace(&self.root.join(FILE), &text)
    }

    fn write_failures(&self) -> anyhow::Result<()> {
        replace(&failures(&self.root), &toml::to_string(&self.failures)?)
    }
}

impl PassedLine {
    /// When it passed, and at which commit.
    pub(crate) fn stamp(&self) -> String {
        format!("{}, {}", self.time.get(..10).unwrap_or_default(), self.commit)
    }

    /// When it had passed, in seconds since 1970; nothing if that can't be read.
    fn passed_at(&self) -> Option<u64> {
        let time = humantime::parse_rfc3339(&self.time).ok()?;
        time.duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs())
    }
}

/// What failed stays on the machine.
fn failures(root: &Path) -> PathBuf {
    root.join("target/ci/failed.toml")
}

/// Writes a file as a whole, or leaves it as it is.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&beside, text));
    written.and_then(|()| fs::rename(&beside, path)).with_context(|| path.display().to_string())
}

/// The lines of the file. Where two stand for one suite, as after a merge, the later pass counts; a
/// line that can't be read counts as none.
fn lines(root: &Path) -> anyhow::Result<BTreeMap<String, PassedLine>> {
    let text = match fs::read_to_string(root.join(FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.context(FILE)?,
    };
    let mut lines: BTreeMap<String, PassedLine> = BTreeMap::new();
    for (name, line) in text.lines().flat_map(parsed) {
        if lines.get(&name).is_none_or(|other| other.time < line.time) {
            lines.insert(name, line);
        }
    }
    Ok(lines)
}

/// A suite's name and what its line says.
fn parsed(text: &str) -> BTreeMap<String, PassedLine> {
    toml::from_str(text).unwrap_or_default()
}

/// How many seconds before the commit that is checked out the commit of each line was made; nothing
/// if git does not say.
fn ages(root: &Path) -> BTreeMap<String, u64> {
    let head = git(root, &["show", "--no-patch", "--format=%ct", "HEAD"]).unwrap_or_default();
    let Ok(head) = head.trim().parse::<u64>() else { return BTreeMap::new() };
    let blame = git(root, &["blame", "--line-porcelain", "HEAD", "--", FILE]).unwrap_or_default();
    let present = fs::read_to_string(root.join(FILE)).unwrap_or_default();
    let (mut all, mut time) = (BTreeMap::new(), None);
    for line in blame.lines() {
        if let Some(seconds) = line.strip_prefix("committer-time ") {
            time = seconds.parse::<u64>().ok();
        } else if let (Some(text), Some(time)) = (line.strip_prefix('\t'), time)
            // What is not committed as it stands here has no age.
            && present.lines().any(|line| line == text)
        {
            let age = head.saturating_sub(time);
            all.extend(parsed(text).into_keys().map(|name| (name, age)));
        }
    }
    all
}

#[cfg(test)]
mod tests;
