//! Changes to threads: recorded before they are made, and undone at the end.
//!
//! A thread is put back as far as it is still as Fairways left it: what its owner set meanwhile
//! stays. Every nice value that was set is remembered, so that weights that come and go are not
//! recorded each time. The price: if Fairways is killed and an owner had chosen one of these
//! values, the thread gets the value before.

mod entry;
mod restorer;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use fairways_core::CpuSet;
use fairways_ledger::{LedgerError, OTHER_BOOT, OpenError, Restored, State, boot};
use fairways_linux::stat::started;
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

use super::{Settings, thread};
pub(super) use entry::Change;
use entry::{Changes, ENDED, Entry, VERSION};
use restorer::Restorer;

/// The ledger of threads to put back: `schedule.json` in the state directory, which one process
/// uses at a time.
#[derive(Debug)]
pub struct Ledger {
    state: State<Changes>,
    proc: PathBuf,
    sysfs: PathBuf,
}

/// A thread's number, and when it started: a later thread with the same number has another time.
pub(super) type Key = (i32, u64);

impl Ledger {
    /// Claims the state directory, and puts back what a killed fairways has left. A ledger that
    /// can't be read counts as a failure.
    ///
    /// # Errors
    /// If the directory can't be used, or another fairways uses it.
    pub fn open(settings: &Settings) -> Result<(Self, Restored), OpenError> {
        let (mut state, found) = State::<Changes>::open(&settings.state)?;
        let boot = boot(&settings.boot_id)?;
        let mut ledger = Changes { version: VERSION, boot: boot.clone(), threads: Vec::new() };
        if let Some(found) = found.ledger {
            if found.boot == boot {
                ledger = found;
            } else {
                state.put_aside(OTHER_BOOT)?;
            }
        }
        state.ledger = ledger;
        let Settings { proc, sysfs, .. } = settings.clone();
        let mut opened = Self { state, proc, sysfs };
        let mut restored = opened.end_all()?;
        restored.failed.extend(found.damaged);
        Ok((opened, restored))
    }

    /// A ledger for a dry run, which writes nothing.
    pub(super) fn dry() -> Self {
        Self { state: State::dry(), proc: "/proc".into(), sysfs: "/sys".into() }
    }

    /// Records that threads' scheduling policies are about to be changed: each thread, and its
    /// policy before and after, as sched_getscheduler(2) returns it.
    ///
    /// # Errors
    /// If it can't be written; nothing may be changed then.
    pub fn policy(&mut self, threads: &[(i32, i32, i32)]) -> Result<(), LedgerError> {
        let change =
            |&(thread, before, ours): &(i32, i32, i32)| (thread, Change::Policy(before, ours));
        self.record(&threads.iter().map(change).collect::<Vec<_>>())
    }

    /// Records what is about to be changed, all at once; threads that have ended are skipped.
    pub(super) fn record(&mut self, changes: &[(i32, Change)]) -> Result<(), LedgerError> {
        let (proc, since) = (&self.proc, ticks());
        self.state.record(|ledger| {
            let keys = ledger.threads.iter().map(Entry::key);
            let mut places: HashMap<Key, usize> = keys.zip(0..).collect();
            for (thread, change) in changes {
                let Some(at) = started(proc, *thread) else { continue };
                let place = *places.entry((*thread, at)).or_insert_with(|| {
                    let process =
                        thread::family(proc, *thread).map_or(*thread, |(process, _)| process);
                    ledger.threads.push(Entry::new(*thread, process, at, since));
                    ledger.threads.len() - 1
                });
                ledger.threads[place].take(change);
            }
        })
    }

    /// Notes that a thread has these CPUs now; written with the next record.
    pub(super) fn has(&mut self, thread: Key, cpus: &CpuSet) {
        self.note(thread, |entry| entry.has(cpus));
    }

    /// Notes that a thread has the nice value `nice` now, and that its owner's is `before`.
    pub(super) fn has_nice(&mut self, thread: Key, before: i32, nice: i32) {
        self.note(thread, |entry| entry.has_nice(before, nice));
    }

    fn note(&mut self, thread: Key, what: impl FnOnce(&mut Entry)) {
        self.state.note(|ledger| {
            if let Some(entry) = ledger.threads.iter_mut().find(|entry| entry.key() == thread) {
                what(entry);
            }
        });
    }

    /// The CPUs that a new thread would have, if it inherited `cpus` from a managed thread of its
    /// process or of its process's parent.
    pub(super) fn affinity_before(
        &self,
        (process, parent): (i32, i32),
        started: u64,
        cpus: &CpuSet,
    ) -> Option<(CpuSet, bool)> {
        let mut older = self.relatives(process, parent).filter(|entry| entry.since <= started);
        older.find_map(|entry| entry.affinity_before(cpus))
    }

    /// The same for its nice value.
    pub(super) fn nice_before(
        &self,
        (process, parent): (i32, i32),
        started: u64,
        nice: i32,
    ) -> Option<i32> {
        let mut older = self.relatives(process, parent).filter(|entry| entry.since <= started);
        older.find_map(|entry| entry.nice_before(nice))
    }

    /// The policy before, as sched_getscheduler(2) returned it, of threads of this process or its
    /// parent to which we gave `policy`; for a thread that one of them made meanwhile.
    #[must_use]
    pub fn policy_before(&self, process: i32, parent: i32, policy: i32) -> Option<i32> {
        self.relatives(process, parent).find_map(|entry| entry.policy_before(policy))
    }

    fn relatives(&self, process: i32, parent: i32) -> impl Iterator<Item = &Entry> {
        let threads = &self.state.ledger.threads;
        [process, parent]
            .into_iter()
            .flat_map(move |id| threads.iter().filter(move |entry| entry.process == id))
    }

    /// Puts the threads with these numbers back, as far as they are still as Fairways left them.
    /// With the last thread of a process that goes on, the threads and processes that it made
    /// meanwhile are put back, too. What could not be put back stays recorded. While the process
    /// lives, so does what is needed to put back later whatever its threads made since.
    ///
    /// # Errors
    /// If the ledger can't be written; the threads are put back nevertheless.
    pub fn end(&mut self, threads: &[i32]) -> Result<Restored, LedgerError> {
        self.end_where(|entry| threads.contains(&entry.thread))
    }

    /// As [`end`](Self::end), for exactly these threads.
    pub(super) fn end_those(&mut self, threads: &HashSet<Key>) -> Result<Restored, LedgerError> {
        self.end_where(|entry| threads.contains(&entry.key()))
    }

    fn end_where(&mut self, is_over: impl Fn(&Entry) -> bool) -> Result<Restored, LedgerError> {
        let mut restored = Restored::default();
        let mut entries = std::mem::take(&mut self.state.ledger.threads);
        let mut left = BTreeSet::new();
        for entry in entries.iter_mut().filter(|entry| !entry.ended && is_over(entry)) {
            entry.ended = self.restorer().thread(entry, &mut restored);
            left.insert(entry.process);
        }
        for entry in entries.iter().filter(|entry| !entry.ended) {
            left.remove(&entry.process);
        }
        if !left.is_empty() {
            self.restorer().kin(&entries, |process| left.contains(&process), &mut restored);
        }
        // The last entries of each process that lives.
        let mut remembered: BTreeMap<i32, usize> = BTreeMap::new();
        let mut kept: Vec<Entry> = Vec::new();
        for entry in entries.iter().rev() {
            let count = remembered.entry(entry.process).or_default();
            if !entry.ended || *count < ENDED && self.restorer().is_same(entry) {
                *count += usize::from(entry.ended);
                kept.push(entry.clone());
            }
        }
        kept.reverse();
        self.state.ledger.threads = entries;
        self.finish(kept, restored)
    }

    fn restorer(&self) -> Restorer<'_> {
        Restorer { proc: &self.proc, sysfs: &self.sysfs }
    }

    /// Forgets threads that have been put back by another way.
    ///
    /// # Errors
    /// If the ledger can't be written.
    pub fn forget(&mut self, threads: &[i32]) -> Result<(), LedgerError> {
        self.state.record(|ledger| ledger.threads.retain(|entry| !threads.contains(&entry.thread)))
    }

    /// Puts back all threads, and those that they made meanwhile.
    ///
    /// # Errors
    /// If the ledger can't be written; all are put back nevertheless.
    pub fn end_all(&mut self) -> Result<Restored, LedgerError> {
        let mut restored = Restored::default();
        let entries = &self.state.ledger.threads;
        let is_left =
            |entry: &&Entry| !entry.ended && !self.restorer().thread(entry, &mut restored);
        let left: Vec<Entry> = entries.iter().filter(is_left).cloned().collect();
        self.restorer().kin(entries, |_| true, &mut restored);
        self.finish(left, restored)
    }

    fn finish(&mut self, left: Vec<Entry>, restored: Restored) -> Result<Restored, LedgerError> {
        for (thing, why) in &restored.failed {
            tracing::error!(target: "fairways::schedule", %thing, why, "not restored");
        }
        self.state.record(|ledger| ledger.threads = left)?;
        Ok(restored)
    }
}

/// The time in clock ticks since boot, as proc_pid_stat(5) gives a thread's start.
fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let hertz = clock_ticks_per_second();
    let (seconds, rest) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    let rest = rest.unwrap_or(0).saturating_mul(hertz) / 1_000_000_000;
    seconds.unwrap_or(0).saturating_mul(hertz).saturating_add(rest)
}

/// Puts back what a killed fairways has left (`fairways restore`). The threads of another boot no
/// longer exist; its ledger is put aside.
///
/// # Errors
/// If the state directory can't be used, or another fairways uses it.
pub fn restore(settings: &Settings) -> Result<Restored, OpenError> {
    Ledger::open(settings).map(|(_, restored)| restored)
}

/// Reads any bytes as the ledger of threads (fuzz/README.md).
#[cfg(any(test, feature = "fuzzing"))]
pub fn fuzz(bytes: &[u8]) {
    fairways_ledger::fuzz::any::<Changes>(bytes);
}

#[cfg(test)]
mod tests {
    #[test]
    fn ledgers() {
        fairways_testing::corpora::run("ledger", 50, super::fuzz);
    }
}
