//! Putting threads back, as far as they are still as Fairways left them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use fairways_core::CpuSet;
use fairways_ledger::{Restored, Thing};
use fairways_linux::numbers;
use fairways_linux::stat::started;
use rustix::io::Errno;

use super::super::policy;
use super::super::thread::{self, Stat};
use super::entry::{Entry, set};

/// Puts threads back; these are the file systems from which it reads them.
#[derive(Clone, Copy)]
pub(super) struct Restorer<'a> {
    pub(super) proc: &'a Path,
    pub(super) sysfs: &'a Path,
}

impl Restorer<'_> {
    /// Puts a thread back; returns whether nothing is left to do for it.
    pub(super) fn thread(self, entry: &Entry, restored: &mut Restored) -> bool {
        if started(self.proc, entry.thread) != Some(entry.started) {
            return true;
        }
        let before = restored.failed.len();
        self.values(entry.thread, entry, false, restored);
        restored.failed.len() == before
    }

    /// Puts back threads that inherited their state from those of `entries`, as far as this is
    /// known: they belong to processes that are `meant`, or to processes that those started, and
    /// are exactly as Fairways left the threads of `entries`.
    pub(super) fn kin(
        self,
        entries: &[Entry],
        meant: impl Fn(i32) -> bool,
        restored: &mut Restored,
    ) {
        let mut by_process: BTreeMap<i32, Vec<&Entry>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| self.is_same(entry)) {
            by_process.entry(entry.process).or_default().push(entry);
        }
        if !by_process.keys().any(|&process| meant(process)) {
            return;
        }
        let lives = |entry: &&Entry| started(self.proc, entry.thread) == Some(entry.started);
        let known: BTreeSet<i32> = entries.iter().filter(lives).map(|entry| entry.thread).collect();
        let processes = numbers(self.proc).unwrap_or_default();
        let parents: BTreeMap<i32, i32> = processes
            .iter()
            .filter_map(|&process| Some((process, thread::family(self.proc, process)?.1)))
            .collect();
        for process in processes {
            let mut lineage = std::iter::successors(Some(process), |at| parents.get(at).copied());
            let nearest = lineage.by_ref().take(GENERATIONS).find(|at| by_process.contains_key(at));
            let nearest = nearest.filter(|at| meant(*at));
            let Some(entries) = nearest.and_then(|at| by_process.get(&at)) else { continue };
            for thread in numbers(&self.proc.join(format!("{process}/task"))).unwrap_or_default() {
                let Some(at) = started(self.proc, thread).filter(|_| !known.contains(&thread))
                else {
                    continue;
                };
                for entry in entries.iter().filter(|entry| entry.since <= at) {
                    self.values(thread, entry, true, restored);
                }
            }
        }
    }

    /// Whether the process of a thread still lives: a process with its number that began later is
    /// another one.
    pub(super) fn is_same(self, entry: &Entry) -> bool {
        started(self.proc, entry.process).is_some_and(|at| at <= entry.started)
    }

    /// Puts back what is still as `entry` says that Fairways left it, in its own thread, or in one
    /// that inherited it.
    fn values(self, thread: i32, entry: &Entry, inherited: bool, restored: &mut Restored) {
        let proc = self.proc;
        let mut report = |thing, done: io::Result<bool>| match done {
            Ok(true) => restored.done.push(thing),
            Ok(false) => {}
            Err(error) => restored.failed.push((thing, error.to_string())),
        };
        let mut left = Vec::new();
        if let (Some(mask), Some(now)) = (&entry.affinity, thread::affinity(proc, thread)) {
            let (thing, list) = (Thing::Affinity(thread), now.to_list());
            let before = set(&mask.before);
            if mask.ours.contains(&list) || inherited && mask.past.contains(&list) {
                if list != mask.before {
                    let cpus = (!mask.all).then_some(&before);
                    report(thing, thread::set_affinity(thread, cpus));
                }
            } else if mask.all && !inherited && Some(&now) == self.unrestricted(thread).as_ref() {
                // Its cpuset has replaced our CPUs with its own; the kernel still remembers ours.
                report(thing, thread::set_affinity(thread, None));
            } else if list != mask.before {
                left.push((thing, format!("it is {list}, which others set")));
            }
        }
        if let (Some(value), Ok(now)) = (&entry.policy, policy::get(thread)) {
            let thing = Thing::Policy(thread);
            if now != value.before && value.ours.contains(&now) {
                let done = policy::set(thread, value.before);
                let gone =
                    |error: &io::Error| error.raw_os_error() == Some(Errno::SRCH.raw_os_error());
                report(
                    thing,
                    done.map(|()| true)
                        .or_else(|error| if gone(&error) { Ok(false) } else { Err(error) }),
                );
            } else if now != value.before {
                left.push((thing, format!("it is {now}, which others set")));
            }
        }
        if let (Some(value), Some(Stat { nice: now, .. })) = (&entry.nice, Stat::read(proc, thread))
        {
            let thing = Thing::Nice(thread);
            let is_ours = value.ours.contains(&now) || inherited && value.past.contains(&now);
            if now != value.before && is_ours {
                report(thing, thread::set_nice(thread, value.before));
            } else if now != value.before {
                left.push((thing, format!("it is {now}, which others set")));
            }
        }
        // A thread without an entry was never promised anything.
        if !inherited {
            restored.left.extend(left);
        }
    }

    fn unrestricted(self, thread: i32) -> Option<CpuSet> {
        thread::unrestricted(self.proc, self.sysfs, thread)
    }
}

/// How many parents of a process are followed at most.
const GENERATIONS: usize = 64;
