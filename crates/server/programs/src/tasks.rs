//! Which tasks belong to which program.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::ops::{Bound, RangeInclusive};
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_core::CpuSet;

use super::dirs::Match;
use super::known::{Id, KnownProgram, MatchKey};
use super::table::ManagedProcess;
use super::{ProgramKey, Programs};

/// How long a list of threads stays valid while their number is the same.
const LISTED: Duration = Duration::from_secs(1);

/// The tasks of a program.
#[derive(Debug, Default)]
pub(super) struct TaskList<'a> {
    /// Ascending.
    pub(super) threads: Vec<i32>,
    /// The cgroups that they are in, by tree, if it is a program of cgroups.
    pub(super) matches: Vec<(usize, &'a Match)>,
}

impl Programs {
    /// Lists a program's threads as they are now, ascending; none if it is gone. A thread that is
    /// being made meanwhile is in the next list. A thread that was made in place of another that
    /// ended may be missing for five seconds, where only processes are wanted.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn tasks(&mut self, program: ProgramKey, tasks: &mut Vec<i32>) -> io::Result<()> {
        tasks.clear();
        let known = self.id_of_key(program).and_then(|id| self.programs.get(id));
        if let Some(container) = known.and_then(|known| known.begun_by.as_deref()) {
            self.list_container(container, tasks)?;
            tasks.sort_unstable();
            return Ok(());
        }
        if self.refresh(false)? {
            self.watcher.set_pending()?;
        }
        let id = self.id_of_key(program);
        let Some((id, known)) = id.and_then(|id| Some((id, self.programs.get(id)?))) else {
            return Ok(());
        };
        if self.has_as_many_threads(known) {
            tasks.extend(&known.threads);
            return Ok(());
        }
        let counts = self.count_threads(id);
        let (id, threads) = (id.clone(), self.list(id, &known.threads)?.threads);
        tasks.extend(&threads);
        if let Some(program) = self.programs.get_mut(&id) {
            (program.threads, program.counts) = (threads, counts);
        }
        Ok(())
    }

    /// Whether a program's processes have as many threads as in a recent list, which is then
    /// assumed to be valid.
    fn has_as_many_threads(&self, program: &KnownProgram) -> bool {
        program.counts.as_ref().is_some_and(|(listed, counts)| {
            listed.elapsed() < LISTED
                && counts.iter().all(|&(pid, count)| self.proc.count_threads(pid) == Some(count))
        })
    }

    /// When a program's threads are counted, and how many each of its processes has; `None` where
    /// that does not reveal whether other threads belong to it.
    fn count_threads(&self, id: &Id) -> Option<(Instant, Vec<(i32, u64)>)> {
        if self.forest.is_some() || !self.proc.own {
            return None;
        }
        let now = Instant::now();
        let of = self.processes_of(id).into_iter();
        let counts = of.map(|(pid, _)| Some((pid, self.proc.count_threads(pid)?)));
        Some((now, counts.collect::<Option<_>>()?))
    }

    /// The CPUs that one of a program's threads may use; none if it is gone. Read from the kernel
    /// once after each look.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn cpus(&mut self, program: ProgramKey) -> io::Result<CpuSet> {
        let Some(id) = self.id_of_key(program).cloned() else { return Ok(CpuSet::new()) };
        if let Some(KnownProgram { cpus: Some(cpus), .. }) = self.programs.get(&id) {
            return Ok(cpus.clone());
        }
        let mut tasks = Vec::new();
        self.tasks(program, &mut tasks)?;
        let allowed = tasks.iter().filter_map(|&task| self.proc.allowed(task));
        let cpus = allowed.fold(CpuSet::new(), |all, cpus| all.union(&cpus));
        if let Some(of) = self.programs.get_mut(&id) {
            of.cpus = Some(cpus.clone());
        }
        Ok(cpus)
    }

    /// The CPUs that a thread may use; `None` if it is gone.
    #[must_use]
    pub fn cpus_of_thread(&self, thread: i32) -> Option<CpuSet> {
        self.proc.allowed(thread)
    }

    /// When a thread started, in clock ticks since boot, which distinguishes it from a later one
    /// with its number; `None` if it is gone.
    #[must_use]
    pub fn thread_started(&self, thread: i32) -> Option<u64> {
        self.proc.stat(thread).ok().flatten().map(|stat| stat.start)
    }

    /// The directory of the cgroup, for `perf_event_open(2)`, if its tasks, with those of all below
    /// it, are exactly the program's: of v2, or of v1's perf_event hierarchy where that is mounted.
    /// As of the last look.
    #[must_use]
    pub fn cgroup(&self, program: ProgramKey) -> Option<&Path> {
        let of: &KnownProgram = self.programs.get(self.id_of_key(program)?)?;
        of.cgroup.as_deref()
    }

    /// The programs that exist now.
    pub(super) fn present(&mut self) -> io::Result<BTreeSet<Id>> {
        let mut present = BTreeSet::new();
        let mut candidates = Vec::new();
        for (tree, matches) in self.matches.iter().enumerate() {
            for ((at, name), of) in matches {
                let quick = of.whole && !self.has_processes_before(*at);
                candidates.push((self.id_of(*at, name), tree, quick.then(|| of.top.clone())));
            }
        }
        for (id, tree, top) in candidates {
            if present.contains(&id) {
                continue;
            }
            let is_populated = top.and_then(|top| self.forest.as_mut()?.populated(tree, &top));
            let known = self.programs.get(&id).map_or(&[][..], |program| &program.threads);
            let there = match is_populated {
                Some(is_populated) => is_populated,
                None => !self.list(&id, known)?.threads.is_empty(),
            };
            if there {
                present.insert(id);
            }
        }
        present.extend(self.place_announced());
        for (pid, owned) in self.table.managed() {
            let id = self.id_of_process(owned);
            if !present.contains(&id) && !self.is_in_cgroup_before(pid, owned.wanted)? {
                present.insert(id);
            }
        }
        Ok(present)
    }

    pub(super) fn id_of(&self, at: usize, name: &str) -> Id {
        (at, if self.wanted[at].each { MatchKey::Cgroup(name.to_owned()) } else { MatchKey::All })
    }

    fn id_of_process(&self, owned: &ManagedProcess) -> Id {
        let at = owned.wanted;
        (at, if self.wanted[at].each { MatchKey::Process(owned.root) } else { MatchKey::All })
    }

    /// The processes of a program, by number.
    fn processes_of(&self, (at, of): &Id) -> Vec<(i32, &ManagedProcess)> {
        match of {
            MatchKey::All => self.table.managed().filter(|(_, of)| of.wanted == *at).collect(),
            MatchKey::Process(root) => self.table.family(*at, *root).collect(),
            MatchKey::Cgroup(_) => Vec::new(),
        }
    }

    /// Whether an earlier entry of the list wants processes, which may be in the cgroups of this
    /// one.
    pub(super) fn has_processes_before(&self, at: usize) -> bool {
        let mut before = self.index.others().take_while(|other| *other < at);
        before.any(|other| !self.wanted[other].selector.selects_cgroups())
    }

    fn is_in_cgroup_before(&self, pid: i32, at: usize) -> io::Result<bool> {
        if !self.wanted[..at].iter().any(|wanted| wanted.selector.selects_cgroups()) {
            return Ok(false);
        }
        let (Some(forest), Some(text)) = (&self.forest, self.proc.cgroups(pid)?) else {
            return Ok(false);
        };
        Ok(forest.trees.iter().zip(&self.matches).any(|(tree, matches)| {
            let Some(path) = tree.hierarchy.path_of(&text) else { return false };
            matches.iter().any(|((before, _), of)| {
                *before < at && of.all.binary_search_by(|one| one.as_str().cmp(&path)).is_ok()
            })
        }))
    }

    /// Lists the tasks of a program; those that are `known`, ascending, are known not to be the
    /// kernel's.
    pub(super) fn list(&self, id: &Id, known: &[i32]) -> io::Result<TaskList<'_>> {
        let mut listed = TaskList::default();
        let mut others = HashSet::new();
        if self.wanted[id.0].selector.selects_cgroups() {
            self.list_cgroups(Some(&id.1), id.0..=id.0, &mut listed)?;
            self.list_announced(id, &mut listed.threads)?;
            listed.threads.retain(|thread| {
                known.binary_search(thread).is_ok()
                    || !matches!(self.proc.stat(*thread), Ok(Some(stat)) if stat.is_kernel_thread())
            });
            if self.has_processes_before(id.0) {
                others = self.of_processes(|owned| owned.wanted < id.0)?;
            }
        } else {
            for (pid, owned) in self.processes_of(id) {
                self.table.threads(&self.proc, pid, owned, &mut listed.threads)?;
            }
            let mut before = TaskList::default();
            if let Some(last) = id.0.checked_sub(1) {
                self.list_cgroups(None, 0..=last, &mut before)?;
            }
            others.extend(before.threads);
        }
        if !others.is_empty() {
            listed.threads.retain(|thread| !others.contains(thread));
        }
        listed.threads.sort_unstable();
        listed.threads.dedup();
        Ok(listed)
    }

    /// Adds the tasks of the matches of some entries, or of one match, each in the first tree in
    /// which it has any.
    fn list_cgroups<'a>(
        &'a self,
        of: Option<&MatchKey>,
        entries: RangeInclusive<usize>,
        listed: &mut TaskList<'a>,
    ) -> io::Result<()> {
        let (first, after) = (*entries.start(), entries.end() + 1);
        let range = match of {
            Some(MatchKey::Cgroup(name)) => {
                let one = (first, name.clone());
                (Bound::Included(one.clone()), Bound::Included(one))
            }
            _ => {
                let (first, after) = ((first, String::new()), (after, String::new()));
                (Bound::Included(first), Bound::Excluded(after))
            }
        };
        let Some(forest) = &self.forest else { return Ok(()) };
        let mut found = HashSet::new();
        for (tree, (of, matches)) in forest.trees.iter().zip(&self.matches).enumerate() {
            for ((at, name), cgroups) in matches.range(range.clone()) {
                let before = listed.threads.len();
                if found.contains(&(*at, name)) {
                    continue;
                }
                for path in &cgroups.all {
                    of.hierarchy.threads(path, &self.proc, &mut listed.threads)?;
                }
                if listed.threads.len() > before {
                    found.insert((*at, name));
                    listed.matches.push((tree, cgroups));
                }
            }
        }
        Ok(())
    }

    fn of_processes(&self, which: impl Fn(&ManagedProcess) -> bool) -> io::Result<HashSet<i32>> {
        let mut threads = Vec::new();
        for (pid, owned) in self.table.managed().filter(|(_, owned)| which(owned)) {
            self.table.threads(&self.proc, pid, owned, &mut threads)?;
        }
        Ok(threads.into_iter().collect())
    }
}
