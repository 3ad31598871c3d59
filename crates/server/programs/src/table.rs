//! The processes that are managed as such: matched ones, and all they forked.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;

use super::connector::ProcessEvent;
use super::process::{Proc, ProcessStat};
use super::watcher::{Exit, Watcher};
use super::{Selector, Wanted, glob};

/// A process, by its start time and its number; identifies a match as long as any of its
/// descendants exists.
pub(super) type Root = (u64, i32);

/// One managed process.
#[derive(Debug)]
pub(super) struct ManagedProcess {
    /// When it started; `None` if it was gone before that could be read.
    start: Option<u64>,
    /// Its entry in the list, by number.
    pub(super) wanted: usize,
    /// The matched process that it descends from.
    pub(super) root: Root,
    /// Readable when it has ended; while it is open, the number belongs to no other process.
    exit: Option<OwnedFd>,
}

/// What a `pid:` selector refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PidBinding {
    NotYet,
    Nothing,
    To(Root),
}

/// Managed processes, by number.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    managed: BTreeMap<i32, ManagedProcess>,
    /// The numbers of managed processes by entry and root, from when they are asked for until any
    /// changes.
    families: OnceCell<BTreeMap<(usize, Root), Vec<i32>>>,
    /// Every other process, by number: its start time, its command, and the entry that matches it.
    names: HashMap<i32, (u64, String, Option<usize>)>,
    bound: Vec<Option<PidBinding>>,
    /// Processes of which a thread ended, until it is clear whether it was the last.
    leaving: BTreeSet<i32>,
    last_pid: Option<i32>,
    /// Whether the connector reported that one of them has other threads.
    pub(super) has_threads: bool,
}

impl ProcessTable {
    /// Replaces the list: `old[i]` is now `now[i]`, or gone.
    pub(super) fn set_wanted(&mut self, wanted: &[Wanted], now: &[Option<usize>]) {
        let mut bound: Vec<Option<PidBinding>> = wanted
            .iter()
            .map(|wanted| matches!(wanted.selector, Selector::Pid(_)).then_some(PidBinding::NotYet))
            .collect();
        for (old, now) in self.bound.iter().zip(now) {
            if let Some(now) = *now {
                bound[now] = *old;
            }
        }
        self.bound = bound;
        self.names.clear();
        self.families.take();
        self.managed.retain(|_, owned| match now.get(owned.wanted) {
            Some(&Some(now)) => {
                owned.wanted = now;
                true
            }
            _ => false,
        });
    }

    /// Managed processes, by number.
    pub(super) fn managed(&self) -> impl Iterator<Item = (i32, &ManagedProcess)> {
        self.managed.iter().map(|(&pid, owned)| (pid, owned))
    }

    /// Whether a process is managed as such.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.managed.contains_key(&pid)
    }

    /// An entry of cgroups was added at the list's end.
    pub(super) fn add_cgroups_wanted(&mut self) {
        self.bound.push(None);
    }

    /// The processes that descend from `root`, one that this entry matched.
    pub(super) fn family(
        &self,
        wanted: usize,
        root: Root,
    ) -> impl Iterator<Item = (i32, &ManagedProcess)> {
        let families = self.families.get_or_init(|| {
            let mut families: BTreeMap<(usize, Root), Vec<i32>> = BTreeMap::new();
            for (&pid, owned) in &self.managed {
                families.entry((owned.wanted, owned.root)).or_default().push(pid);
            }
            families
        });
        let pids = families.get(&(wanted, root)).map_or(&[][..], Vec::as_slice);
        pids.iter().filter_map(|&pid| Some((pid, self.managed.get(&pid)?)))
    }

    /// Adds the threads of a managed process, none if it has ended.
    pub(super) fn threads(
        &self,
        proc: &Proc,
        pid: i32,
        owned: &ManagedProcess,
        threads: &mut Vec<i32>,
    ) -> io::Result<()> {
        let is_same = owned.exit.is_some()
            || proc
                .stat(pid)?
                .is_some_and(|stat| owned.start.is_none_or(|start| stat.start == start));
        if is_same {
            proc.threads(pid, threads)?;
        }
        Ok(())
    }

    /// A process seems to have ended. It stays until [`settle_exits`](Self::settle_exits), because
    /// its earlier forks may not have been reported yet.
    pub(super) fn leave(&mut self, pid: i32) {
        self.leaving.insert(pid);
    }

    /// Looks through all processes of the host. Returns whether anything changed.
    pub(super) fn scan(
        &mut self,
        proc: &Proc,
        wanted: &[Wanted],
        watcher: &Watcher,
    ) -> io::Result<bool> {
        self.last_pid = proc.last_pid();
        let mut stats = BTreeMap::new();
        for pid in proc.pids()? {
            if let Some(stat) =
                proc.stat(pid)?.filter(|stat| !stat.is_kernel_thread() && !stat.has_ended())
            {
                stats.insert(pid, stat);
            }
        }
        self.bind(&stats, wanted);
        self.families.take();
        let before = self.managed.len();
        self.managed.retain(|pid, owned| {
            owned.start.is_some() && owned.start == stats.get(pid).map(|stat| stat.start)
        });
        self.names
            .retain(|pid, (start, ..)| stats.get(pid).is_some_and(|stat| stat.start == *start));
        let mut changed = self.managed.len() != before;
        let mut open: BTreeSet<i32> = stats.keys().copied().collect();
        while let Some(pid) = open.pop_first() {
            // Parents first, so that a process matched above is known below.
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
                changed |= self.settle(stat, proc, wanted, watcher)?;
            }
        }
        Ok(changed)
    }

    /// Whether a process was made since the last scan.
    pub(super) fn is_stale(&self, proc: &Proc) -> bool {
        self.last_pid.is_none() || proc.last_pid() != self.last_pid
    }

    fn bind(&mut self, stats: &BTreeMap<i32, ProcessStat>, wanted: &[Wanted]) {
        for (bound, wanted) in self.bound.iter_mut().zip(wanted) {
            if let (Some(PidBinding::NotYet), Selector::Pid(pid)) = (*bound, &wanted.selector) {
                let to = stats.get(pid).map(|stat| (stat.start, *pid));
                if to.is_none() {
                    tracing::warn!(name = wanted.name, selector = %wanted.selector, "no process has this number");
                }
                *bound = Some(to.map_or(PidBinding::Nothing, PidBinding::To));
                // Events that were handled before may have bound it already.
                self.names.clear();
            }
        }
    }

    /// Handles an event of the connector. Returns whether anything changed.
    pub(super) fn handle(
        &mut self,
        event: ProcessEvent,
        proc: &Proc,
        wanted: &[Wanted],
        watcher: &Watcher,
    ) -> io::Result<bool> {
        match event {
            ProcessEvent::Fork { parent, child } => {
                let Some(of) = self.managed.get(&parent).map(|owned| (owned.wanted, owned.root))
                else {
                    return Ok(false);
                };
                self.leaving.remove(&child);
                self.names.remove(&child);
                self.managed.remove(&child);
                self.families.take();
                let start = proc.stat(child)?.map(|stat| stat.start);
                self.claim(child, start, of, proc, watcher)?;
                Ok(true)
            }
            ProcessEvent::Thread(of) => {
                self.has_threads |= self.managed.contains_key(&of);
                Ok(false)
            }
            ProcessEvent::Renamed(pid) => {
                self.names.remove(&pid);
                match proc.stat(pid)? {
                    Some(stat) if !stat.is_kernel_thread() => {
                        self.settle(&stat, proc, wanted, watcher)
                    }
                    _ => Ok(false),
                }
            }
            ProcessEvent::Exit(pid) => {
                self.names.remove(&pid);
                if self.managed.contains_key(&pid) {
                    self.leaving.insert(pid);
                    self.has_threads = true;
                }
                Ok(false)
            }
        }
    }

    /// Settles the processes that seemed to end. Returns whether any has ended.
    pub(super) fn settle_exits(&mut self, proc: &Proc) -> io::Result<bool> {
        let mut changed = false;
        for pid in self.leaving.clone() {
            if let Some(owned) = self.managed.get(&pid) {
                let lives = proc.stat(pid)?.is_some_and(|stat| {
                    !stat.has_ended() && owned.start.is_none_or(|start| stat.start == start)
                });
                if lives && owned.exit.is_none() {
                    continue;
                }
                if !lives {
                    self.managed.remove(&pid);
                    self.families.take();
                    changed = true;
                }
            }
            self.leaving.remove(&pid);
        }
        Ok(changed)
    }

    /// Decides the owner of a process: of its own match, its parent's and its former one, the first
    /// in the list.
    fn settle(
        &mut self,
        stat: &ProcessStat,
        proc: &Proc,
        wanted: &[Wanted],
        watcher: &Watcher,
    ) -> io::Result<bool> {
        let before = self.managed.get(&stat.pid).map(|process| (process.wanted, process.root));
        let mut best = before;
        let above = self.managed.get(&stat.parent).map(|process| (process.wanted, process.root));
        let own = self.direct(stat, proc, wanted)?.map(|at| (at, (stat.start, stat.pid)));
        for other in [above, own].into_iter().flatten() {
            if best.is_none_or(|(best, _)| other.0 < best) {
                best = Some(other);
            }
        }
        let Some(now) = best.filter(|_| best != before) else { return Ok(false) };
        self.families.take();
        match self.managed.get_mut(&stat.pid) {
            Some(owned) => (owned.wanted, owned.root) = now,
            None => self.claim(stat.pid, Some(stat.start), now, proc, watcher)?,
        }
        Ok(true)
    }

    fn claim(
        &mut self,
        pid: i32,
        mut start: Option<u64>,
        (wanted, root): (usize, Root),
        proc: &Proc,
        watcher: &Watcher,
    ) -> io::Result<()> {
        let mut exit = None;
        if proc.own && start.is_some() {
            exit = watcher.watch_exit(Exit::Process(pid), self.managed.len());
            // The number may have become another process's before the descriptor was opened.
            if exit.is_some() && proc.stat(pid)?.map(|stat| stat.start) != start {
                (exit, start) = (None, None);
            }
        }
        self.families.take();
        self.managed.insert(pid, ManagedProcess { start, wanted, root, exit });
        if start.is_none() {
            self.leaving.insert(pid);
        }
        Ok(())
    }

    /// The first entry of the list that matches a process itself.
    fn direct(
        &mut self,
        stat: &ProcessStat,
        proc: &Proc,
        wanted: &[Wanted],
    ) -> io::Result<Option<usize>> {
        if let Some((start, comm, direct)) = self.names.get(&stat.pid)
            && (*start, comm) == (stat.start, &stat.comm)
        {
            return Ok(*direct);
        }
        let mut argument = None;
        let (mut direct, mut may_come) = (None, false);
        for (at, wanted) in wanted.iter().enumerate() {
            let is_it = match &wanted.selector {
                Selector::Pid(_) => {
                    self.bound.get(at) == Some(&Some(PidBinding::To((stat.start, stat.pid))))
                }
                Selector::Process { pattern, user } => {
                    let is_named = glob::matches(pattern, &stat.comm)
                        || has_first_argument(&mut argument, pattern, stat.pid, proc)?;
                    let is_it = match user {
                        Some(user) => is_named && proc.belongs_to(stat.pid, user.id())?,
                        None => is_named,
                    };
                    may_come |= is_named && !is_it;
                    is_it
                }
                _ => false,
            };
            if is_it {
                direct = Some(at);
                break;
            }
        }
        if may_come {
            // A service starts as root and becomes its user later, under the same name.
            self.names.remove(&stat.pid);
            return Ok(direct);
        }
        self.names.insert(stat.pid, (stat.start, stat.comm.clone(), direct));
        Ok(direct)
    }
}

/// Whether a process's first argument, which is read once, matches a pattern.
fn has_first_argument(
    argument: &mut Option<Option<String>>,
    pattern: &str,
    pid: i32,
    proc: &Proc,
) -> io::Result<bool> {
    if argument.is_none() {
        *argument = Some(proc.first_argument(pid)?);
    }
    Ok(argument.iter().flatten().any(|argument| glob::matches(pattern, argument)))
}
