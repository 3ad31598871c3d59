//! Whether a host can be managed, and why not: what it has, why that matters, and how to get what
//! is missing.
//!
//! Nothing is changed or assumed: everything is read from files below a folder of choice, so that
//! another host can be examined from a copy of its files. A file that can't be read makes its
//! finding unknown.

mod abilities;
mod apart;
pub mod collect;
mod cpu;
mod facts;
mod files;
mod groups;
mod kernel;
mod monitors;
mod mount;
pub mod output;
mod perf;
mod placement;
mod process;
mod promised;
mod rivals;
mod runtime;
mod system;
mod traffic;
mod turns;

use std::path::PathBuf;

use fairways_resctrl::language::Monitoring;
use serde::Serialize;

use facts::Facts;

/// The host to examine.
#[derive(Clone, Debug)]
pub struct ExaminedHost {
    /// The folder of its files: `/` for this one.
    pub sysroot: PathBuf,
    /// resctrl's directory, as it is and not below `sysroot`; without it, the place where
    /// `/proc/mounts` lists it, or an emulator at /sys/fs/resctrl.
    pub resctrl: Option<PathBuf>,
    /// Whether its files are a [copy](collect), which has no process and no permissions.
    pub is_copy: bool,
    /// Why the calling program has no scheduler for the kernel, if it has none.
    pub without_scheduler: Option<String>,
}

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Nothing is in the way.
    Ok,
    /// It works, but not wholly, or at a price.
    Limited,
    /// It is missing.
    Missing,
    /// It could not be found out.
    Unknown,
    /// A copy of a host's files does not say.
    NotAsked,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked; an id never changes its meaning.
    pub id: &'static str,
    /// How good it is.
    pub state: FindingState,
    /// What was found, in a line.
    pub found: String,
    /// Why it matters, in a line.
    pub why: &'static str,
    /// What to do about it, in a line, if anything can be done.
    pub remedy: Option<String>,
}

impl Finding {
    fn new(
        id: &'static str,
        state: FindingState,
        found: impl Into<String>,
        why: &'static str,
    ) -> Self {
        Self { id, state, found: found.into(), why, remedy: None }
    }

    /// A finding that only a running host shows, where there is a copy of its files.
    #[must_use]
    pub fn not_asked(id: &'static str, why: &'static str) -> Self {
        Self::new(id, FindingState::NotAsked, NOT_ASKED, why)
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Whether the host can do something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    /// Whether it can; `null` of a copy, which can't be asked.
    pub yes: Option<bool>,
    /// Why not, or why that is not known, in a line.
    pub why: Option<String>,
}

impl Ability {
    fn new(why_not: Option<&str>) -> Self {
        Self { yes: Some(why_not.is_none()), why: why_not.map(str::to_owned) }
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
    /// Other managers occupy every class of service or every way.
    Busy,
    /// This process may not.
    Permission,
}

/// All findings, and the conclusions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One by one, from the hardware upwards.
    pub findings: Vec<Finding>,
    /// Whether ways can be given out.
    pub partition: Ability,
    /// Whether the cache that programs occupy can be measured.
    pub monitor: Ability,
    /// Whether programs' events can be counted by hardware.
    pub count: Ability,
    /// Whether threads can be scheduled: placed, and given turns; the finding `scheduling` names
    /// the way.
    pub schedule: Ability,
    /// The conclusion.
    pub verdict: Verdict,
}

/// The findings that only a running host shows: its processes, and what this one may do there.
const LIVE: [&str; 11] = [
    "others-monitors",
    "own-groups",
    "other-managers",
    "registers",
    apart::IDS[0],
    apart::IDS[1],
    "capabilities",
    process::ID,
    "perf-permission",
    "descriptors",
    turns::ID,
];

/// Said of them where there is only a copy.
const NOT_ASKED: &str = "not asked: a copy";

/// Examines a host. Files that are missing or can't be read are findings, not errors.
#[must_use]
pub fn examine(place: &ExaminedHost) -> Report {
    let facts = Facts::gather(place);
    let mut findings = Vec::new();
    cpu::check(&facts, &mut findings);
    kernel::check(&facts, &mut findings);
    mount::check(&facts, &mut findings);
    abilities::check(&facts, &mut findings);
    promised::check(&facts, &mut findings);
    traffic::check(&facts, &mut findings);
    groups::check(&facts, &mut findings);
    rivals::check(&facts, &mut findings);
    runtime::check(&facts, &mut findings);
    apart::check(&facts, &mut findings);
    process::check(&facts, &mut findings);
    perf::check(&facts, &mut findings);
    placement::check(&facts, &mut findings);
    system::check(&facts, &mut findings);
    turns::check(&facts, place.without_scheduler.as_deref(), &mut findings);
    for finding in findings.iter_mut().filter(|one| place.is_copy && LIVE.contains(&one.id)) {
        *finding = Finding::not_asked(finding.id, finding.why);
    }
    let (partition, verdict) = verdict(&facts, &findings);
    let monitor = match (&facts.resctrl, &facts.info) {
        (None, _) => Some(why_unavailable(&facts)),
        (_, Some(info)) => why_unmonitored(info.monitoring.as_ref()),
        _ => Some("resctrl's info cannot be read"),
    };
    let count = if !perf::has_pmu(&facts) {
        Some("perf knows no hardware PMU")
    } else if !perf::has_events(&facts) {
        Some("no event counts on every core of this processor: see events")
    } else if !perf::permitted(&facts) {
        Some("this process may not count other processes' events")
    } else {
        None
    };
    let (monitor, count) = (Ability::new(monitor), Ability::new(count));
    let scheduling = findings.iter().find(|one| one.id == turns::ID);
    let schedule = match scheduling {
        Some(one) if one.state == FindingState::NotAsked => {
            Ability { yes: None, why: Some(one.found.clone()) }
        }
        Some(Finding { state: FindingState::Missing | FindingState::Unknown, found, .. }) => {
            Ability::new(Some(found))
        }
        _ => Ability::new(None),
    };
    Report { findings, partition, monitor, count, schedule, verdict }
}

/// Why resctrl is not available.
fn why_unavailable(facts: &Facts) -> &'static str {
    match facts.registered {
        Some(false) => "the kernel has no resctrl",
        _ => "resctrl is not mounted",
    }
}

/// Why the cache that programs occupy can't be measured, if so.
fn why_unmonitored(monitoring: Option<&Monitoring>) -> Option<&'static str> {
    match monitoring {
        None => Some("resctrl has no info/L3_MON"),
        Some(of) if of.events.iter().any(|event| event == "llc_occupancy") => None,
        Some(_) => Some("resctrl's info/L3_MON has no llc_occupancy"),
    }
}

fn lacks(findings: &[Finding], id: &str) -> bool {
    findings.iter().any(|one| one.id == id && one.state == FindingState::Missing)
}

fn verdict(facts: &Facts, findings: &[Finding]) -> (Ability, Verdict) {
    let (why, verdict) = if facts.resctrl.is_none() {
        (Some(why_unavailable(facts)), Verdict::NotSupported)
    } else if facts.shared_cache().is_none() {
        let why = match promised::see(facts, &promised::WAYS) {
            Some(_) => "the kernel leaves out the ways that this processor has: see above",
            None => "resctrl gives out no ways of an L3 or L2 cache",
        };
        (Some(why), Verdict::NotSupported)
    } else if lacks(findings, apart::IDS[0]) {
        (Some("/proc shows another PID namespace: see pid-namespace"), Verdict::NotSupported)
    } else if lacks(findings, process::ID) {
        (Some("this process may not write to resctrl"), Verdict::Permission)
    } else if lacks(findings, abilities::CLASSES) {
        (Some("other managers have every class of service"), Verdict::Busy)
    } else if lacks(findings, groups::EXCLUSIVE) {
        (Some("other managers have every way exclusively"), Verdict::Busy)
    } else if lacks(findings, groups::FREE) {
        (Some("other managers' groups cover every way that could be given out"), Verdict::Busy)
    } else {
        (None, Verdict::Manageable)
    };
    (Ability::new(why), verdict)
}
