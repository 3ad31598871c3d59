//! The state of a machine and its programs, added up from events and actions. A daemon sends it to
//! clients; `top` also shows it for a simulated machine or a journal.

mod decision;
mod decisions;
pub mod fields;
mod fold;
mod index;
mod kept;
mod plans;
mod program_totals;
#[cfg(test)]
mod tests;
mod totals;
mod view;

use std::collections::BTreeMap;

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, AppId, BandwidthLevel, Event, LevelInUnit, Time, WayMask};
use fairways_policy::words;
use serde::{Deserialize, Serialize};

pub(crate) use decision::share_of;
pub use decision::{Decision, Member, Outcome, RecordedAction, Share};
pub use decisions::Decisions;
pub use fields::{DomainStatus, ProgramStatus};
pub use fold::unique_name;
pub use index::Index;
pub use plans::{Plans, TrackedPlan};
pub use program_totals::ProgramTotals;

pub use totals::Totals;
pub use view::{CacheWays, MachineView, WholeMachine};

/// The version of these types. It changes when a field is removed or changes its meaning. New
/// fields do not change it; a reader ignores fields that it does not know.
pub const SCHEMA: u32 = 1;

/// The state of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Status {
    /// The version of this schema: 1. It changes when a field changes its meaning or goes.
    pub schema: u32,
    /// The daemon's version.
    pub version: String,
    /// The daemon's process id; 0 without a daemon.
    pub pid: u32,
    /// The policy's name.
    pub policy: String,
    /// Whether its plans are carried out: `manage`, `observe`, `dry-run` or
    /// `counters-only`.
    pub mode: String,
    /// The machine's clock, at the last event.
    pub now_ns: u64,
    /// The time of day; `null` for a simulated machine, and where the daemon's clock is the
    /// emulator's.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub now: Option<Moment>,
    /// The scheduler by which threads take turns; `null` where the policy divides ways.
    pub scheduler: Option<String>,
    /// The reason for this scheduler.
    pub scheduler_reason: Option<String>,
    /// Why the policy stopped deciding; the last partition stays in force.
    pub failed: Option<String>,
    /// Problems that do not stop the policy, a line each.
    pub degraded: Vec<String>,
    /// The counters that are not counted for any program. Windows lack them.
    pub uncounted: Vec<UncountedCounter>,
    /// The privileges that the daemon has dropped.
    pub sandbox: Sandbox,
    /// The last-level caches.
    pub domains: Vec<DomainStatus>,
    /// The running programs; one that runs in several domains is listed for each.
    pub programs: Vec<ProgramStatus>,
    /// The programs of the configuration that match no process.
    pub unmatched: Vec<Unmatched>,
    /// The index of `programs`.
    #[serde(skip)]
    pub index: Index,
    /// The plans by domain.
    #[serde(skip)]
    pub plans: BTreeMap<u32, Plans>,
}

/// A counter that is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UncountedCounter {
    /// Its name.
    pub counter: String,
    /// Why it can't be counted; `null` if nothing that runs reads it.
    pub why: Option<String>,
}

/// A program of the configuration that matches no process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Unmatched {
    /// The name that it would have.
    pub name: String,
    /// The rule by which it is selected.
    pub select: String,
    /// Why no process matches, and what the owner may have meant.
    pub why: String,
}

/// The privileges that a daemon drops at its start, to limit the harm that a flaw in it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Sandbox {
    /// The capabilities that it keeps.
    pub capabilities: Vec<String>,
    /// Whether system calls are limited, or why not.
    pub system_calls: String,
    /// Whether writing is limited to some folders, or why not.
    pub files: String,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClusterStatus {
    /// The ways that its programs may fill, as a line of schemata shows them.
    pub mask: String,
    /// The level of memory bandwidth, in the unit of the domain's lever; `null` if the plan sets no
    /// limit. A limit that its programs had before may still be in force.
    pub bandwidth_level: Option<u32>,
    /// Its programs, by name.
    pub programs: Vec<String>,
    /// The threads of its programs when the plan was made.
    pub tasks: Vec<i32>,
}

/// A latency objective, and whether it is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ObjectiveStatus {
    /// The percentile of latencies.
    pub percentile: f64,
    /// The largest latency allowed at the percentile.
    pub slo_ns: u64,
    /// The latency at the percentile in the last window; `null` before the first report, while its
    /// source is silent, and for a window without requests.
    pub latency_ns: Option<u64>,
    /// Requests answered in that window; `null` before the first report, and while its source is
    /// silent.
    pub requests: Option<u64>,
    /// Whether the objective was met in the last window; `null` if no request was answered in it.
    pub met: Option<bool>,
}

impl Status {
    /// Records the programs that are not fully managed, and why.
    pub fn set_not_managed(&mut self, why: &BTreeMap<AppId, String>) {
        for program in &mut self.programs {
            program.not_managed = why.get(&AppId(program.app)).cloned();
        }
    }

    /// The name of a program in a domain.
    pub fn name(&self, domain: u32, app: AppId) -> String {
        let program = self.program_status(domain, app);
        program.map_or_else(|| format!("program {}", app.0), |program| program.name.clone())
    }

    /// A level of memory bandwidth in a domain, with its unit.
    pub fn level_text(&self, domain: u32, level: u32) -> String {
        let domain = self.domains.iter().find(|of| of.id == domain);
        let unit = domain.and_then(|domain| domain.bandwidth).map(|lever| lever.unit);
        match BandwidthLevel::new(level).zip(unit) {
            Some((level, unit)) => LevelInUnit(level, unit).to_string(),
            None => level.to_string(),
        }
    }

    /// A program's level of memory bandwidth in force, and the planned one where it differs;
    /// `None` if it has neither.
    pub fn limit_text(&self, program: &ProgramStatus) -> Option<String> {
        let ProgramStatus { domain, bandwidth_level, planned_bandwidth_level, .. } = *program;
        let in_force = bandwidth_level.map(|level| self.level_text(domain, level));
        let Some(planned) = planned_bandwidth_level else { return in_force };
        let in_force = in_force.unwrap_or_else(|| "none".to_owned());
        Some(format!("{in_force} ({} planned)", self.level_text(domain, planned)))
    }

    /// A program that an event started in a domain.
    fn program_status(&self, domain: u32, app: AppId) -> Option<&ProgramStatus> {
        self.programs.get(self.position(domain, app)?)
    }

    /// The position of a program among all.
    fn position(&self, domain: u32, app: AppId) -> Option<usize> {
        self.index.position(&self.programs, domain, app.0)
    }
}

impl ProgramStatus {
    /// Bytes from and to memory per second, in the last window.
    pub fn memory_bytes_per_second(&self) -> Option<f64> {
        let seconds = self.window_ns.filter(|&window| window > 0)? as f64 / 1e9;
        Some(self.memory_bytes? as f64 / seconds)
    }

    /// The ways that it occupied, or at least occupied; a dash if neither is known.
    pub fn shown_occupancy(&self) -> String {
        match (self.occupancy_ways, self.occupancy_ways_at_least) {
            (Some(ways), _) => format!("{ways:.2}"),
            (None, Some(ways)) => format!("≥{ways:.2}"),
            (None, None) => "-".to_owned(),
        }
    }

    /// The slowdown that the policy expects with the program's ways: its time divided by that with
    /// the whole cache, or with the ways with which it is fastest; `None` if the policy estimates
    /// none. What the program really loses is estimated in a
    /// [`BlameReport`](crate::blame::BlameReport).
    pub fn expected_slowdown(&self) -> Option<f64> {
        self.estimates.get(words::SLOWDOWN.text()).copied()
    }
}

impl ObjectiveStatus {
    /// Whether the objective was met in the last window, in a word.
    pub fn word(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        }
    }
}

/// The state of a machine, and the decisions that led to it.
#[derive(Clone, Debug, Default)]
pub struct MachineRecord {
    /// The state.
    pub status: Status,
    /// The last decisions.
    pub decisions: Decisions,
    /// Counts from the start on.
    pub totals: Totals,
}

impl MachineRecord {
    /// A machine in this state, before any event.
    pub fn new(status: Status) -> Self {
        Self { status, ..Self::default() }
    }

    /// Records an event in a domain before the policy decides on it; `name` returns the name of a
    /// program that started.
    pub fn record_event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        seen: &dyn MachineView,
        name: impl FnOnce(AppId) -> String,
    ) {
        let Self { status, decisions, totals } = self;
        // Names are valid from a program's start to its end, and the ways from before a plan until
        // the plan is in force.
        if matches!(event, Event::Exited { .. } | Event::Applied { .. }) {
            decisions.record_event(domain, at, event, status, seen);
            totals.record_event(domain, event, status);
            status.record_event(domain, at, event, seen, name);
        } else {
            status.record_event(domain, at, event, seen, name);
            decisions.record_event(domain, at, event, status, seen);
            totals.record_event(domain, event, status);
        }
    }

    /// Records an action of a domain's policy.
    pub fn record_action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn MachineView) {
        self.decisions.record_action(domain, action, &self.status, seen);
        self.totals.record_action(action);
        self.status.record_action(domain, action, seen);
    }
}

/// An estimate for people: the word, the value, the unit.
pub fn estimate_text(what: &str, value: f64) -> String {
    let (word, unit) = what.split_once(", ").unwrap_or((what, ""));
    let value = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    match (unit, &value[..]) {
        ("", _) => format!("{word} {value}"),
        ("ways", "1") => format!("{word} 1 way"),
        _ => format!("{word} {value} {unit}"),
    }
}

impl ClusterStatus {
    fn new(mask: WayMask, level: Option<BandwidthLevel>) -> Self {
        let bandwidth_level = level.map(BandwidthLevel::get);
        Self { mask: mask.to_string(), bandwidth_level, ..Self::default() }
    }
}
