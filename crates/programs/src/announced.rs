//! Containers that their runtime announces before their first instruction: their process is known
//! before their cgroup is found by a look.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::dirs::matched;
use super::known::Id;
use super::pods::Pods;
use super::process::Proc;
use super::{ProgramKey, Programs, Selector, Wanted};

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
#[derive(Debug)]
pub(super) struct Alive {
    container: AnnouncedContainer,
    /// The first entry that selects it, and the match that it is.
    entry: Option<(usize, String)>,
    place: FoundAt,
}

/// Where an announced container's process was found.
#[derive(Debug, PartialEq, Eq)]
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
pub(super) struct AnnouncedContainers(BTreeMap<String, Alive>);

impl AnnouncedContainers {
    pub(super) fn get(&self, id: &str) -> Option<&AnnouncedContainer> {
        self.0.get(id).map(|alive| &alive.container)
    }

    /// The namespace and the name of an announced container's pod.
    pub(super) fn pod(&self, uid: &str) -> Option<(&str, &str)> {
        let alive = self.0.values().find(|alive| alive.container.pod_uid == uid)?;
        let (namespace, name) = &alive.container.pod;
        Some((namespace, name))
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
    fn entry(&self, wanted: &[Wanted], pods: &Pods) -> Option<(usize, String)> {
        let Self { id, pod_uid, .. } = self;
        wanted.iter().enumerate().find_map(|(at, wanted)| {
            let name = match &wanted.selector {
                Selector::Container(first) => (first == "*" || id.starts_with(first)).then_some(id),
                Selector::Pod(uid) => {
                    (uid == pod_uid).then_some(if wanted.each { id } else { pod_uid })
                }
                Selector::PodsOf { namespace, name } => {
                    pods.matches(pod_uid, namespace, name).then_some(pod_uid)
                }
                Selector::Asked(program) => {
                    (self.program.as_ref() == Some(program)).then_some(program)
                }
                Selector::Cgroup(_)
                | Selector::Unit(_)
                | Selector::UserUnit(_)
                | Selector::Process { .. }
                | Selector::Pid(_) => None,
            };
            Some((at, name?.clone()))
        })
    }
}

impl Programs {
    /// Finds the entries of all announced containers again, when entries or containers have
    /// changed.
    pub(super) fn rematch_announced(&mut self) {
        let entries: Vec<_> =
            self.announced().map(|of| of.entry(&self.wanted, &self.pods)).collect();
        for (alive, entry) in self.pods.announced.0.values_mut().zip(entries) {
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
        let alive = Alive { container: of, entry: None, place: FoundAt::Nowhere };
        self.pods.announced.0.insert(id.clone(), alive);
        let of = self.pods.announced.get(&id);
        let entry = of.and_then(|of| of.entry(&self.wanted, &self.pods));
        let place = match &entry {
            Some((at, name)) => FoundAt::Program(self.id_of(*at, name)),
            None => FoundAt::Nowhere,
        };
        if let Some(alive) = self.pods.announced.0.get_mut(&id) {
            (alive.entry, alive.place) = (entry, place);
        }
        self.rematches = true;
        self.watcher.set_pending()
    }

    /// Forgets a container that was announced. A process of it that runs on is still found by its
    /// cgroup.
    pub fn retract(&mut self, id: &str) {
        if self.pods.announced.0.remove(id).is_some() {
            (self.has_changed, self.rematches) = (true, true);
        }
    }

    /// Forgets a container that was announced, if its first process has ended.
    pub fn retract_if_ended(&mut self, id: &str) {
        let ended = self.pods.announced.0.get(id).is_some_and(|of| !of.is_alive(&self.proc));
        if ended {
            self.retract(id);
        }
    }

    /// Forgets the announced containers that are not among these.
    pub fn retract_others(&mut self, ids: &[&str]) {
        let before = self.pods.announced.0.len();
        self.pods.announced.0.retain(|id, _| ids.contains(&id.as_str()));
        if self.pods.announced.0.len() != before {
            (self.has_changed, self.rematches) = (true, true);
        }
    }

    /// The containers that were announced and not retracted.
    pub fn announced(&self) -> impl Iterator<Item = &AnnouncedContainer> {
        self.pods.announced.0.values().map(|alive| &alive.container)
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
        let alive = self.pods.announced.0.get(id).filter(|alive| alive.is_alive(&self.proc))?;
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
            let matches = matched(&self.wanted, line.into_iter(), &self.pods);
            let ((at, name), _) =
                matches.iter().find(|(_, of)| of.all.iter().any(|one| one == path))?;
            Some(self.id_of(*at, name))
        })
    }

    /// Finds where the announced containers are that are not in a known cgroup yet, and returns
    /// those that are programs, or parts of one, by their process.
    pub(super) fn place_announced(&mut self) -> Vec<Id> {
        let mut announced = std::mem::take(&mut self.pods.announced.0);
        let mut found = Vec::new();
        for alive in announced.values_mut().filter(|alive| alive.place != FoundAt::Cgroup) {
            alive.place = match &alive.entry {
                Some(_) if !alive.is_alive(&self.proc) => FoundAt::Nowhere,
                Some(_) if self.id_by_cgroup(alive.container.pid).is_some() => FoundAt::Cgroup,
                Some((at, name)) => FoundAt::Program(self.id_of(*at, name)),
                None => FoundAt::Nowhere,
            };
            found.extend(alive.id().cloned());
        }
        self.pods.announced.0 = announced;
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
        for alive in self.pods.announced.0.values().filter(|alive| alive.id() == Some(id)) {
            if alive.is_alive(&self.proc) {
                self.proc.threads(alive.container.pid, threads)?;
            }
        }
        Ok(())
    }
}
