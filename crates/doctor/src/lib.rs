//! Why a host can be managed, or cannot: what there is, why it matters, and what to do about what is missing.
//!
//! Nothing is changed, and nothing is assumed: everything is read from files, below a folder of choice, so that another
//! host can be examined from a copy of its files. What cannot be read is unknown.

mod abilities;
mod cpu;
mod facts;
mod files;
mod groups;
mod kernel;
mod monitors;
mod mount;
mod perf;
mod process;
mod rivals;
mod system;
mod turns;

use std::path::PathBuf;

use serde::Serialize;

use facts::Facts;

/// Which host is examined.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where its files are: `/` for this one.
    pub sysroot: PathBuf,
    /// resctrl's directory, as it is and not below `sysroot`; without it, where `/proc/mounts` says it is mounted, or
    /// an emulator at /sys/fs/resctrl.
    pub resctrl: Option<PathBuf>,
    /// Why the program that asks has no scheduler for the kernel, if it has none.
    pub without_scheduler: Option<String>,
}

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is in the way.
    Ok,
    /// It works, but not wholly, or at a price.
    Limited,
    /// It is not there.
    Missing,
    /// It could not be found out.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at; never changes its meaning.
    pub id: &'static str,
    /// How it stands with it.
    pub state: State,
    /// What was found, in a line.
    pub found: String,
    /// Why it matters, in a line.
    pub why: &'static str,
    /// What to do about it, in a line, where something can be done.
    pub remedy: Option<String>,
}

impl Finding {
    fn new(id: &'static str, state: State, found: impl Into<String>, why: &'static str) -> Self {
        Self { id, state, found: found.into(), why, remedy: None }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Whether something can be done on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Whether it can.
    pub yes: bool,
    /// Why not, in a line.
    pub why: Option<String>,
}

impl Answer {
    fn new(why_not: Option<&str>) -> Self {
        Self { yes: why_not.is_none(), why: why_not.map(str::to_owned) }
    }
}

/// Whether the host's caches can be managed now, by this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They can.
    Manageable,
    /// Not on this host as it is: the hardware, the kernel or the mount is missing.
    NotSupported,
    /// Others hold every class of service or every way.
    Busy,
    /// This process may not.
    Permission,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One by one, from the hardware upwards.
    pub findings: Vec<Finding>,
    /// Whether ways can be given out.
    pub partition: Answer,
    /// Whether what programs hold of the cache can be told.
    pub monitor: Answer,
    /// Whether what programs do can be counted by hardware.
    pub count: Answer,
    /// Whether threads can be told where to run, and for how long: by the means that the finding `scheduling` says.
    pub schedule: Answer,
    /// What follows from it.
    pub verdict: Verdict,
}

/// Examines a host. Files that are not there or cannot be read are findings, and no errors.
#[must_use]
pub fn examine(place: &Place) -> Report {
    let facts = Facts::gather(place);
    let mut findings = Vec::new();
    cpu::check(&facts, &mut findings);
    kernel::check(&facts, &mut findings);
    mount::check(&facts, &mut findings);
    abilities::check(&facts, &mut findings);
    groups::check(&facts, &mut findings);
    rivals::check(&facts, &mut findings);
    process::check(&facts, &mut findings);
    perf::check(&facts, &mut findings);
    system::check(&facts, &mut findings);
    turns::check(&facts, place.without_scheduler.as_deref(), &mut findings);
    let (partition, verdict) = verdict(&facts, &findings);
    let monitor = match (&facts.resctrl, &facts.info) {
        (None, _) => Some(without(&facts)),
        (_, Some(info)) if info.monitoring.is_some() => None,
        _ => Some("resctrl has no info/L3_MON"),
    };
    let count = match (perf::counts(&facts), perf::permitted(&facts)) {
        (false, _) => Some("there is no hardware PMU that perf knows"),
        (true, false) => Some("this process may not count what others do"),
        (true, true) => None,
    };
    let (monitor, count) = (Answer::new(monitor), Answer::new(count));
    let lacks = |one: &&Finding| {
        one.id == turns::ID && matches!(one.state, State::Missing | State::Unknown)
    };
    let schedule = Answer::new(findings.iter().find(lacks).map(|one| one.found.as_str()));
    Report { findings, partition, monitor, count, schedule, verdict }
}

/// Why there is no resctrl.
fn without(facts: &Facts) -> &'static str {
    match facts.registered {
        Some(false) => "the kernel has no resctrl",
        _ => "resctrl is not mounted",
    }
}

fn verdict(facts: &Facts, findings: &[Finding]) -> (Answer, Verdict) {
    let lacks = |id| findings.iter().any(|one| one.id == id && one.state == State::Missing);
    let (why, verdict) = if facts.resctrl.is_none() {
        (Some(without(facts)), Verdict::NotSupported)
    } else if facts.l3().is_none() {
        (Some("resctrl gives out no ways of an L3 cache"), Verdict::NotSupported)
    } else if lacks(process::ID) {
        (Some("this process may not write to resctrl"), Verdict::Permission)
    } else if lacks(abilities::CLASSES) {
        (Some("others hold every class of service"), Verdict::Busy)
    } else if lacks(groups::EXCLUSIVE) {
        (Some("others hold every way exclusively"), Verdict::Busy)
    } else {
        (None, Verdict::Manageable)
    };
    (Answer::new(why), verdict)
}
