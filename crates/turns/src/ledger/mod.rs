//! What is changed of threads, written down before it is, and put back.
//!
//! A thread is put back as far as it is still as it was made: what its owner set meanwhile stays. Of nice values every one that was set is
//! remembered, so that weights that come and go are not written down each time; an owner who chose one of those, in a process that was
//! killed, gets the one before.

mod entry;
pub(super) mod policy;
mod restorer;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use fairways_linux::stat::started;
use fairways_resctrl::language::CpuSet;
use fairways_resctrl_client::store::State;
use fairways_resctrl_client::{Error, OpenError, Restored};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

use super::{Settings, thread};
pub(super) use entry::Change;
use entry::{Changes, ENDED, Entry, VERSION};
use restorer::Restorer;

/// What is to be put back of threads: `schedule.json` of the state directory, which one process has at a time.
#[derive(Debug)]
pub struct Ledger {
    state: State<Changes>,
    proc: PathBuf,
    sysfs: PathBuf,
}

/// A thread's number, and when it started, by which another one of that number is told from it.
pub(super) type Key = (i32, u64);

impl Ledger {
    /// Takes the state directory, and puts back what a fairways that was killed has left. A ledger that can't be read is among what failed.
    ///
    /// # Errors
    /// If the directory can't be used, or another fairways uses it.
    pub fn open(settings: &Settings) -> Result<(Self, Restored), OpenError> {
        let (mut state, found) = State::<Changes>::open(&settings.state)?;
        let boot = fs::read_to_string(&settings.boot_id)
            .map_err(|why| Error::State { path: settings.boot_id.clone(), why: why.to_string() })?;
        let boot = boot.trim().to_owned();
        let mut ledger = Changes { version: VERSION, boot: boot.clone(), threads: Vec::new() };
        if let Some(found) = found.ledger {
            if found.boot == boot {
                ledger = found;
            } else {
                state.put_aside("it is of another boot")?;
            }
        }
        state.ledger = ledger;
        let Settings { proc, sysfs, .. } = settings.clone();
        let mut opened = Self { state, proc, sysfs };
        let mut restored = opened.end_all()?;
        restored.failed.extend(found.damaged);
        Ok((opened, restored))
    }

    /// For a dry run, which writes nothing.
    pub(super) fn dry() -> Self {
        Self { state: State::dry(), proc: "/proc".into(), sysfs: "/sys".into() }
    }

    /// Writes down that threads' scheduling policies are about to be changed: the thread, and what sched_getscheduler(2) tells of it
    /// before and after.
    ///
    /// # Errors
    /// If it can't be written; nothing may be changed then.
    pub fn policy(&mut self, threads: &[(i32, i32, i32)]) -> Result<(), Error> {
        let change =
            |&(thread, before, ours): &(i32, i32, i32)| (thread, Change::Policy(before, ours));
        self.record(&threads.iter().map(change).collect::<Vec<_>>())
    }

    /// Writes down what is about to be changed, all at once; threads that have ended are passed over.
    pub(super) fn record(&mut self, changes: &[(i32, Change)]) -> Result<(), Error> {
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

    /// Takes note that a thread has these CPUs now; written with what comes next.
    pub(super) fn has(&mut self, thread: Key, cpus: &CpuSet) {
        self.note(thread, |entry| entry.has(cpus));
    }

    /// Takes note that of the nice values that a thread was given, it has `nice` now, and that its owner's is `before`.
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

    /// What a thread that started then, of this process or of one that `parent` started, had before, if it has CPUs that we gave to the
    /// one that made it.
    pub(super) fn affinity_before(
        &self,
        (process, parent): (i32, i32),
        started: u64,
        cpus: &CpuSet,
    ) -> Option<(CpuSet, bool)> {
        let mut older = self.relatives(process, parent).filter(|entry| entry.since <= started);
        older.find_map(|entry| entry.affinity_before(cpus))
    }

    /// Likewise of its nice value.
    pub(super) fn nice_before(
        &self,
        (process, parent): (i32, i32),
        started: u64,
        nice: i32,
    ) -> Option<i32> {
        let mut older = self.relatives(process, parent).filter(|entry| entry.since <= started);
        older.find_map(|entry| entry.nice_before(nice))
    }

    /// What sched_getscheduler(2) told, before, of the threads of this process or its parent that have this policy from us; for
    /// a thread that one of them made meanwhile.
    #[must_use]
    pub fn policy_before(&self, process: i32, parent: i32, policy: i32) -> Option<i32> {
        self.relatives(process, parent).find_map(|entry| entry.policy_before(policy))
    }

    fn relatives(&self, process: i32, parent: i32) -> impl Iterator<Item = &Entry> {
        let threads = &self.state.ledger.threads;
        let of = move |id: i32| threads.iter().filter(move |entry| entry.process == id);
        of(process).chain(of(parent))
    }

    /// Puts threads of these numbers back as they were, as far as they are still as they were made; and with the last one of a process that
    /// goes on, what its threads have made meanwhile. What could not be put back stays written down; and, while its process lives, what is
    /// needed to put back in the end whatever was made since.
    ///
    /// # Errors
    /// If the ledger can't be written; they are put back all the same.
    pub fn end(&mut self, threads: &[i32]) -> Result<Restored, Error> {
        self.end_where(|entry| threads.contains(&entry.thread))
    }

    /// As [`end`](Self::end), of exactly these threads.
    pub(super) fn end_those(&mut self, threads: &HashSet<Key>) -> Result<Restored, Error> {
        self.end_where(|entry| threads.contains(&entry.key()))
    }

    fn end_where(&mut self, is_over: impl Fn(&Entry) -> bool) -> Result<Restored, Error> {
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
        // The last of each process that is there.
        let mut remembered: BTreeMap<i32, usize> = BTreeMap::new();
        let mut kept: Vec<Entry> = Vec::new();
        for entry in entries.iter().rev() {
            let of = remembered.entry(entry.process).or_default();
            if !entry.ended || *of < ENDED && self.restorer().is_same(entry) {
                *of += usize::from(entry.ended);
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

    /// Forgets threads that somebody else has put back.
    ///
    /// # Errors
    /// If the ledger can't be written.
    pub fn forget(&mut self, threads: &[i32]) -> Result<(), Error> {
        self.state.record(|ledger| ledger.threads.retain(|entry| !threads.contains(&entry.thread)))
    }

    /// Puts everything back, and what those threads made meanwhile.
    ///
    /// # Errors
    /// If the ledger can't be written; all is put back all the same.
    pub fn end_all(&mut self) -> Result<Restored, Error> {
        let mut restored = Restored::default();
        let entries = &self.state.ledger.threads;
        let is_left =
            |entry: &&Entry| !entry.ended && !self.restorer().thread(entry, &mut restored);
        let left: Vec<Entry> = entries.iter().filter(is_left).cloned().collect();
        self.restorer().kin(entries, |_| true, &mut restored);
        self.finish(left, restored)
    }

    fn finish(&mut self, left: Vec<Entry>, restored: Restored) -> Result<Restored, Error> {
        for (thing, why) in &restored.failed {
            tracing::error!(target: "fairways::schedule", %thing, why, "not restored");
        }
        self.state.record(|ledger| ledger.threads = left)?;
        Ok(restored)
    }
}

/// The time as proc_pid_stat(5) tells when threads started: in clock ticks since boot.
fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let hertz = clock_ticks_per_second();
    let (seconds, rest) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    let rest = rest.unwrap_or(0).saturating_mul(hertz) / 1_000_000_000;
    seconds.unwrap_or(0).saturating_mul(hertz).saturating_add(rest)
}

/// Puts right what a fairways that was killed has left (`fairways restore`). What is of another boot is not there any more; its
/// ledger is put aside.
///
/// # Errors
/// If the state directory can't be used, or another fairways uses it.
pub fn restore(settings: &Settings) -> Result<Restored, OpenError> {
    Ledger::open(settings).map(|(_, restored)| restored)
}

/// Any bytes as the ledger of threads (fuzz/README.md).
#[cfg(any(test, feature = "fuzzing"))]
pub fn fuzz(bytes: &[u8]) {
    fairways_resctrl_client::store::fuzz::any::<Changes>(bytes);
}

#[cfg(test)]
mod tests {
    #[test]
    fn ledgers() {
        fairways_corpora::run("ledger", 50, super::fuzz);
    }
}
