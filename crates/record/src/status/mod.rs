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

pub(crate) use counted::Counted;
pub(crate) use decisions::{Decision, Decisions, Member, Outcome, Said, Share, share_of};
pub(crate) use fold::unlike;
pub(crate) use index::Index;
pub(crate) use plans::{InForce, Plans};
pub(crate) use seen::{Cache, Plain, Seen};
pub(crate) use totals::Totals;

/// The version of these types: it changes when a field changes its meaning or goes. New ones do not change it, and who reads
/// passes over those that he does not know.
pub(crate) const SCHEMA: u32 = 1;

/// How a machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    /// [`SCHEMA`].
    pub(crate) schema: u32,
    /// The daemon's version and process.
    pub(crate) version: String,
    pub(crate) pid: u32,
    /// The policy.
    pub(crate) policy: String,
    /// What is done about its plans: `manage`, `observe` or `dry-run`.
    pub(crate) mode: String,
    /// The machine's clock, at the last event.
    pub(crate) now_ns: u64,
    /// The time of day then; `null` of a simulated machine, and where the emulator's clock is the daemon's.
    pub(crate) now: Option<Moment>,
    /// By what threads take turns, and why by that; `null` where the policy gives out ways.
    pub(crate) scheduler: Option<String>,
    pub(crate) scheduler_reason: Option<String>,
    /// Why nothing is decided any more; the last partition holds.
    pub(crate) failed: Option<String>,
    /// What is not as it should be, though the policy is in force; a line each.
    pub(crate) degraded: Vec<String>,
    /// What the daemon has given up.
    pub(crate) sandbox: Sandbox,
    /// The last-level caches.
    pub(crate) domains: Vec<Domain>,
    /// The programs that run; in several domains, once for each.
    pub(crate) programs: Vec<Program>,
    /// The programs that the configuration names and that nothing is.
    pub(crate) unmatched: Vec<Unmatched>,
    /// Of the programs that events started.
    #[serde(skip)]
    pub(crate) index: Index,
    /// By domain: what was planned, and what that has come to.
    #[serde(skip)]
    pub(crate) plans: BTreeMap<u32, Plans>,
}

/// A program that the configuration names and that nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Unmatched {
    /// What it would be called.
    pub(crate) name: String,
    /// How it is looked for.
    pub(crate) select: String,
    /// Why nothing is it, and what may have been meant.
    pub(crate) why: String,
}

/// What a daemon has given up at its start, so that a flaw of it reaches less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Sandbox {
    /// The capabilities that it holds.
    pub(crate) capabilities: Vec<String>,
    /// Whether system calls are limited, or why not.
    pub(crate) system_calls: String,
    /// Whether what it writes is limited to some folders, or why not.
    pub(crate) files: String,
}

/// One last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Domain {
    /// resctrl's id of it.
    pub(crate) id: u32,
    /// All ways of the cache, as a line of schemata has them, and the bytes of one; `null` where they are not told.
    pub(crate) cache: Option<String>,
    pub(crate) way_bytes: Option<u64>,
    /// The ways and classes of service that the policy may give out.
    pub(crate) ways: u32,
    pub(crate) clos: u32,
    /// Which ways of the cache those are, as a line of schemata has them.
    pub(crate) offered: Option<String>,
    /// The CPUs as the policy numbers them, from 0 on, and how long a turn on them is; `null` where it is not told.
    pub(crate) cpus: Option<String>,
    pub(crate) quantum_ns: Option<u64>,
    /// The plan in force, and why; `null` before the first.
    pub(crate) plan: Option<u32>,
    pub(crate) reason: Option<String>,
    /// The clusters in force.
    pub(crate) clusters: Vec<Cluster>,
    /// The clusters of the plan; `null` where they are those in force.
    pub(crate) planned: Option<Vec<Cluster>>,
    /// Why the last plan was refused, if it was.
    pub(crate) refused: Option<String>,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cluster {
    /// The ways that its programs may fill, as a line of schemata has them.
    pub(crate) mask: String,
    /// Its programs, by name, and their threads when the plan was made.
    pub(crate) programs: Vec<String>,
    pub(crate) tasks: Vec<i32>,
}

/// A program in a domain. What is missing is `null`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Program {
    /// Its number, and its name: of several of a name in a domain those that began later are numbered, `web#2`, and keep
    /// that to their end.
    pub(crate) app: u32,
    pub(crate) name: String,
    /// The domain.
    pub(crate) domain: u32,
    /// The ways that it may fill, as a line of schemata has them; `null` while it has no place.
    pub(crate) mask: Option<String>,
    pub(crate) ways: Option<u32>,
    /// The same as the plan has it; `null` where that is in force.
    pub(crate) planned_mask: Option<String>,
    pub(crate) planned_ways: Option<u32>,
    /// Its cluster, an index into its domain's; `null` while it has no place.
    pub(crate) cluster: Option<u32>,
    /// The ways that it was promised, and whether it is background work.
    pub(crate) baseline_ways: Option<u32>,
    pub(crate) best_effort: bool,
    /// The CPUs on which it may run, as a list; `null` while it may on all. Whether it runs before others, and how long its next
    /// turn was last ordered to be.
    pub(crate) cpus: Option<String>,
    pub(crate) raised: bool,
    pub(crate) ordered_ns: Option<u64>,
    /// What the policy found out of it, by the paper's words.
    pub(crate) estimates: BTreeMap<String, f64>,
    /// What the policy holds it to be, and why.
    pub(crate) class: Option<String>,
    pub(crate) class_reason: Option<String>,
    /// The last window: instructions per cycle, misses per 1000 instructions and per 1000 cycles, ways' worth of lines, bytes
    /// from and to memory, and how long it was.
    pub(crate) ipc: Option<f64>,
    pub(crate) llcmpki: Option<f64>,
    pub(crate) llcmpkc: Option<f64>,
    pub(crate) occupancy_ways: Option<f64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) window_ns: Option<u64>,
    /// Which of its threads are not managed, and why; `null` if all are.
    pub(crate) not_managed: Option<String>,
    /// What its owner asks of its latency; `null` of a program that is no service.
    pub(crate) objective: Option<Objective>,
}

/// A latency objective, and whether it is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Objective {
    /// The percentile, and what it is to be at most.
    pub(crate) percentile: f64,
    pub(crate) slo_ns: u64,
    /// What it was in the last window, and how many requests that answered; `null` before one was told, and while its source is
    /// silent. The first is `null` of a window without requests, too.
    pub(crate) latency_ns: Option<u64>,
    pub(crate) requests: Option<u64>,
    /// Whether it was met in the last window; `null` if no request was answered in it.
    pub(crate) met: Option<bool>,
}

impl Status {
    /// Takes in which programs are not managed as a whole, and why.
    pub(crate) fn not_managed(&mut self, why: &BTreeMap<AppId, String>) {
        for program in &mut self.programs {
            program.not_managed = why.get(&AppId(program.app)).cloned();
        }
    }

    /// What a program is called in a domain.
    pub(crate) fn name(&self, domain: u32, app: AppId) -> String {
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
    pub(crate) fn memory_bytes_per_second(&self) -> Option<f64> {
        let seconds = self.window_ns.filter(|&window| window > 0)? as f64 / 1e9;
        Some(self.memory_bytes? as f64 / seconds)
    }

    /// How many times longer the policy expects it to take than with the whole cache, or as much as it is
    /// fastest with, where it says so.
    pub(crate) fn slowdown(&self) -> Option<f64> {
        self.estimates.get(words::SLOWDOWN.text()).copied()
    }
}

impl Objective {
    /// Whether it was met in the last window, in a word.
    pub(crate) fn word(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        }
    }
}

/// How a machine is, and how it came to be so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) status: Status,
    pub(crate) decisions: Decisions,
    pub(crate) totals: Totals,
}

impl Watched {
    /// A machine of which this is known before anything has happened.
    pub(crate) fn new(status: Status) -> Self {
        Self { status, ..Self::default() }
    }

    /// Takes in what happened in a domain, before the policy decides about it; `name` tells what a program that started is called.
    pub(crate) fn event(
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
    pub(crate) fn action(&mut self, domain: u32, action: &Action<'_>, seen: &dyn Seen) {
        self.decisions.action(domain, action, &self.status, seen);
        self.totals.action(action);
        self.status.action(domain, action, seen);
    }
}

/// A number of a program as people read it: the word, the value, the unit.
pub(crate) fn estimate(what: &str, value: f64) -> String {
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
