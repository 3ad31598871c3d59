//! Which tasks are whose.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_resctrl::language::CpuSet;

use super::dirs::Match;
use super::known::{Id, Of, Program};
use super::table::Owned;
use super::{ProgramKey, Programs};

/// How long a list of threads is relied on while there are as many.
const LISTED: Duration = Duration::from_secs(1);

/// The tasks of a program.
#[derive(Debug, Default)]
pub(super) struct Listed<'a> {
    /// Ascending.
    pub(super) threads: Vec<i32>,
    /// In which cgroups they are, and of which tree, if it is a program of cgroups.
    pub(super) of: Vec<(usize, &'a Match)>,
}

impl Programs {
    /// Lists a program's threads as they are now, ascending; none if it is gone. A thread that is being made meanwhile is in the
    /// next list. One that was made in the place of another that ended may be missing for five seconds, where only processes are wanted.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn tasks(&mut self, program: ProgramKey, tasks: &mut Vec<i32>) -> io::Result<()> {
        tasks.clear();
        if self.refresh(false)? {
            self.notice.stir()?;
        }
        let Some((id, known)) = self.programs.iter().find(|(_, of)| of.key == program) else {
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

    /// Whether a program's processes have as many threads as when they were listed, not long ago: then those are taken to be the
    /// same.
    fn has_as_many_threads(&self, program: &Program) -> bool {
        program.counts.as_ref().is_some_and(|(listed, counts)| {
            let same = |&(pid, count): &(i32, u64)| self.proc.count_threads(pid) == Some(count);
            listed.elapsed() < LISTED && counts.iter().all(same)
        })
    }

    /// When a program's threads are counted, and how many each of its processes has; `None` where that doesn't tell whether others
    /// are its.
    fn count_threads(&self, id: &Id) -> Option<(Instant, Vec<(i32, u64)>)> {
        if self.forest.is_some() || !self.proc.own {
            return None;
        }
        let now = Instant::now();
        let of = self.table.owned().filter(|(_, owned)| self.id_of_process(owned) == *id);
        let count = |(pid, _)| Some((pid, self.proc.count_threads(pid)?));
        Some((now, of.map(count).collect::<Option<_>>()?))
    }

    /// The CPUs that one of a program's threads may use; none if it is gone. Asked of the kernel once after each look.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn cpus(&mut self, program: ProgramKey) -> io::Result<CpuSet> {
        let of = |programs: &Self| {
            programs.programs.values().find(|of| of.key == program).map(|of| of.cpus.clone())
        };
        match of(self) {
            None => return Ok(CpuSet::new()),
            Some(Some(cpus)) => return Ok(cpus),
            Some(None) => {}
        }
        let mut tasks = Vec::new();
        self.tasks(program, &mut tasks)?;
        let allowed = tasks.iter().filter_map(|&task| self.proc.allowed(task));
        let cpus = allowed.fold(CpuSet::new(), |all, cpus| all.union(&cpus));
        if let Some(of) = self.programs.values_mut().find(|of| of.key == program) {
            of.cpus = Some(cpus.clone());
        }
        Ok(cpus)
    }

    /// The CPUs that a thread may use; `None` if it is gone.
    #[must_use]
    pub fn cpus_of_thread(&self, thread: i32) -> Option<CpuSet> {
        self.proc.allowed(thread)
    }

    /// When a thread started, in clock ticks since boot, which tells it from a later one of its number; `None` if it is gone.
    #[must_use]
    pub fn thread_started(&self, thread: i32) -> Option<u64> {
        self.proc.stat(thread).ok().flatten().map(|stat| stat.start)
    }

    /// The directory of the cgroup whose tasks, with those of all below it, are the program's, all and no others, for
    /// `perf_event_open(2)`: of v2, or of v1's perf_event hierarchy where that is mounted. As of the last look.
    #[must_use]
    pub fn cgroup(&self, program: ProgramKey) -> Option<&Path> {
        let of: &Program = self.programs.values().find(|of| of.key == program)?;
        of.cgroup.as_deref()
    }

    /// Which programs there are now.
    pub(super) fn present(&mut self) -> io::Result<BTreeSet<Id>> {
        let mut present = BTreeSet::new();
        let mut asked = Vec::new();
        for (tree, matches) in self.matches.iter().enumerate() {
            for ((at, name), of) in matches {
                let quick = of.whole && !self.has_processes_before(*at);
                asked.push((self.id_of(*at, name), tree, quick.then(|| of.top.clone())));
            }
        }
        for (id, tree, top) in asked {
            if present.contains(&id) {
                continue;
            }
            let told = top.and_then(|top| self.forest.as_mut()?.populated(tree, &top));
            let known = self.programs.get(&id).map_or(&[][..], |program| &program.threads);
            let there = match told {
                Some(told) => told,
                None => !self.list(&id, known)?.threads.is_empty(),
            };
            if there {
                present.insert(id);
            }
        }
        for (pid, owned) in self.table.owned() {
            let id = self.id_of_process(owned);
            if !present.contains(&id) && !self.is_in_cgroup_before(pid, owned.wanted) {
                present.insert(id);
            }
        }
        Ok(present)
    }

    pub(super) fn id_of(&self, at: usize, name: &str) -> Id {
        (at, if self.wanted[at].each { Of::Cgroup(name.to_owned()) } else { Of::All })
    }

    fn id_of_process(&self, owned: &Owned) -> Id {
        let at = owned.wanted;
        (at, if self.wanted[at].each { Of::Process(owned.root) } else { Of::All })
    }

    /// Whether processes are wanted as such earlier in the list, which may be in the cgroups of this one.
    pub(super) fn has_processes_before(&self, at: usize) -> bool {
        self.wanted[..at].iter().any(|wanted| !wanted.selector.of_cgroups())
    }

    fn is_in_cgroup_before(&self, pid: i32, at: usize) -> bool {
        if !self.wanted[..at].iter().any(|wanted| wanted.selector.of_cgroups()) {
            return false;
        }
        let (Some(forest), Some(text)) = (&self.forest, self.proc.cgroups(pid)) else {
            return false;
        };
        forest.trees.iter().zip(&self.matches).any(|(tree, matches)| {
            let path = tree.hierarchy.of_process(&text);
            let has = |of: &Match| {
                path.is_some_and(|path| {
                    of.all.binary_search_by(|one| one.as_str().cmp(path)).is_ok()
                })
            };
            matches.iter().any(|((before, _), of)| *before < at && has(of))
        })
    }

    /// Lists the tasks of a program; of those that are `known`, ascending, it is known that they are not the kernel's.
    pub(super) fn list(&self, id: &Id, known: &[i32]) -> io::Result<Listed<'_>> {
        let mut listed = Listed::default();
        let mut others = HashSet::new();
        if self.wanted[id.0].selector.of_cgroups() {
            self.list_cgroups(|at, name| self.id_of(at, name) == *id, &mut listed)?;
            listed.threads.retain(|thread| {
                known.binary_search(thread).is_ok()
                    || !matches!(self.proc.stat(*thread), Ok(Some(stat)) if stat.of_kernel())
            });
            if self.has_processes_before(id.0) {
                others = self.of_processes(|owned| owned.wanted < id.0)?;
            }
        } else {
            listed.threads.extend(self.of_processes(|owned| self.id_of_process(owned) == *id)?);
            let mut before = Listed::default();
            self.list_cgroups(|at, _| at < id.0, &mut before)?;
            others.extend(before.threads);
        }
        if !others.is_empty() {
            listed.threads.retain(|thread| !others.contains(thread));
        }
        listed.threads.sort_unstable();
        listed.threads.dedup();
        Ok(listed)
    }

    /// Adds the tasks of some matches, each in the first tree in which it has any.
    fn list_cgroups<'a>(
        &'a self,
        which: impl Fn(usize, &str) -> bool,
        listed: &mut Listed<'a>,
    ) -> io::Result<()> {
        let Some(forest) = &self.forest else { return Ok(()) };
        let mut found = HashSet::new();
        for (tree, (of, matches)) in forest.trees.iter().zip(&self.matches).enumerate() {
            for ((at, name), cgroups) in matches.iter().filter(|((at, name), _)| which(*at, name)) {
                let before = listed.threads.len();
                if found.contains(&(*at, name)) {
                    continue;
                }
                for path in &cgroups.all {
                    of.hierarchy.threads(path, &self.proc, &mut listed.threads)?;
                }
                if listed.threads.len() > before {
                    found.insert((*at, name));
                    listed.of.push((tree, cgroups));
                }
            }
        }
        Ok(())
    }

    fn of_processes(&self, which: impl Fn(&Owned) -> bool) -> io::Result<HashSet<i32>> {
        let mut threads = Vec::new();
        for (pid, owned) in self.table.owned().filter(|(_, owned)| which(owned)) {
            self.table.threads(&self.proc, pid, owned, &mut threads)?;
        }
        Ok(threads.into_iter().collect())
    }
}
