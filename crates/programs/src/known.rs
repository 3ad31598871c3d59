//! The programs that are there.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

use fairways_resctrl::language::CpuSet;

use super::connector::Connector;
use super::dirs::{Match, Matches, matched};
use super::notice::{Exit, Notice};
use super::pods::Pods;
use super::process::Proc;
use super::table::{Root, Table};
use super::tree::Forest;
use super::{Change, ProgramKey, Roots, Wanted};

/// Which match of an entry a program is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    All,
    Cgroup(String),
    Process(Root),
}

pub(super) type Id = (usize, Of);

#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) key: ProgramKey,
    /// Its threads when they were last listed, ascending.
    pub(super) threads: Vec<i32>,
    /// The CPUs that those may use, once somebody asked.
    pub(super) cpus: Option<CpuSet>,
    /// When those threads were listed, and how many each of its processes had, if only processes are wanted and none came or
    /// went since.
    pub(super) counts: Option<(Instant, Vec<(i32, u64)>)>,
    pub(super) cgroup: Option<PathBuf>,
    /// The inode of the cgroup that it is, by tree, where it is one there.
    made: BTreeMap<usize, u64>,
    /// Whether what follows is known.
    attended: bool,
    /// Whether `cgroup.events` tells when it is gone.
    told: bool,
    /// A process of its cgroup whose exit may leave it empty, where the kernel would not tell otherwise.
    watched: Option<(i32, OwnedFd)>,
}

/// Finds those who are wanted, and says who came and went.
#[derive(Debug)]
pub struct Programs {
    roots: Roots,
    pub(super) proc: Proc,
    pub(super) notice: Notice,
    pub(super) wanted: Vec<Wanted>,
    pub(super) forest: Option<Forest>,
    pods: Pods,
    /// A tree each, in the order in which they are searched.
    pub(super) matches: Vec<Matches>,
    /// Whether those changed since the last look.
    regroup: bool,
    pub(super) table: Table,
    connector: Option<Connector>,
    /// Whether processes must all be looked through.
    scan: bool,
    pub(super) programs: BTreeMap<Id, Program>,
    /// How many matches of an entry have been programs of their own.
    numbers: Vec<u32>,
    next: u64,
    has_changed: bool,
    /// Those that are not wanted any more, until a look has said so.
    unwanted: Vec<ProgramKey>,
}

impl Programs {
    /// Makes ready to find `wanted`, in the order of which the first has what several select. Nothing has arrived before the
    /// first [`look`](Self::look).
    ///
    /// # Errors
    /// If cgroups are wanted and no hierarchy is mounted, or the kernel's files can't be read.
    pub fn new(roots: Roots, wanted: Vec<Wanted>) -> io::Result<Self> {
        let mut programs = Self {
            proc: Proc::new(roots.proc.clone()),
            pods: Pods::new(roots.pods.clone()),
            roots,
            notice: Notice::new()?,
            wanted: Vec::new(),
            forest: None,
            matches: Vec::new(),
            regroup: true,
            table: Table::default(),
            connector: None,
            scan: false,
            programs: BTreeMap::new(),
            numbers: Vec::new(),
            next: 0,
            unwanted: Vec::new(),
            has_changed: true,
        };
        programs.set_wanted(wanted)?;
        Ok(programs)
    }

    /// The entries that nothing was found of at the last look.
    pub fn unmatched(&self) -> impl Iterator<Item = &Wanted> {
        let is_there = |number: usize| self.programs.keys().any(|(of, _)| *of == number);
        let missing = self.wanted.iter().enumerate().filter(move |(number, _)| !is_there(*number));
        missing.map(|(_, wanted)| wanted)
    }

    /// Wants others from now on. The programs of an entry that stays, by name, selector and `each`, keep their keys; the next
    /// look says what changed, by numbers of the new list.
    ///
    /// # Errors
    /// As [`new`](Self::new); the list is then as before.
    pub fn set_wanted(&mut self, wanted: Vec<Wanted>) -> io::Result<()> {
        if self.forest.is_none() && wanted.iter().any(|wanted| wanted.selector.of_cgroups()) {
            let forest = Forest::open(&self.proc, &self.roots.cgroup)?;
            if let Some(fd) = forest.attention() {
                self.notice.watch(fd)?;
            }
            tracing::info!(
                hierarchies = forest.trees.len(),
                watched = forest.is_watched(),
                "cgroups are searched"
            );
            self.forest = Some(forest);
        }
        // What can fail is done before the list is another.
        self.notice.stir()?;
        self.pods.refresh_for(&wanted);
        if self.forest.is_some() && !wanted.iter().any(|wanted| wanted.selector.of_cgroups()) {
            self.forest = None;
        }
        if wanted.iter().all(|wanted| wanted.selector.of_cgroups()) {
            self.connector = None;
        } else if self.connector.is_none() && self.proc.own {
            self.connector = self.connect();
        }
        let now: Vec<Option<usize>> =
            self.wanted.iter().map(|old| wanted.iter().position(|new| new == old)).collect();
        self.table.set_wanted(&wanted, &now);
        let mut numbers = vec![0; wanted.len()];
        for (&number, now) in self.numbers.iter().zip(&now) {
            if let Some(now) = *now {
                numbers[now] = number;
            }
        }
        for ((old, of), program) in std::mem::take(&mut self.programs) {
            match now.get(old) {
                Some(&Some(now)) => {
                    self.programs.insert((now, of), program);
                }
                _ => self.unwanted.push(program.key),
            }
        }
        (self.wanted, self.numbers, self.scan) = (wanted, numbers, true);
        self.has_changed = true;
        self.rematch();
        Ok(())
    }

    fn connect(&self) -> Option<Connector> {
        let opened = Connector::open().and_then(|connector| {
            self.notice.watch(connector.as_fd())?;
            Ok(connector)
        });
        match opened {
            Ok(connector) => {
                tracing::info!("processes are told of by the proc connector");
                Some(connector)
            }
            Err(error) => {
                tracing::info!(%error, "processes are looked for: the proc connector is refused");
                None
            }
        }
    }

    fn rematch(&mut self) {
        self.regroup = true;
        self.matches = match &self.forest {
            Some(forest) => (0..forest.trees.len())
                .map(|tree| matched(&self.wanted, forest.paths(tree), &self.pods))
                .collect(),
            None => Vec::new(),
        };
    }

    /// What to wait on: when one is readable, [`look`](Self::look) has something to say, or had. Not everything is told by them on
    /// every host: look at intervals too.
    pub fn attention(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.notice.as_fd()]
    }

    /// Whether the kernel tells of every process that comes or goes; else those wanted as such are looked for.
    #[must_use]
    pub const fn is_told_of_processes(&self) -> bool {
        self.connector.is_some()
    }

    /// Whether anything happened since this was last asked, by which programs may have other processes than before.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Whether a program may have other threads than when this was last asked: where the kernel tells of all, only if it has told
    /// of one.
    pub fn has_other_threads(&mut self) -> bool {
        std::mem::take(&mut self.table.has_threads)
            || self.forest.is_some()
            || self.connector.is_none()
    }

    /// Finds who came and who went since the last look.
    ///
    /// # Errors
    /// If a file of the kernel's can't be read; that a process or cgroup goes away meanwhile is none.
    pub fn look(&mut self) -> io::Result<Vec<Change>> {
        self.notice.calm()?;
        self.refresh(true)?;
        let present = self.present()?;
        let is_new = |id: &Id| !self.programs.contains_key(id);
        let is_asked = self.regroup || present.iter().any(is_new);
        let mut made = if is_asked { self.made(&present) } else { BTreeMap::new() };
        for (id, made) in &made {
            // One that was removed and made again under its path since the last look is another.
            let is_another = |of: &Program| {
                made.iter().any(|(tree, inode)| of.made.get(tree).is_some_and(|of| of != inode))
            };
            if let Entry::Occupied(of) = self.programs.entry(id.clone())
                && is_another(of.get())
            {
                self.unwanted.push(of.remove().key);
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
            program.cpus = None;
            stays
        });
        for id in &present {
            if !self.programs.contains_key(id) {
                changes.push(self.arrive(id));
            }
        }
        if is_asked {
            for (id, program) in &mut self.programs {
                program.made = made.remove(id).unwrap_or_default();
            }
        }
        let mut failed = None;
        for id in &present {
            failed = self.attend(id).err().or(failed);
        }
        self.regroup &= failed.is_some();
        // Who came and went is told now, and what failed at the next look, which tries it again.
        failed.filter(|_| changes.is_empty()).map_or(Ok(changes), Err)
    }

    /// The inodes of those that are a cgroup each, by tree.
    fn made(&self, present: &BTreeSet<Id>) -> BTreeMap<Id, BTreeMap<usize, u64>> {
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

    /// Takes in what happened; whether who is there may have changed.
    pub(super) fn refresh(&mut self, look: bool) -> io::Result<bool> {
        let mut changed = false;
        let (exits, stirred) = self.notice.news()?;
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
        if look && self.pods.refresh_for(&self.wanted) {
            changed = true;
            self.rematch();
        }
        if !self.wanted.iter().all(|wanted| wanted.selector.of_cgroups()) {
            changed |= self.refresh_processes(look, stirred)?;
        }
        if changed {
            self.has_changed = true;
            self.programs.values_mut().for_each(|program| program.counts = None);
        }
        Ok(changed)
    }

    /// Takes in what happened to processes, which the connector tells if it has `stirred`.
    fn refresh_processes(&mut self, look: bool, stirred: bool) -> io::Result<bool> {
        let mut changed = false;
        match &self.connector {
            Some(_) if !stirred => {}
            Some(connector) => {
                let drained = connector.drain().inspect_err(|_| self.scan = true)?;
                self.scan |= drained.lost;
                for event in drained.events {
                    let heard = self.table.hear(event, &self.proc, &self.wanted, &self.notice);
                    // What follows it would be lost.
                    changed |= heard.inspect_err(|_| self.scan = true)?;
                }
            }
            None => self.scan |= look || self.table.is_stale(&self.proc),
        }
        if self.scan {
            changed |= self.table.scan(&self.proc, &self.wanted, &self.notice)?;
            self.scan = false;
        }
        Ok(changed | self.table.settle_exits(&self.proc)?)
    }

    fn arrive(&mut self, id: &Id) -> Change {
        let wanted = id.0;
        let entry = &self.wanted[wanted];
        let name = if id.1 == Of::All {
            entry.name.clone()
        } else {
            self.numbers[wanted] += 1;
            format!("{}.{}", entry.name, self.numbers[wanted])
        };
        let key = ProgramKey(self.next);
        self.next += 1;
        self.programs.insert(id.clone(), Program { key, ..Program::default() });
        Change::Arrived { program: key, wanted, name }
    }

    /// Finds by which directory a program of cgroups is counted, and what tells when it is gone.
    fn attend(&mut self, id: &Id) -> io::Result<()> {
        let Some(program) =
            self.programs.get(id).filter(|_| self.wanted[id.0].selector.of_cgroups())
        else {
            return Ok(());
        };
        let fresh = self.regroup || !program.attended;
        let unwatched = self.proc.own && program.watched.is_none();
        if !fresh && (!unwatched || program.told) {
            return Ok(());
        }
        let listed = self.list(id, &program.threads)?;
        let Some(forest) = &self.forest else { return Ok(()) };
        let told = !listed.of.is_empty()
            && listed.of.iter().all(|(tree, of)| forest.is_told(*tree, &of.top));
        let alone = |of: &Match| of.whole && of.top != "/" && !self.has_processes_before(id.0);
        let cgroup = match listed.of[..] {
            [(tree, of)] if alone(of) => {
                forest.perf_directory(&self.proc, tree, &of.top, &listed.threads)?
            }
            _ => None,
        };
        let held = self.programs.len();
        let watched = (unwatched && !told).then(|| {
            // Threads that are no process's first can't be held so.
            listed
                .threads
                .iter()
                .find_map(|&pid| Some((pid, self.notice.exit(Exit::OfCgroup(pid), held)?)))
        });
        if let Some(program) = self.programs.get_mut(id) {
            (program.cgroup, program.told, program.attended) = (cgroup, told, true);
            if let Some(watched) = watched {
                program.watched = watched;
            }
        }
        Ok(())
    }
}
