//! How a machine and its programs are: what events and actions say, added up. A daemon's machine is told to clients, a
//! simulated one's and a journal's to whoever watches.

mod counted;
mod decisions;
mod fold;
mod index;
mod plans;
mod seen;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::BTreeMap;

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, AppId, Event, Time, WayMask};
use fairways_policy::words;
use serde::{Deserialize, Serialize};

pub use counted::Counted;
pub(crate) use decisions::share_of;
pub use decisions::{Decision, Decisions, Member, Outcome, Said, Share};
pub use fold::unlike;
pub use index::Index;
pub use plans::{InForce, Plans};

pub use seen::{Cache, Plain, Seen};
pub use totals::Totals;

/// The version of these types: it changes when a field changes its meaning or goes. New ones do not change it, and who reads
/// passes over those that he does not know.
pub const SCHEMA: u32 = 1;

/// How a machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The daemon's version.
    pub version: String,
    /// Its process; 0 where it is no daemon's.
    pub pid: u32,
    /// The policy.
    pub policy: String,
    /// What is done about its plans: `manage`, `observe` or `dry-run`.
    pub mode: String,
    /// The machine's clock, at the last event.
    pub now_ns: u64,
    /// The time of day then; `null` of a simulated machine, and where the emulator's clock is the daemon's.
    pub now: Option<Moment>,
    /// By what threads take turns; `null` where the policy gives out ways.
    pub scheduler: Option<String>,
    /// Why by that.
    pub scheduler_reason: Option<String>,
    /// Why nothing is decided any more; the last partition holds.
    pub failed: Option<String>,
    /// What is not as it should be, though the policy is in force; a line each.
    pub degraded: Vec<String>,
    /// What the daemon has given up.
    pub sandbox: Sandbox,
    /// The last-level caches.
    pub domains: Vec<Domain>,
    /// The programs that run; in several domains, once for each.
    pub programs: Vec<Program>,
    /// The programs that the configuration names and that nothing is.
    pub unmatched: Vec<Unmatched>,
    /// Of the programs that events started.
    #[serde(skip)]
    pub index: Index,
    /// By domain: what was planned, and what that has come to.
    #[serde(skip)]
    pub plans: BTreeMap<u32, Plans>,
}

/// A program that the configuration names and that nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unmatched {
    /// What it would be called.
    pub name: String,
    /// How it is looked for.
    pub select: String,
    /// Why nothing is it, and what may have been meant.
    pub why: String,
}

/// What a daemon has given up at its start, so that a flaw of it reaches less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandbox {
    /// The capabilities that it holds.
    pub capabilities: Vec<String>,
    /// Whether system calls are limited, or why not.
    pub system_calls: String,
    /// Whether what it writes is limited to some folders, or why not.
    pub files: String,
}

/// One last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Domain {
    /// resctrl's id of it.
    pub id: u32,
    /// All ways of the cache, as a line of schemata has them; `null` where they are not told.
    pub cache: Option<String>,
    /// The bytes of one way; `null` where they are not told.
    pub way_bytes: Option<u64>,
    /// How many ways the policy may give out.
    pub ways: u32,
    /// How many classes of service it may.
    pub clos: u32,
    /// Which ways of the cache those are, as a line of schemata has them.
    pub offered: Option<String>,
    /// The CPUs as the policy numbers them, from 0 on; `null` where they are not told.
    pub cpus: Option<String>,
    /// How long a turn on them is; `null` where it is not told.
    pub quantum_ns: Option<u64>,
    /// The plan in force; `null` before the first.
    pub plan: Option<u32>,
    /// Why it was made.
    pub reason: Option<String>,
    /// The clusters in force.
    pub clusters: Vec<Cluster>,
    /// The clusters of the plan; `null` where they are those in force.
    pub planned: Option<Vec<Cluster>>,
    /// Why the last plan was refused, if it was.
    pub refused: Option<String>,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// The ways that its programs may fill, as a line of schemata has them.
    pub mask: String,
    /// Its programs, by name.
    pub programs: Vec<String>,
    /// Their threads when the plan was made.
    pub tasks: Vec<i32>,
}

/// A program in a domain. What is missing is `null`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Program {
    /// Its number.
    pub app: u32,
    /// Its name: of several of a name in a domain those that began later are numbered, `web#2`, and
    /// keep that to their end.
    pub name: String,
    /// The domain.
    pub domain: u32,
    /// The ways that it may fill, as a line of schemata has them; `null` while it has no place.
    pub mask: Option<String>,
    /// How many they are.
    pub ways: Option<u32>,
    /// The ways that the plan has for it; `null` where those are in force.
    pub planned_mask: Option<String>,
    /// How many those are.
    pub planned_ways: Option<u32>,
    /// Its cluster, an index into its domain's; `null` while it has no place.
    pub cluster: Option<u32>,
    /// The ways that it was promised.
    pub baseline_ways: Option<u32>,
    /// Whether it is background work.
    pub best_effort: bool,
    /// The CPUs on which it may run, as a list; `null` while it may on all.
    pub cpus: Option<String>,
    /// Whether it runs before others.
    pub raised: bool,
    /// How long its next turn was last ordered to be.
    pub ordered_ns: Option<u64>,
    /// What the policy found out of it, by the paper's words.
    pub estimates: BTreeMap<String, f64>,
    /// What the policy holds it to be.
    pub class: Option<String>,
    /// Why.
    pub class_reason: Option<String>,
    /// The last window: instructions per cycle.
    pub ipc: Option<f64>,
    /// Misses of the last-level cache per 1000 instructions in it.
    pub llcmpki: Option<f64>,
    /// Misses of the last-level cache per 1000 cycles in it.
    pub llcmpkc: Option<f64>,
    /// Ways' worth of lines in it.
    pub occupancy_ways: Option<f64>,
    /// Bytes from and to memory in it.
    pub memory_bytes: Option<u64>,
    /// How long it was.
    pub window_ns: Option<u64>,
    /// Which of its threads are not managed, and why; `null` if all are.
    pub not_managed: Option<String>,
    /// What its owner asks of its latency; `null` of a program that is no service.
    pub objective: Option<Objective>,
}

/// A latency objective, and whether it is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Objective {
    /// The percentile.
    pub percentile: f64,
    /// What it is to be at most.
    pub slo_ns: u64,
    /// What it was in the last window; `null` before one was told, while its source is silent, and
    /// of a window without requests.
    pub latency_ns: Option<u64>,
    /// How many requests that window answered; `null` before one was told, and while its source is
    /// silent.
    pub requests: Option<u64>,
    /// Whether it was met in the last window; `null` if no request was answered in it.
    pub met: Option<bool>,
}

impl Status {
    /// Takes in which programs are not managed as a whole, and why.
    pub fn not_managed(&mut self, why: &BTreeMap<AppId, String>) {
        for program in &mut self.programs {
            program.not_managed = why.get(&AppId(program.app)).cloned();
        }
    }

    /// What a program is called in a domain.
    pub fn name(&self, domain: u32, app: AppId) -> String {
        let of = self.program_of(domain, app);
        of.map_or_else(|| format!("program {}", app.0), |of| of.name.clone())
    }

    /// A program that an event started in a domain.
    fn program_of(&self, domain: u32, app: AppId) -> Option<&Program> {
        self.programs.get(self.place_of(domain, app)?)
    }

    /// Where it stands among all.
    fn place_of(&self, domain: u32, app: AppId) -> Option<usize> {
        self.index.place(&self.programs, domain, app.0)
    }
}

impl Program {
    /// Bytes from and to memory a second, in the last window.
    pub fn memory_bytes_per_second(&self) -> Option<f64> {
        let seconds = self.window_ns.filter(|&window| window > 0)? as f64 / 1e9;
        Some(self.memory_bytes? as f64 / seconds)
    }

    /// How many times longer the policy expects it to take than with the whole cache, or as much as it is
    /// fastest with, where it says so.
    pub fn slowdown(&self) -> Option<f64> {
        self.estimates.get(words::SLOWDOWN.text()).copied()
    }
}

impl Objective {
    /// Whether it was met in the last window, in a word.
    pub fn word(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        }
    }
}

/// How a machine is, and how it came to be so.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// How it is.
    pub status: Status,
    /// What was decided last.
    pub decisions: Decisions,
    /// What was counted from the start on.
    pub totals: Totals,
}

impl Watched {
    /// A machine of which this is known before anything has happened.
    pub fn new(status: Status) -> Self {
        Self { status, ..Self::default() }
    }

    /// Takes in what happened in a domain, before the policy decides about it; `name` tells what a program that started is called.
    pub fn event(
        &mut self,
        domain: u32,
        at: Time,
        event: &Event,
        seen: &dyn Seen,
        name: impl FnOnce(AppId) -> String,
    ) {
        let Self { status, decisions, totals } = self;
        // Programs have their names from their start to their end, and what they had before a plan
        // until it is in force.
        if matches!(event, Event::Exited { .. } | Event::Applied { .. }) {
            decisions.event(domain, at, event, status, seen);
            totals.event(domain, event, status);
            status.event(domain, at, event, seen, name);
        } else {
            status.event(domain, at, event, seen, name);
            decisions.event(domain, at, event, status, seen);
            totals.event(domain, event, status);
        }
    }

    /// Takes in what the policy of a domain does.
    pub fn action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn Seen) {
        self.decisions.action(domain, action, &self.status, seen);
        self.totals.action(action);
        self.status.action(domain, action, seen);
    }
}

/// A number of a program as people read it: the word, the value, the unit.
pub fn estimate(what: &str, value: f64) -> String {
    let (word, unit) = what.split_once(", ").unwrap_or((what, ""));
    let value = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    match (unit, &value[..]) {
        ("", _) => format!("{word} {value}"),
        ("ways", "1") => format!("{word} 1 way"),
        _ => format!("{word} {value} {unit}"),
    }
}

impl Cluster {
    fn new(mask: WayMask) -> Self {
        Self { mask: mask.to_string(), ..Self::default() }
    }
}
