//! Putting threads back, as far as they are still as they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use fairways_linux::numbers;
use fairways_linux::stat::started;
use fairways_resctrl::language::CpuSet;
use fairways_resctrl_client::{Restored, Thing};
use rustix::io::Errno;

use super::super::thread::{self, Stat};
use super::entry::{Entry, set};
use super::policy;

/// Where threads are read.
#[derive(Clone, Copy)]
pub(super) struct Restorer<'a> {
    pub(super) proc: &'a Path,
    pub(super) sysfs: &'a Path,
}

impl Restorer<'_> {
    /// Puts a thread back; whether nothing is left to do about it.
    pub(super) fn thread(self, entry: &Entry, restored: &mut Restored) -> bool {
        if started(self.proc, entry.thread) != Some(entry.started) {
            return true;
        }
        let before = restored.failed.len();
        self.values(entry.thread, entry, false, restored);
        restored.failed.len() == before
    }

    /// Puts threads back that those of `entries` have made meanwhile, with what they had, as far as that can be told: they are of
    /// processes that are `meant`, or of processes that those started, and are exactly as we made those.
    pub(super) fn kin(
        self,
        entries: &[Entry],
        meant: impl Fn(i32) -> bool,
        restored: &mut Restored,
    ) {
        let mut of: BTreeMap<i32, Vec<&Entry>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| self.is_same(entry)) {
            of.entry(entry.process).or_default().push(entry);
        }
        if !of.keys().any(|&process| meant(process)) {
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
            let nearest = lineage.by_ref().take(GENERATIONS).find(|at| of.contains_key(at));
            let Some(entries) = nearest.filter(|at| meant(*at)).and_then(|at| of.get(&at)) else {
                continue;
            };
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

    /// Whether the process of a thread is there: one of that number that began later is another one.
    pub(super) fn is_same(self, entry: &Entry) -> bool {
        started(self.proc, entry.process).is_some_and(|at| at <= entry.started)
    }

    /// Puts back what is as `entry` says that it was made, of its own thread, or of one that inherited it.
    fn values(self, thread: i32, entry: &Entry, inherited: bool, restored: &mut Restored) {
        let proc = self.proc;
        let mut tell = |thing, done: io::Result<bool>| match done {
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
                    tell(thing, thread::set_affinity(thread, cpus));
                }
            } else if mask.all && !inherited && Some(&now) == self.unrestricted(thread).as_ref() {
                // Its cpuset has put its own CPUs in the place of ours, which the kernel still remembers.
                tell(thing, thread::set_affinity(thread, None));
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
                tell(
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
                tell(thing, thread::set_nice(thread, value.before));
            } else if now != value.before {
                left.push((thing, format!("it is {now}, which others set")));
            }
        }
        // Of a thread that is not written down nobody promised anything.
        if !inherited {
            restored.left.extend(left);
        }
    }

    fn unrestricted(self, thread: i32) -> Option<CpuSet> {
        thread::unrestricted(self.proc, self.sysfs, thread)
    }
}

/// The longest line of parents that is followed.
const GENERATIONS: usize = 64;
