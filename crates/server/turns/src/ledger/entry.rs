//! What the ledger records about threads.

use fairways_core::CpuSet;
use fairways_ledger::Book;
use serde::{Deserialize, Serialize};

use super::Key;

pub(super) const VERSION: u32 = 2;

/// No kernel supports more CPUs.
const CPUS: u32 = 8192;

/// How many threads of a process are remembered after they were put back, or have ended.
pub(super) const ENDED: usize = 16;

/// How many former masks of a thread are remembered, for threads that it made meanwhile.
const PAST: usize = 16;

/// Every thread that was changed, or was about to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    pub(super) version: u32,
    /// `/proc/sys/kernel/random/boot_id`: after another boot, none of this is left.
    pub(super) boot: String,
    pub(super) threads: Vec<Entry>,
}

impl Book for Changes {
    const NAME: &'static str = "schedule";
    const VERSION: u32 = VERSION;

    fn version(&self) -> u32 {
        self.version
    }

    fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Checks the lists of CPUs; the rest are numbers.
    fn check(&self) -> Result<(), String> {
        let lists = self.threads.iter().filter_map(|entry| entry.affinity.as_ref());
        let mut lists = lists.flat_map(|mask| [&mask.before].into_iter().chain(&mask.ours));
        lists.try_for_each(|list| match CpuSet::parse_list(list, CPUS) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("expected a list of CPUs, found {list:?}")),
        })
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) thread: i32,
    /// Its process.
    pub(super) process: i32,
    /// When it started (proc_pid_stat(5), field 22; clock ticks since boot): a later thread with
    /// the same id has another time.
    pub(super) started: u64,
    /// When it was recorded, likewise: a thread that started earlier inherited nothing of ours from
    /// it.
    pub(super) since: u64,
    pub(super) affinity: Option<Affinity>,
    pub(super) nice: Option<Value>,
    pub(super) policy: Option<Value>,
    /// Whether it was put back, or has ended. Threads that it made meanwhile may have inherited
    /// from it.
    #[serde(default)]
    pub(super) ended: bool,
}

/// The CPUs that it may run on, each as a list like `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Affinity {
    pub(super) before: String,
    /// Whether these were all CPUs of its cpuset, or all CPUs without a cpuset.
    pub(super) all: bool,
    /// The masks that were set, or may have been, the latest last.
    pub(super) ours: Vec<String>,
    /// What was set earlier; threads that it made meanwhile may have inherited it.
    pub(super) past: Vec<String>,
}

/// A nice value, or a scheduling policy as sched_getscheduler(2) returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub(super) before: i32,
    /// The values that were set, or may have been.
    pub(super) ours: Vec<i32>,
    /// What was set earlier; threads that it made meanwhile may have inherited it.
    #[serde(default)]
    pub(super) past: Vec<i32>,
}

/// What is about to be changed in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Change {
    /// Nothing yet; but it was taken in, and inherited nothing from another managed thread.
    Nothing,
    /// The CPUs that it may run on: before, whether those were all that it could use, and ours.
    Affinity(CpuSet, bool, CpuSet),
    /// Its nice value, before and ours.
    Nice(i32, i32),
    /// Its scheduling policy, before and ours.
    Policy(i32, i32),
}

impl Entry {
    pub(super) const fn new(thread: i32, process: i32, started: u64, since: u64) -> Self {
        Self {
            thread,
            process,
            started,
            since,
            affinity: None,
            nice: None,
            policy: None,
            ended: false,
        }
    }

    pub(super) const fn key(&self) -> Key {
        (self.thread, self.started)
    }

    /// Records what is about to be changed. What its owner has set since counts as the state
    /// before.
    pub(super) fn take(&mut self, change: &Change) {
        self.ended = false;
        match change {
            Change::Nothing => {}
            Change::Affinity(before, all, ours) => {
                let (before, ours) = (before.to_list(), ours.to_list());
                let mask = self.affinity.get_or_insert_with(|| Affinity {
                    before: String::new(),
                    all: false,
                    ours: Vec::new(),
                    past: Vec::new(),
                });
                (mask.before, mask.all) = (before, *all);
                mask.ours.retain(|mask| *mask != ours);
                // The owner's own mask does not count as ours, even if the owner changes it later.
                if ours != mask.before {
                    mask.ours.push(ours);
                }
            }
            Change::Nice(before, ours) => {
                value(&mut self.nice, *before, *ours);
                // With such a value its children begin with 0 (`SCHED_RESET_ON_FORK`).
                if let Some(value) = &mut self.nice
                    && *ours < 0
                    && ours < before
                    && *before != 0
                    && !value.past.contains(&0)
                {
                    value.past.push(0);
                }
            }
            Change::Policy(before, ours) => value(&mut self.policy, *before, *ours),
        }
    }

    /// Notes that the last change of its CPUs is done: it has these, and none of the former ones.
    pub(super) fn has(&mut self, cpus: &CpuSet) {
        let Some(mask) = &mut self.affinity else { return };
        let cpus = cpus.to_list();
        let former = mask.ours.extract_if(.., |mask| *mask != cpus);
        let former: Vec<String> = former.filter(|former| !mask.past.contains(former)).collect();
        mask.past.extend(former);
        let excess = mask.past.len().saturating_sub(PAST);
        mask.past.drain(..excess);
    }

    /// Notes that it has this nice value now, no former one, and that its owner's is `before`.
    pub(super) fn has_nice(&mut self, before: i32, nice: i32) {
        let Some(value) = &mut self.nice else { return };
        value.before = before;
        let now = if nice == before { Vec::new() } else { vec![nice] };
        let former = std::mem::replace(&mut value.ours, now);
        for former in former.into_iter().filter(|&former| former != nice) {
            if !value.past.contains(&former) {
                value.past.push(former);
            }
        }
    }

    /// The CPUs that a thread would have, if it has `cpus` from this thread.
    pub(super) fn affinity_before(&self, cpus: &CpuSet) -> Option<(CpuSet, bool)> {
        let mask = self.affinity.as_ref()?;
        let cpus = cpus.to_list();
        let is_ours = mask.ours.contains(&cpus) || mask.past.contains(&cpus);
        (is_ours && mask.before != cpus).then(|| (set(&mask.before), mask.all))
    }

    /// The nice value that a thread would have, if it has `nice` from this thread.
    pub(super) fn nice_before(&self, nice: i32) -> Option<i32> {
        let value = self.nice.as_ref()?;
        let is_ours = value.ours.contains(&nice) || value.past.contains(&nice);
        (is_ours && value.before != nice).then_some(value.before)
    }

    /// The policy that a thread would have, if it has `policy` from this thread.
    pub(super) fn policy_before(&self, policy: i32) -> Option<i32> {
        let value = self.policy.as_ref()?;
        (value.ours.contains(&policy) && value.before != policy).then_some(value.before)
    }
}

/// Parses a list of CPUs that the ledger wrote; empty if the list is another program's.
pub(super) fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list, CPUS).unwrap_or_default()
}

fn value(into: &mut Option<Value>, before: i32, ours: i32) {
    let value = into.get_or_insert_with(|| Value { before, ours: Vec::new(), past: Vec::new() });
    value.before = before;
    // As for CPUs: the owner's own value does not count as ours.
    if ours != before && !value.ours.contains(&ours) {
        value.ours.push(ours);
    }
}
