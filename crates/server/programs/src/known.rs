//! The programs on the host.

use std::cell::OnceCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

use fairways_core::CpuSet;

use super::connector::Connector;
use super::dirs::{Matches, WantedIndex};
use super::pods::Pods;
use super::process::Proc;
use super::table::{ProcessTable, Root};
use super::tree::Forest;
use super::watcher::{Exit, Watcher};
use super::{Change, ProgramKey, Roots, Selector, Wanted};

/// The match of an entry that a program is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchKey {
    All,
    Cgroup(String),
    Process(Root),
}

pub(super) type Id = (usize, MatchKey);

#[derive(Debug, Default)]
pub(super) struct KnownProgram {
    pub(super) key: ProgramKey,
    /// Its threads when they were last listed, ascending.
    pub(super) threads: Vec<i32>,
    /// The CPUs that those may use, once they were requested.
    pub(super) cpus: Option<CpuSet>,
    /// When those threads were listed, and how many each of its processes had, if only processes
    /// are selected and none came or went since.
    pub(super) counts: Option<(Instant, Vec<(i32, u64)>)>,
    pub(super) cgroup: Option<PathBuf>,
    /// The announced container that it began with, until the next look: its process is all that is
    /// known of it.
    pub(super) begun_by: Option<String>,
    /// The inode of the program's own cgroup, by tree, where it has one there.
    inodes: BTreeMap<usize, u64>,
    /// Whether the following fields are set.
    attended: bool,
    /// Whether `cgroup.events` reports when it is gone.
    reports_end: bool,
    /// A process of its cgroup whose exit may leave it empty, where the kernel would not report
    /// that otherwise.
    watched: Option<(i32, OwnedFd)>,
}

/// Finds the wanted programs, and reports which came and went.
#[derive(Debug)]
pub struct Programs {
    pub(super) roots: Roots,
    pub(super) proc: Proc,
    pub(super) watcher: Watcher,
    pub(super) wanted: Vec<Wanted>,
    pub(super) index: WantedIndex,
    pub(super) forest: Option<Forest>,
    pub(super) pods: Pods,
    /// One per tree, in the order in which they are searched.
    pub(super) matches: Vec<Matches>,
    /// Whether the list changed since the last look, and the programs whose matches did.
    pub(super) regroup: bool,
    pub(super) regrouped: BTreeSet<Id>,
    /// Whether cgroups came or went since the last look, each of which may have been made again
    /// under its path.
    pub(super) rematched: bool,
    pub(super) table: ProcessTable,
    pub(super) connector: Option<Connector>,
    /// Whether all processes must be looked through.
    pub(super) scan: bool,
    pub(super) programs: BTreeMap<Id, KnownProgram>,
    /// Where programs are by key, from when that is asked for until programs come or go.
    pub(super) ids: OnceCell<BTreeMap<ProgramKey, Id>>,
    /// How many matches of an entry have been programs of their own.
    pub(super) numbers: Vec<u32>,
    next: u64,
    pub(super) has_changed: bool,
    /// Whether processes have changed since programs were last found among them.
    pub(super) is_stale: bool,
    /// Whether a container was announced since the matches were found.
    pub(super) rematches: bool,
    /// Programs that are not wanted any more, until a look has reported it.
    pub(super) unwanted: Vec<ProgramKey>,
}

impl Programs {
    /// Prepares to find `wanted`: what several entries select belongs to the first. No program is
    /// reported before the first [`look`](Self::look).
    ///
    /// # Errors
    /// If cgroups are wanted and no hierarchy is mounted, or the kernel's files can't be read.
    pub fn new(roots: Roots, wanted: Vec<Wanted>) -> io::Result<Self> {
        let mut programs = Self {
            proc: Proc::new(roots.proc.clone()),
            pods: Pods::new(roots.pods.clone()),
            roots,
            watcher: Watcher::new()?,
            wanted: Vec::new(),
            index: WantedIndex::default(),
            forest: None,
            matches: Vec::new(),
            regroup: true,
            regrouped: BTreeSet::new(),
            rematched: true,
            table: ProcessTable::default(),
            connector: None,
            scan: false,
            programs: BTreeMap::new(),
            ids: OnceCell::new(),
            numbers: Vec::new(),
            next: 0,
            unwanted: Vec::new(),
            has_changed: true,
            is_stale: true,
            rematches: false,
        };
        programs.set_wanted(wanted)?;
        Ok(programs)
    }

    /// The entries of the configuration without a program at the last look.
    pub fn unmatched(&self) -> impl Iterator<Item = &Wanted> {
        let unmatched = self
            .wanted
            .iter()
            .enumerate()
            .filter(|(_, wanted)| !matches!(wanted.selector, Selector::Asked(_)))
            .filter(|(number, _)| self.programs.keys().all(|(entry, _)| entry != number));
        unmatched.map(|(_, wanted)| wanted)
    }

    /// Descriptors to wait for: when one becomes readable, [`look`](Self::look) may have something
    /// to report. Not everything is reported by them on every host: look at intervals, too.
    pub fn attention(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.watcher.as_fd()]
    }

    /// Whether the kernel reports every process that comes or goes; otherwise processes are looked
    /// for.
    #[must_use]
    pub const fn has_process_events(&self) -> bool {
        self.connector.is_some()
    }

    /// Whether anything happened since the last call by which programs may have other processes
    /// than before.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Whether a program may have other threads than at the last call: where the kernel reports
    /// all, only if it has reported one.
    pub fn has_other_threads(&mut self) -> bool {
        std::mem::take(&mut self.table.has_threads)
            || self.forest.is_some()
            || self.connector.is_none()
    }

    /// Finds the programs that came and went since the last look.
    ///
    /// # Errors
    /// If a file of the kernel's can't be read; a process or cgroup that goes away meanwhile is no
    /// error.
    pub fn look(&mut self) -> io::Result<Vec<Change>> {
        self.watcher.clear_pending()?;
        self.refresh(true)?;
        if self.are_processes_as_before() {
            self.programs.values_mut().for_each(|program| program.cpus = None);
            return Ok(Vec::new());
        }
        self.ids.take();
        let present = self.present()?;
        let needs_inodes = std::mem::take(&mut self.rematched)
            || present.iter().any(|id| !self.programs.contains_key(id));
        let mut made = if needs_inodes { self.inodes(&present) } else { BTreeMap::new() };
        for (id, made) in &made {
            // A cgroup that was removed and made again under its path since the last look is
            // another program.
            if let Entry::Occupied(program) = self.programs.entry(id.clone()) {
                let before = &program.get().inodes;
                if made.iter().any(|(tree, inode)| before.get(tree).is_some_and(|of| of != inode)) {
                    self.unwanted.push(program.remove().key);
                }
            }
        }
        self.unwanted.sort_unstable();
        let mut changes: Vec<Change> =
            self.unwanted.drain(..).map(|program| Change::Gone { program }).collect();
        self.programs.retain(|id, program| {
            let stays = present.contains(id);
            if !stays {
                changes.push(Change::Gone { program: program.key });
            }
            (program.cpus, program.begun_by) = (None, None);
            stays
        });
        for id in &present {
            if !self.programs.contains_key(id) {
                changes.push(self.arrive(id));
            }
        }
        if needs_inodes {
            for (id, program) in &mut self.programs {
                program.inodes = made.remove(id).unwrap_or_default();
            }
        }
        let mut failed = None;
        for id in &present {
            failed = self.set_up(id).err().or(failed);
        }
        if failed.is_none() {
            self.regroup = false;
            self.regrouped.clear();
        }
        self.is_stale = failed.is_some();
        // What came and went is reported now; what failed, at the next look, which tries it again.
        failed.filter(|_| changes.is_empty()).map_or(Ok(changes), Err)
    }

    /// Where a program is, if it is known.
    pub(super) fn id_of_key(&self, program: ProgramKey) -> Option<&Id> {
        let ids = self.ids.get_or_init(|| {
            self.programs.iter().map(|(id, known)| (known.key, id.clone())).collect()
        });
        ids.get(&program)
    }

    /// Whether only processes are wanted, and programs were found among these very processes.
    fn are_processes_as_before(&self) -> bool {
        !self.is_stale && !self.regroup && self.unwanted.is_empty() && self.forest.is_none()
    }

    /// The inodes of the programs that are a cgroup each, by tree.
    fn inodes(&self, present: &BTreeSet<Id>) -> BTreeMap<Id, BTreeMap<usize, u64>> {
        let mut made: BTreeMap<Id, BTreeMap<usize, u64>> = BTreeMap::new();
        let Some(forest) = &self.forest else { return made };
        for (tree, matches) in self.matches.iter().enumerate() {
            let mut tops: BTreeMap<Id, Vec<&str>> = BTreeMap::new();
            for ((at, name), of) in matches {
                tops.entry(self.id_of(*at, name)).or_default().push(&of.top);
            }
            for (id, tops) in tops {
                if let [top] = tops[..]
                    && present.contains(&id)
                    && let Some(inode) = forest.inode(tree, top)
                {
                    made.entry(id).or_default().insert(tree, inode);
                }
            }
        }
        made
    }

    /// Reads what happened. Returns whether other programs may exist than before.
    pub(super) fn refresh(&mut self, look: bool) -> io::Result<bool> {
        let mut changed = false;
        let (exits, stirred) = self.watcher.poll()?;
        for exit in exits {
            match exit {
                Exit::Process(pid) => self.table.leave(pid),
                Exit::OfCgroup(pid) => {
                    for program in self.programs.values_mut() {
                        program.watched.take_if(|(of, _)| *of == pid);
                    }
                    changed = true;
                }
            }
        }
        if let Some(forest) = self.forest.as_mut().filter(|of| stirred || !of.is_watched()) {
            let refreshed = forest.refresh(look)?;
            changed |= refreshed.dirs || refreshed.populated;
            if refreshed.dirs {
                self.rematch();
            }
        }
        // The kubelet makes a pod's cgroup before its folder.
        let has_pods = look && self.pods.refresh_for(&self.wanted);
        if has_pods || (look && std::mem::take(&mut self.rematches)) {
            changed = true;
            self.rematch();
        }
        if !self.wanted.iter().all(|wanted| wanted.selector.selects_cgroups()) {
            // An event that fails may follow others that were taken in.
            let refreshed = self.refresh_processes(look, stirred);
            self.is_stale |= refreshed.is_err();
            changed |= refreshed?;
        }
        if changed {
            (self.has_changed, self.is_stale) = (true, true);
            self.programs.values_mut().for_each(|program| program.counts = None);
        }
        Ok(changed)
    }

    /// Reads what happened to processes, which the connector reports if it has `stirred`.
    fn refresh_processes(&mut self, look: bool, stirred: bool) -> io::Result<bool> {
        let mut changed = false;
        match &self.connector {
            Some(_) if !stirred => {}
            Some(connector) => {
                let drained = connector.drain().inspect_err(|_| self.scan = true)?;
                self.scan |= drained.lost;
                for event in drained.events {
                    let heard = self.table.handle(event, &self.proc, &self.wanted, &self.watcher);
                    // Events that follow it would be lost.
                    changed |= heard.inspect_err(|_| self.scan = true)?;
                }
            }
            None => self.scan |= look || self.table.is_stale(&self.proc),
        }
        if self.scan {
            changed |= self.table.scan(&self.proc, &self.wanted, &self.watcher)?;
            self.scan = false;
        }
        Ok(changed | self.table.settle_exits(&self.proc)?)
    }

    pub(super) fn arrive(&mut self, id: &Id) -> Change {
        let wanted = id.0;
        let entry = &self.wanted[wanted];
        let name = if id.1 == MatchKey::All {
            entry.name.clone()
        } else {
            self.numbers[wanted] += 1;
            format!("{}.{}", entry.name, self.numbers[wanted])
        };
        let key = ProgramKey(self.next);
        self.next += 1;
        self.programs.insert(id.clone(), KnownProgram { key, ..KnownProgram::default() });
        Change::Arrived { program: key, wanted, name }
    }

    /// Finds the directory by which a program of cgroups is counted, and the way to learn when it
    /// is gone.
    fn set_up(&mut self, id: &Id) -> io::Result<()> {
        let Some(program) =
            self.programs.get(id).filter(|_| self.wanted[id.0].selector.selects_cgroups())
        else {
            return Ok(());
        };
        let fresh = self.regroup || self.regrouped.contains(id) || !program.attended;
        let unwatched = self.proc.own && program.watched.is_none();
        if !fresh && (!unwatched || program.reports_end) {
            return Ok(());
        }
        let listed = self.list(id, &program.threads)?;
        let Some(forest) = &self.forest else { return Ok(()) };
        let reports_end = !listed.matches.is_empty()
            && listed.matches.iter().all(|(tree, of)| forest.reports_population(*tree, &of.top));
        let cgroup = match listed.matches[..] {
            [(tree, of)] if of.whole && of.top != "/" && !self.has_processes_before(id.0) => {
                forest.perf_directory(&self.proc, tree, &of.top, &listed.threads)?
            }
            _ => None,
        };
        let watched_count = self.programs.len();
        let watched = (unwatched && !reports_end).then(|| {
            // A thread that is not its process's first can't be watched like this.
            listed.threads.iter().find_map(|&pid| {
                Some((pid, self.watcher.watch_exit(Exit::OfCgroup(pid), watched_count)?))
            })
        });
        if let Some(program) = self.programs.get_mut(id) {
            (program.cgroup, program.reports_end, program.attended) = (cgroup, reports_end, true);
            if let Some(watched) = watched {
                program.watched = watched;
            }
        }
        Ok(())
    }
}
