//! Containers that their runtime announces before their first instruction: their process is known
//! before their cgroup is found by a look.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::path::PathBuf;

use super::dirs::{WantedIndex, matched};
use super::known::Id;
use super::pods::Pods;
use super::process::Proc;
use super::{Change, ProgramKey, Programs, Selector, Wanted};

/// The most processes of announced containers that are looked at again in one look: each costs two
/// files of /proc, and a runtime reports most ends itself.
const MOST_LOOKED_AT: usize = 64;

/// A container as its runtime announces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedContainer {
    /// The runtime's id for it, by which its cgroup is named.
    pub id: String,
    /// Its pod's UID.
    pub pod_uid: String,
    /// Its pod's namespace and name.
    pub pod: (String, String),
    /// Its first process.
    pub pid: i32,
    /// When that started, in the kernel's ticks; `None` if it was gone before that could be read.
    pub started: Option<u64>,
    /// The program that its pod's owner makes it part of, if any: a name of
    /// [`Selector::Asked`].
    pub program: Option<String>,
}

/// An announced container.
#[derive(Clone, Debug)]
pub(super) struct Alive {
    container: AnnouncedContainer,
    /// The first entry that selects it, and the match that it is.
    entry: Option<(usize, String)>,
    place: FoundAt,
    /// Whether the next look looks at it, whatever others wait.
    is_new: bool,
}

/// Where an announced container's process was found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FoundAt {
    /// It has ended, or no entry selects it as a container.
    Nowhere,
    /// In a cgroup of an entry, by which everything else of the container is found as well.
    Cgroup,
    /// In no such cgroup yet, so that the process alone is known to be this program's.
    Program(Id),
}

/// Announced containers, by id.
#[derive(Debug, Default)]
pub(super) struct AnnouncedContainers {
    alive: BTreeMap<String, Alive>,
    /// Programs that pods ask for and that have no place.
    without_place: BTreeSet<String>,
    /// The containers of each program that are known by their process, from when they are asked for
    /// until any changes.
    by_program: OnceCell<BTreeMap<Id, Vec<String>>>,
    /// The container that was looked at last.
    looked_at: String,
}

impl AnnouncedContainers {
    /// The program that a container's owner makes it part of, unless that has no place.
    pub(super) fn program(&self, id: &str) -> Option<&str> {
        self.program_of(&self.alive.get(id)?.container)
    }

    fn program_of<'a>(&self, of: &'a AnnouncedContainer) -> Option<&'a str> {
        of.program.as_deref().filter(|program| !self.without_place.contains(*program))
    }

    /// The namespace and the name of an announced container's pod.
    pub(super) fn pod(&self, uid: &str) -> Option<(&str, &str)> {
        let alive = self.alive.values().find(|alive| alive.container.pod_uid == uid)?;
        let (namespace, name) = &alive.container.pod;
        Some((namespace, name))
    }

    /// The containers of a program that are known by their process.
    fn of_program(&self, id: &Id) -> &[String] {
        let by_program = self.by_program.get_or_init(|| {
            let mut by_program: BTreeMap<Id, Vec<String>> = BTreeMap::new();
            for (name, alive) in &self.alive {
                if let Some(id) = alive.id() {
                    by_program.entry(id.clone()).or_default().push(name.clone());
                }
            }
            by_program
        });
        by_program.get(id).map_or(&[], Vec::as_slice)
    }

    /// The containers that are looked at in this look: new ones, and some of those that are known
    /// by their process alone, in turn.
    fn due(&self) -> BTreeSet<String> {
        let after = (Bound::Excluded(self.looked_at.as_str()), Bound::Unbounded);
        let until = (Bound::Unbounded, Bound::Included(self.looked_at.as_str()));
        let in_turn = self.alive.range::<str, _>(after).chain(self.alive.range::<str, _>(until));
        let known = in_turn.filter(|(_, alive)| {
            alive.entry.is_some() && alive.place != FoundAt::Cgroup && !alive.is_new
        });
        let new = self.alive.iter().filter(|(_, alive)| alive.is_new);
        known.take(MOST_LOOKED_AT).chain(new).map(|(id, _)| id.clone()).collect()
    }
}

impl Alive {
    /// Whether its process is still the one that was announced, as far as that can be seen.
    fn is_alive(&self, proc: &Proc) -> bool {
        let Ok(stat) = proc.stat(self.container.pid) else { return true };
        let start = stat.map(|stat| stat.start);
        self.container.started.is_some() && start == self.container.started
    }

    fn id(&self) -> Option<&Id> {
        match &self.place {
            FoundAt::Program(id) => Some(id),
            FoundAt::Nowhere | FoundAt::Cgroup => None,
        }
    }
}

impl AnnouncedContainer {
    /// A container with this first process, which waits: when it started is read now, from
    /// `/proc`.
    #[must_use]
    pub fn new(
        id: String,
        pod_uid: String,
        pod: (String, String),
        pid: i32,
        program: Option<String>,
    ) -> Self {
        let stat = Proc::new(PathBuf::from("/proc")).stat(pid).ok().flatten();
        Self { id, pod_uid, pod, pid, started: stat.map(|stat| stat.start), program }
    }

    /// The first entry that selects it as a container or by its pod, and the match that it is.
    fn entry(
        &self,
        wanted: &[Wanted],
        index: &WantedIndex,
        pods: &Pods,
    ) -> Option<(usize, String)> {
        let Self { id, pod_uid, .. } = self;
        let asked = pods.announced.program_of(self);
        let asked = asked.and_then(|program| Some((index.asked(program)?, program.to_owned())));
        let before = asked.as_ref().map_or(wanted.len(), |(at, _)| *at);
        let mut others = index.others().take_while(|at| *at < before);
        let other = others.find_map(|at| {
            let wanted = &wanted[at];
            let name = match &wanted.selector {
                Selector::Container(first) => (first == "*" || id.starts_with(first)).then_some(id),
                Selector::Pod(uid) => {
                    (uid == pod_uid).then_some(if wanted.each { id } else { pod_uid })
                }
                Selector::PodsOf { namespace, name } => {
                    pods.matches(pod_uid, namespace, name).then_some(pod_uid)
                }
                Selector::Asked(_)
                | Selector::Cgroup(_)
                | Selector::Unit(_)
                | Selector::UserUnit(_)
                | Selector::Process { .. }
                | Selector::Pid(_) => None,
            };
            Some((at, name?.clone()))
        });
        other.or(asked)
    }
}

impl Programs {
    /// Finds the entries of all announced containers again, when entries or containers have
    /// changed.
    pub(super) fn rematch_announced(&mut self) {
        let entries: Vec<_> =
            self.announced().map(|of| of.entry(&self.wanted, &self.index, &self.pods)).collect();
        for (alive, entry) in self.pods.announced.alive.values_mut().zip(entries) {
            alive.is_new |= alive.entry != entry;
            alive.entry = entry;
        }
    }

    /// Adds a container whose process exists, or replaces it. The next [`look`](Self::look) reports
    /// its program, if it is a new one.
    ///
    /// # Errors
    /// If [`attention`](Self::attention) can't be called for.
    pub fn announce(&mut self, of: AnnouncedContainer) -> io::Result<()> {
        let id = of.id.clone();
        let mut alive = Alive { container: of, entry: None, place: FoundAt::Nowhere, is_new: true };
        // The pod's name is known by the container.
        self.pods.announced.alive.insert(id.clone(), alive.clone());
        alive.entry = alive.container.entry(&self.wanted, &self.index, &self.pods);
        if let Some((at, name)) = &alive.entry {
            alive.place = FoundAt::Program(self.id_of(*at, name));
        }
        self.pods.announced.alive.insert(id, alive);
        self.pods.announced.by_program.take();
        self.rematches = true;
        self.watcher.set_pending()
    }

    /// Begins the program of an announced container at once, with the container's process: no look
    /// at anything else is needed. `None` if it has begun already, or if a look must decide.
    pub fn begin_announced(&mut self, id: &str) -> Option<Change> {
        let by = self.entry_of_announced(id)?;
        let alive = self.pods.announced.alive.get(id)?;
        let is_managed = self.table.has(alive.container.pid);
        if alive.id() != Some(&by) || self.programs.contains_key(&by) || is_managed {
            return None;
        }
        let change = self.arrive(&by);
        let key = self.programs.get_mut(&by).map(|program| {
            program.begun_by = Some(id.to_owned());
            program.key
        });
        if let (Some(ids), Some(key)) = (self.ids.get_mut(), key) {
            ids.insert(key, by);
        }
        (self.has_changed, self.is_stale) = (true, true);
        Some(change)
    }

    /// Gives the program that pods ask for under this name a place, or takes it away: without one
    /// its containers are no program's, unless another entry selects them.
    ///
    /// # Errors
    /// As [`announce`](Self::announce).
    pub fn set_place(&mut self, program: &str, has_place: bool) -> io::Result<()> {
        let without = &mut self.pods.announced.without_place;
        let has_changed = match has_place {
            true => without.remove(program),
            false => without.insert(program.to_owned()),
        };
        if has_changed {
            (self.has_changed, self.rematches) = (true, true);
            self.watcher.set_pending()?;
        }
        Ok(())
    }

    /// Forgets a container that was announced. A process of it that runs on is still found by its
    /// cgroup.
    pub fn retract(&mut self, id: &str) {
        if self.pods.announced.alive.remove(id).is_some() {
            self.forgot_announced();
        }
    }

    fn forgot_announced(&mut self) {
        self.pods.announced.by_program.take();
        (self.has_changed, self.rematches) = (true, true);
        // Where it fails, the look is the next one by time.
        let _ = self.watcher.set_pending();
    }

    /// Forgets a container that was announced, if its first process has ended.
    pub fn retract_if_ended(&mut self, id: &str) {
        let ended = self.pods.announced.alive.get(id).is_some_and(|of| !of.is_alive(&self.proc));
        if ended {
            self.retract(id);
        }
    }

    /// Forgets the announced containers that are not among these.
    pub fn retract_others(&mut self, ids: &[&str]) {
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let before = self.pods.announced.alive.len();
        self.pods.announced.alive.retain(|id, _| ids.contains(id.as_str()));
        if self.pods.announced.alive.len() != before {
            self.forgot_announced();
        }
    }

    /// The containers that were announced and not retracted.
    pub fn announced(&self) -> impl Iterator<Item = &AnnouncedContainer> {
        self.pods.announced.alive.values().map(|alive| &alive.container)
    }

    /// The program that an announced container belongs to, if the last look found it. Where the
    /// container's cgroup is not known yet, its path counts as if it were.
    #[must_use]
    pub fn program_of(&self, id: &str) -> Option<ProgramKey> {
        Some(self.programs.get(&self.entry_of_announced(id)?)?.key)
    }

    /// Whether an entry selects an announced container, so that the next look finds its program.
    #[must_use]
    pub fn is_selected(&self, id: &str) -> bool {
        self.entry_of_announced(id).is_some()
    }

    fn entry_of_announced(&self, id: &str) -> Option<Id> {
        let alive = self.pods.announced.alive.get(id).filter(|alive| alive.is_alive(&self.proc))?;
        self.id_by_path(alive.container.pid).or_else(|| alive.id().cloned())
    }

    /// The entry and the match that a process's cgroup belongs to by its path.
    fn id_by_path(&self, pid: i32) -> Option<Id> {
        let (forest, text) = (self.forest.as_ref()?, self.proc.cgroups(pid).ok().flatten()?);
        forest.trees.iter().find_map(|tree| {
            let path = &*tree.hierarchy.path_of(&text)?;
            let slashes = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
            let above = slashes.map(|at| &path[..at]);
            let line: Vec<&str> = std::iter::once("/").chain(above).chain([path]).collect();
            let matches = matched(&self.wanted, &self.index, line.into_iter(), &self.pods);
            let ((at, name), _) =
                matches.iter().find(|(_, of)| of.all.iter().any(|one| one == path))?;
            Some(self.id_of(*at, name))
        })
    }

    /// Finds where the announced containers are that are not in a known cgroup yet, and returns
    /// those that are programs, or parts of one, by their process.
    pub(super) fn place_announced(&mut self) -> Vec<Id> {
        let due = self.pods.announced.due();
        let mut announced = std::mem::take(&mut self.pods.announced.alive);
        let mut moved = Vec::new();
        for id in &due {
            let Some(alive) = announced.get_mut(id) else { continue };
            if !std::mem::take(&mut alive.is_new) {
                self.pods.announced.looked_at.clone_from(id);
            }
            let place = match &alive.entry {
                None => FoundAt::Nowhere,
                Some(_) if alive.place == FoundAt::Cgroup => FoundAt::Cgroup,
                Some(_) if !alive.is_alive(&self.proc) => FoundAt::Nowhere,
                Some(_) if self.id_by_cgroup(alive.container.pid).is_some() => FoundAt::Cgroup,
                Some((at, name)) => FoundAt::Program(self.id_of(*at, name)),
            };
            if place != alive.place {
                moved.extend(alive.id().cloned());
                alive.place = place;
            }
        }
        let found = announced.values().filter_map(|alive| alive.id().cloned()).collect();
        self.pods.announced.alive = announced;
        if !moved.is_empty() {
            self.regrouped.extend(moved);
            self.pods.announced.by_program.take();
        }
        found
    }

    /// The entry and the match that a process's cgroup belongs to.
    fn id_by_cgroup(&self, pid: i32) -> Option<Id> {
        let (forest, text) = (self.forest.as_ref()?, self.proc.cgroups(pid).ok().flatten()?);
        forest.trees.iter().zip(&self.matches).find_map(|(tree, matches)| {
            let path = &*tree.hierarchy.path_of(&text)?;
            let ((at, name), _) = matches
                .iter()
                .find(|(_, of)| of.all.binary_search_by(|one| one.as_str().cmp(path)).is_ok())?;
            Some(self.id_of(*at, name))
        })
    }

    /// Adds the threads of the announced containers of a program that are in no known cgroup.
    pub(super) fn list_announced(&self, id: &Id, threads: &mut Vec<i32>) -> io::Result<()> {
        for container in self.pods.announced.of_program(id) {
            self.list_container(container, threads)?;
        }
        Ok(())
    }

    /// Adds the threads of an announced container's first process.
    pub(super) fn list_container(&self, id: &str, threads: &mut Vec<i32>) -> io::Result<()> {
        match self.pods.announced.alive.get(id).filter(|alive| alive.is_alive(&self.proc)) {
            Some(alive) => self.proc.threads(alive.container.pid, threads),
            None => Ok(()),
        }
    }
}
