//! A thread that was taken in.

use std::fs::File;
use std::path::Path;

use fairways_core::CpuSet;

use super::super::ledger::Key;
use super::super::thread::{self, Stat};
use super::retry::Retry;
use super::turn::Turns;
use super::weight;

/// What a thread's owner lets it have.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) cpus: CpuSet,
    /// Whether those are all CPUs of its cpuset.
    pub(super) all: bool,
    pub(super) nice: i32,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Managed {
    pub(super) thread: i32,
    /// When it started: a later thread with the same number has another time.
    pub(super) started: u64,
    /// Whether the ledger has it.
    pub(super) known: bool,
    /// Its `schedstat`.
    pub(super) time: File,
    pub(super) owners: Owners,
    /// What it has, as far as is known.
    pub(super) cpus: CpuSet,
    /// Whether it has them from us, or from a managed thread that made it; not from its owner, nor
    /// from the kernel, which moves a thread to other CPUs when all of its own are off line.
    pub(super) is_ours: bool,
    /// Whether its cpuset has replaced our CPUs with its own, while the kernel still remembers
    /// ours.
    pub(super) is_remembered: bool,
    pub(super) nice: i32,
    /// Whether we have its children begin without its nice value.
    pub(super) resets: bool,
    /// Whether its weight decides how much time it gets: not under a real-time policy.
    pub(super) weighs: bool,
    /// The CPUs that it is to run on; `None`: all that its owner lets it run on.
    pub(super) wanted: Option<CpuSet>,
    pub(super) raised: bool,
    pub(super) turns: Turns,
    /// When CPUs that the kernel refused are tried again; likewise a nice value.
    pub(super) cpus_retry: Retry,
    pub(super) nice_retry: Retry,
}

impl Managed {
    pub(super) const fn key(&self) -> Key {
        (self.thread, self.started)
    }

    /// The CPUs and the nice value that it should have, each where it has another.
    pub(super) fn due(
        &self,
        online: &CpuSet,
        quantum: u64,
        now: u64,
    ) -> (Option<CpuSet>, Option<i32>) {
        let differs =
            |due: &CpuSet| *due != self.cpus || self.is_remembered && *due == self.owners.cpus;
        let cpus = Some(self.cpus_due(online)).filter(differs);
        let nice = Some(self.nice_due(quantum)).filter(|due| *due != self.nice);
        (
            cpus.filter(|_| self.cpus_retry.is_time(now)),
            nice.filter(|_| self.nice_retry.is_time(now)),
        )
    }

    /// The CPUs that it should have: the wanted ones among its owner's, if any of those is on line;
    /// otherwise its owner's. If none of its owner's is on line, those that the kernel lets it use.
    fn cpus_due(&self, online: &CpuSet) -> CpuSet {
        if self.owners.cpus.intersection(online).is_empty() {
            return self.cpus.clone();
        }
        let within = self.wanted.as_ref().map(|wanted| wanted.intersection(&self.owners.cpus));
        let usable = within.filter(|within| !within.intersection(online).is_empty());
        usable.unwrap_or_else(|| self.owners.cpus.clone())
    }

    /// The nice value that it should have.
    fn nice_due(&self, quantum: u64) -> i32 {
        match self.turns.ordered() {
            _ if !self.weighs => self.nice,
            _ if self.raised => weight::FIRST,
            ordered if ordered == quantum => self.owners.nice,
            ordered => weight::times(self.owners.nice, ordered, quantum),
        }
    }

    /// Whether a nice value is a raised priority, which its children are not to have. The kernel
    /// gives these 0 then (`sched_fork`).
    pub(super) const fn is_raised_by(&self, nice: i32) -> bool {
        nice < 0 && nice < self.owners.nice
    }

    /// Orders its next turn. A thread whose weight can't be set has turns as usual.
    pub(super) const fn order(&mut self, time: u64) {
        if self.weighs && !self.nice_retry.is_waiting() {
            self.turns.order(time);
        }
    }

    /// Whether the kernel refused something the last time, which is tried again.
    pub(super) const fn is_waiting(&self) -> bool {
        self.cpus_retry.is_waiting() || self.nice_retry.is_waiting()
    }

    /// Whether its state may differ from the known one. This takes three system calls and reads no
    /// file. A thread that has ended does not differ.
    pub(super) fn may_differ(&self, online: &CpuSet) -> bool {
        match thread::Brief::of(self.thread) {
            Ok(brief) => {
                brief.cpus.intersection(online) != self.cpus.intersection(online)
                    || brief.nice != self.nice
                    || is_weighed(brief.policy) != self.weighs
            }
            Err(_) => thread::exists(self.thread),
        }
    }

    /// Reads its state; what its owner changed since is the owner's from now on. Returns whether it
    /// lives.
    pub(super) fn look(&mut self, proc: &Path, sysfs: &Path, online: &CpuSet) -> bool {
        let stat = Stat::read(proc, self.thread).filter(|stat| stat.started == self.started);
        let Some((cpus, stat)) = thread::affinity(proc, self.thread).zip(stat) else {
            return false;
        };
        let known = self.cpus.intersection(online);
        if cpus.intersection(online) != known {
            // If none of its CPUs is on line any more, the kernel lets it run on others
            // (`select_fallback_rq`). If its CPUs were ours, its owner's are as before.
            if !known.is_empty() || self.cpus == self.owners.cpus {
                let all = Some(&cpus) == thread::unrestricted(proc, sysfs, self.thread).as_ref();
                self.is_remembered = all && self.is_ours;
                self.owners.all = all;
                self.owners.cpus = cpus.clone();
            }
            self.is_ours = false;
            self.cpus = cpus;
        }
        if stat.nice != self.nice {
            (self.owners.nice, self.nice) = (stat.nice, stat.nice);
        }
        self.weighs = weighs(&stat);
        if !self.weighs {
            self.turns.as_usual();
        }
        true
    }

    /// Reads its cpuset's CPUs again, after the kernel refused some: the cpuset may have changed.
    /// The thread's own CPUs do not show that if all of them are in the old and in the new set.
    pub(super) fn read_cpuset_again(&mut self, proc: &Path, sysfs: &Path) {
        if self.owners.all
            && let Some(cpus) = thread::unrestricted(proc, sysfs, self.thread)
        {
            self.owners.cpus = cpus;
        }
    }
}

/// `SCHED_OTHER` and `SCHED_BATCH` of the kernel's include/uapi/linux/sched.h: the only policies in
/// which the nice value is a weight.
pub(super) const fn weighs(stat: &Stat) -> bool {
    is_weighed(stat.policy)
}

const fn is_weighed(policy: u32) -> bool {
    matches!(policy, 0 | 3)
}

#[cfg(test)]
mod tests;
