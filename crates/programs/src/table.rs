//! The processes that are managed as such: those that were matched, and what they forked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;

use super::connector::Event;
use super::notice::{Exit, Notice};
use super::process::{Proc, Stat};
use super::{Selector, Wanted, glob};

/// A process, by when it started and its number: what a match is told by as long as any of its descendants is there.
pub(super) type Root = (u64, i32);

/// One managed process.
#[derive(Debug)]
pub(super) struct Owned {
    /// When it started; `None` if it was gone before it could be asked.
    start: Option<u64>,
    /// Whose it is, by number in the list.
    pub(super) wanted: usize,
    /// The process that was matched, of which it descends.
    pub(super) root: Root,
    /// Readable when it has ended; while it is held, the number is no other process's.
    exit: Option<OwnedFd>,
}

/// What a `pid:` selector means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    NotYet,
    Nothing,
    To(Root),
}

/// Managed processes, by number.
#[derive(Debug, Default)]
pub(super) struct Table {
    owned: BTreeMap<i32, Owned>,
    /// What was found of every other process's name: when it started, its command, and whether it is matched.
    names: HashMap<i32, (u64, String, Option<usize>)>,
    bound: Vec<Option<Bound>>,
    /// Those of which a thread ended, until it is clear whether it was the last.
    leaving: BTreeSet<i32>,
    last_pid: Option<i32>,
    /// Whether the connector told that one of them has other threads.
    pub(super) has_threads: bool,
}

impl Table {
    /// Takes another list, in which what was `old[i]` is `now[i]` or nowhere.
    pub(super) fn set_wanted(&mut self, wanted: &[Wanted], now: &[Option<usize>]) {
        let of =
            |selector: &Selector| matches!(selector, Selector::Pid(_)).then_some(Bound::NotYet);
        let mut bound: Vec<Option<Bound>> =
            wanted.iter().map(|wanted| of(&wanted.selector)).collect();
        for (old, now) in self.bound.iter().zip(now) {
            if let Some(now) = *now {
                bound[now] = *old;
            }
        }
        self.bound = bound;
        self.names.clear();
        self.owned.retain(|_, owned| match now.get(owned.wanted) {
            Some(&Some(now)) => {
                owned.wanted = now;
                true
            }
            _ => false,
        });
    }

    /// Managed processes, by number.
    pub(super) fn owned(&self) -> impl Iterator<Item = (i32, &Owned)> {
        self.owned.iter().map(|(&pid, owned)| (pid, owned))
    }

    /// Adds the threads of a managed process, none if it has ended.
    pub(super) fn threads(
        &self,
        proc: &Proc,
        pid: i32,
        owned: &Owned,
        threads: &mut Vec<i32>,
    ) -> io::Result<()> {
        let is_it = |stat: &Stat| owned.start.is_none_or(|start| stat.start == start);
        if owned.exit.is_some() || proc.stat(pid)?.is_some_and(|stat| is_it(&stat)) {
            proc.threads(pid, threads)?;
        }
        Ok(())
    }

    /// A process seems to have ended. It stays until [`settle_exits`](Self::settle_exits), as what it forked before may still have
    /// to be heard of.
    pub(super) fn leave(&mut self, pid: i32) {
        self.leaving.insert(pid);
    }

    /// Looks through all processes of the host; whether anything changed.
    pub(super) fn scan(
        &mut self,
        proc: &Proc,
        wanted: &[Wanted],
        notice: &Notice,
    ) -> io::Result<bool> {
        self.last_pid = proc.last_pid();
        let mut stats = BTreeMap::new();
        for pid in proc.pids()? {
            if let Some(stat) = proc.stat(pid)?.filter(|stat| !stat.of_kernel() && !stat.ended()) {
                stats.insert(pid, stat);
            }
        }
        self.bind(&stats, wanted);
        let is_it = |pid: &i32, start: u64| stats.get(pid).is_some_and(|stat| stat.start == start);
        let before = self.owned.len();
        self.owned.retain(|pid, owned| owned.start.is_some_and(|start| is_it(pid, start)));
        self.names.retain(|pid, (start, ..)| is_it(pid, *start));
        let mut changed = self.owned.len() != before;
        let mut open: BTreeSet<i32> = stats.keys().copied().collect();
        while let Some(pid) = open.pop_first() {
            // Parents first, so that what was matched above is known below.
            let mut line = vec![pid];
            while let Some(parent) =
                line.last().and_then(|pid| stats.get(pid)).map(|stat| stat.parent)
            {
                if !open.remove(&parent) {
                    break;
                }
                line.push(parent);
            }
            for stat in line.iter().rev().filter_map(|pid| stats.get(pid)) {
                changed |= self.settle(stat, proc, wanted, notice)?;
            }
        }
        Ok(changed)
    }

    /// Whether a process was made since the last scan.
    pub(super) fn is_stale(&self, proc: &Proc) -> bool {
        self.last_pid.is_none() || proc.last_pid() != self.last_pid
    }

    fn bind(&mut self, stats: &BTreeMap<i32, Stat>, wanted: &[Wanted]) {
        for (bound, wanted) in self.bound.iter_mut().zip(wanted) {
            if let (Some(Bound::NotYet), Selector::Pid(pid)) = (*bound, &wanted.selector) {
                let to = stats.get(pid).map(|stat| (stat.start, *pid));
                if to.is_none() {
                    tracing::warn!(name = wanted.name, selector = %wanted.selector, "no process has this number");
                }
                *bound = Some(to.map_or(Bound::Nothing, Bound::To));
                // Events that were heard before may have asked already.
                self.names.clear();
            }
        }
    }

    /// Takes in an event of the connector; whether anything changed.
    pub(super) fn hear(
        &mut self,
        event: Event,
        proc: &Proc,
        wanted: &[Wanted],
        notice: &Notice,
    ) -> io::Result<bool> {
        match event {
            Event::Fork { parent, child } => {
                let Some(of) = self.owned.get(&parent).map(|owned| (owned.wanted, owned.root))
                else {
                    return Ok(false);
                };
                self.leaving.remove(&child);
                self.names.remove(&child);
                self.owned.remove(&child);
                let start = proc.stat(child)?.map(|stat| stat.start);
                self.own(child, start, of, proc, notice)?;
                Ok(true)
            }
            Event::Thread(of) => {
                self.has_threads |= self.owned.contains_key(&of);
                Ok(false)
            }
            Event::Renamed(pid) => {
                self.names.remove(&pid);
                match proc.stat(pid)? {
                    Some(stat) if !stat.of_kernel() => self.settle(&stat, proc, wanted, notice),
                    _ => Ok(false),
                }
            }
            Event::Exit(pid) => {
                self.names.remove(&pid);
                if self.owned.contains_key(&pid) {
                    self.leaving.insert(pid);
                    self.has_threads = true;
                }
                Ok(false)
            }
        }
    }

    /// Whether those that seemed to end have ended.
    pub(super) fn settle_exits(&mut self, proc: &Proc) -> io::Result<bool> {
        let mut changed = false;
        for pid in self.leaving.clone() {
            if let Some(owned) = self.owned.get(&pid) {
                let lives = proc.stat(pid)?.is_some_and(|stat| {
                    !stat.ended() && owned.start.is_none_or(|start| stat.start == start)
                });
                if lives && owned.exit.is_none() {
                    continue;
                }
                if !lives {
                    self.owned.remove(&pid);
                    changed = true;
                }
            }
            self.leaving.remove(&pid);
        }
        Ok(changed)
    }

    /// Decides whose a process is: of its own match, its parent's and what it was before, the first in the list.
    fn settle(
        &mut self,
        stat: &Stat,
        proc: &Proc,
        wanted: &[Wanted],
        notice: &Notice,
    ) -> io::Result<bool> {
        let of = |owned: &Owned| (owned.wanted, owned.root);
        let before = self.owned.get(&stat.pid).map(of);
        let mut best = before;
        let above = self.owned.get(&stat.parent).map(of);
        let own = self.direct(stat, proc, wanted).map(|at| (at, (stat.start, stat.pid)));
        for other in [above, own].into_iter().flatten() {
            if best.is_none_or(|(best, _)| other.0 < best) {
                best = Some(other);
            }
        }
        let Some(now) = best.filter(|_| best != before) else { return Ok(false) };
        match self.owned.get_mut(&stat.pid) {
            Some(owned) => (owned.wanted, owned.root) = now,
            None => self.own(stat.pid, Some(stat.start), now, proc, notice)?,
        }
        Ok(true)
    }

    fn own(
        &mut self,
        pid: i32,
        mut start: Option<u64>,
        (wanted, root): (usize, Root),
        proc: &Proc,
        notice: &Notice,
    ) -> io::Result<()> {
        let mut exit = None;
        if proc.own && start.is_some() {
            exit = notice.exit(Exit::Process(pid), self.owned.len());
            // The number may have become another process's before it was held.
            if exit.is_some() && proc.stat(pid)?.map(|stat| stat.start) != start {
                (exit, start) = (None, None);
            }
        }
        self.owned.insert(pid, Owned { start, wanted, root, exit });
        if start.is_none() {
            self.leaving.insert(pid);
        }
        Ok(())
    }

    /// The first of the list that matches a process itself.
    fn direct(&mut self, stat: &Stat, proc: &Proc, wanted: &[Wanted]) -> Option<usize> {
        if let Some((start, comm, direct)) = self.names.get(&stat.pid)
            && (*start, comm) == (stat.start, &stat.comm)
        {
            return *direct;
        }
        let mut argument = None;
        let mut may_come = false;
        let direct = wanted.iter().enumerate().position(|(at, wanted)| match &wanted.selector {
            Selector::Pid(_) => {
                self.bound.get(at) == Some(&Some(Bound::To((stat.start, stat.pid))))
            }
            Selector::Process { pattern, user } => {
                let argument = &mut argument;
                let named = glob::matches(pattern, &stat.comm)
                    || argument
                        .get_or_insert_with(|| proc.first_argument(stat.pid))
                        .as_ref()
                        .is_some_and(|argument| glob::matches(pattern, argument));
                let of = named && user.as_ref().is_none_or(|user| proc.is_of(stat.pid, user.id()));
                may_come |= named && !of;
                of
            }
            _ => false,
        });
        if may_come {
            // A service starts as root and becomes its user later, under the same name.
            self.names.remove(&stat.pid);
            return direct;
        }
        self.names.insert(stat.pid, (stat.start, stat.comm.clone(), direct));
        direct
    }
}
