//! What is written down of threads.

use fairways_resctrl::language::CpuSet;
use fairways_resctrl_client::store::Book;
use serde::{Deserialize, Serialize};

use super::Key;

pub(super) const VERSION: u32 = 2;

/// No kernel knows more CPUs.
const CPUS: u32 = 8192;

/// Threads of a process that are remembered after they were put back, or have ended.
pub(super) const ENDED: usize = 16;

/// Former masks that are remembered of a thread, for those that it made meanwhile.
const PAST: usize = 16;

/// Every thread that was changed, or was about to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    pub(super) version: u32,
    /// `/proc/sys/kernel/random/boot_id`: another boot knows nothing of this.
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

    /// It names threads, by numbers.
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
    /// When it started, by which another thread of that id is told (proc_pid_stat(5), field 22; clock ticks since boot).
    pub(super) started: u64,
    /// When it was written down, likewise: what started before has nothing of it that was ours.
    pub(super) since: u64,
    pub(super) affinity: Option<Affinity>,
    pub(super) nice: Option<Value>,
    pub(super) policy: Option<Value>,
    /// Whether it was put back, or has ended; what it made meanwhile may have inherited of it.
    #[serde(default)]
    pub(super) ended: bool,
}

/// The CPUs that it may run on, each as a list like `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Affinity {
    pub(super) before: String,
    /// Whether these were all that its cpuset has, or all CPUs where it has none.
    pub(super) all: bool,
    /// What was set, or may have been, the last one last.
    pub(super) ours: Vec<String>,
    /// What was set earlier, which threads that it made meanwhile may have inherited.
    pub(super) past: Vec<String>,
}

/// A nice value, or what sched_getscheduler(2) tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub(super) before: i32,
    /// What was set, or may have been.
    pub(super) ours: Vec<i32>,
    /// What was set earlier, which threads that it made meanwhile may have inherited.
    #[serde(default)]
    pub(super) past: Vec<i32>,
}

/// What is about to be changed of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Change {
    /// Nothing yet; but it was taken in, and what it has is not inherited of another one.
    Nothing,
    /// The CPUs that it may run on: before, whether those were all that it could, and ours.
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

    /// Takes down what is about to be changed; what its owner has set since counts as what was before.
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
                // What its owner lets it have is not ours, whatever that may be later.
                if ours != mask.before {
                    mask.ours.push(ours);
                }
            }
            Change::Nice(before, ours) => value(&mut self.nice, *before, *ours),
            Change::Policy(before, ours) => value(&mut self.policy, *before, *ours),
        }
    }

    /// The last change of its CPUs is done: it has these, and no former ones.
    pub(super) fn has(&mut self, cpus: &CpuSet) {
        let Some(mask) = &mut self.affinity else { return };
        let cpus = cpus.to_list();
        let former = mask.ours.extract_if(.., |mask| *mask != cpus);
        let former: Vec<String> = former.filter(|former| !mask.past.contains(former)).collect();
        mask.past.extend(former);
        let excess = mask.past.len().saturating_sub(PAST);
        mask.past.drain(..excess);
    }

    /// It has this nice value, and would have the other one of its owner; no former one.
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

    /// What a thread had before that has these CPUs from this one.
    pub(super) fn affinity_before(&self, cpus: &CpuSet) -> Option<(CpuSet, bool)> {
        let mask = self.affinity.as_ref()?;
        let cpus = cpus.to_list();
        let is_ours = mask.ours.contains(&cpus) || mask.past.contains(&cpus);
        (is_ours && mask.before != cpus).then(|| (set(&mask.before), mask.all))
    }

    /// What a thread had before that has this nice value from this one.
    pub(super) fn nice_before(&self, nice: i32) -> Option<i32> {
        let value = self.nice.as_ref()?;
        let is_ours = value.ours.contains(&nice) || value.past.contains(&nice);
        (is_ours && value.before != nice).then_some(value.before)
    }

    /// What a thread had before that has this policy from this one.
    pub(super) fn policy_before(&self, policy: i32) -> Option<i32> {
        let value = self.policy.as_ref()?;
        (value.ours.contains(&policy) && value.before != policy).then_some(value.before)
    }
}

/// A list of CPUs as it was written; empty if somebody else wrote it.
pub(super) fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list, CPUS).unwrap_or_default()
}

fn value(into: &mut Option<Value>, before: i32, ours: i32) {
    let value = into.get_or_insert_with(|| Value { before, ours: Vec::new(), past: Vec::new() });
    value.before = before;
    // As above.
    if ours != before && !value.ours.contains(&ours) {
        value.ours.push(ours);
    }
}
