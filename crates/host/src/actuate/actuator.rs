//! The client itself.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::AppId;
use fairways_resctrl::language::{Monitoring, Reading};
use rustix::io::Errno;

use super::adopt::sum;
use super::applied::Applied;
use super::changes::Changes;
use super::classes::Class;
use super::domain::Cap;
use super::domain::{Domain, Offers};
use super::error::{Error, OpenError};
use super::ledger::State;
use super::lock::{Kept, Lock};
use super::program::Program;
use super::put_back::put_back;
use super::recover::{is_mounted_anywhere, recover};
use super::refine::Plan;
use super::restored::{Restored, Thing};
use super::settings::Settings;
use super::survey::Survey;
use super::tally::Errors;
use super::topology::Topology;
use super::tree::Tree;

/// A client of one mounted resctrl, which it alone manages as Fairways.
///
/// [`close`](Self::close) puts everything back. Where it is dropped without, all stays as it is until the next
/// [`open`](Self::open), or [`restore`](super::restore()).
#[derive(Debug)]
pub struct Actuator {
    pub(super) settings: Settings,
    pub(super) tree: Tree,
    pub(super) state: State,
    pub(super) survey: Survey,
    pub(super) topology: Topology,
    pub(super) offers: Offers,
    /// Where fewer classes are to be had than are counted.
    pub(super) cap: Option<Cap>,
    pub(super) domains: Vec<Domain>,
    pub(super) classes: Vec<Class>,
    /// The root's group, as far as others are confined in it.
    pub(super) root: Class,
    pub(super) programs: BTreeMap<AppId, Program>,
    /// The plan in force, by domain.
    pub(super) plans: BTreeMap<u32, Plan>,
    /// How many times two classes of these plans were made one, for there are too few.
    pub(super) merged: usize,
    /// What the last plans would come to, in a dry run.
    pub(super) foreseen: Applied,
    /// What was not told yet by [`look`](Self::look).
    pub(super) pending: Changes,
    /// Whether it was said that counts are lost where groups can't be renamed.
    pub(super) told_of_loss: bool,
    /// `st_ino` of monitoring groups of others that the kernel did not let be adopted.
    pub(super) unmovable: BTreeSet<u64>,
    /// What could not be done.
    pub(super) errors: Errors,
}

impl Actuator {
    /// Takes the state directory, restores what a fairways that was killed has left, and finds out what there is. Nothing else is
    /// changed.
    ///
    /// # Errors
    /// If this host has no resctrl with an L3 to share out; if another fairways, or other managers, have it; if this
    /// user may not.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let tree = Tree::open(&settings.root).map_err(|error| not_mounted(&settings, error))?;
        // Where nothing is mounted, sysfs has an empty directory.
        tree.file("info").map_err(|error| not_mounted(&settings, error))?;
        let state = if settings.dry_run {
            State::dry()
        } else {
            let (mut state, found) = State::open(&settings.state)?;
            let mut restored = recover(&tree, &mut state, found.ledger, &settings)?;
            restored.failed.extend(found.damaged);
            for line in restored.to_string().lines() {
                tracing::warn!(target: "fairways::actuate", "from before: {line}");
            }
            state
        };
        let survey =
            Survey::read(&tree, None, &|_| false).map_err(|error| not_mounted(&settings, error))?;
        let Some(survey) = survey else {
            let root = settings.root.display();
            return Err(OpenError::NotSupported(format!(
                "{root}/info: expected L3: ways of this host's last-level cache can't be shared out (Intel CAT, AMD QoS \
                 or Arm MPAM; \"rdt=l3cat\" on the kernel's command line where it is left out)"
            )));
        };
        let offers = Offers::find(&survey, &settings, None)?;
        let mut topology = Topology::default();
        topology.refresh(&settings.sysfs);
        let domains = offers.domains(&survey, &tree, &topology);
        Ok(Self {
            settings,
            tree,
            state,
            survey,
            topology,
            offers,
            cap: None,
            domains,
            classes: Vec::new(),
            root: Class::default(),
            programs: BTreeMap::new(),
            plans: BTreeMap::new(),
            merged: 0,
            foreseen: Applied::default(),
            pending: Changes::default(),
            told_of_loss: false,
            unmovable: BTreeSet::new(),
            errors: Errors::default(),
        })
    }

    /// The domains on line that have something to offer, ascending.
    #[must_use]
    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    /// What this host can monitor.
    #[must_use]
    pub fn monitoring(&self) -> Option<&Monitoring> {
        self.survey.monitoring.as_ref()
    }

    /// The bytes of lines that a program holds in a domain (`llc_occupancy`). `Unassigned`: it is not monitored, or this host counts no
    /// such thing; `Unavailable`: not now; `Error`: it can't be read.
    pub fn occupancy(&mut self, app: AppId, domain: u32) -> Reading {
        self.event(app, "llc_occupancy", |program, tree| {
            let Program { name, class, events, .. } = program;
            let own = events.occupancy(tree, || Program::monitor_in(class, name), domain);
            sum(0, [own, program.adopted_occupancy(tree, domain)].into_iter())
        })
    }

    /// The bytes that a program has moved from and to memory through a domain since it was first monitored
    /// (`mbm_total_bytes`). They never get fewer, though some may be missing where a group had to be made anew. What
    /// is missing is told as by [`occupancy`](Self::occupancy).
    pub fn memory_bytes(&mut self, app: AppId, domain: u32) -> Reading {
        self.event(app, "mbm_total_bytes", |program, tree| {
            let Program { name, class, events, .. } = program;
            let own = events.memory(tree, || Program::monitor_in(class, name), domain);
            sum(0, [own, program.adopted_memory(tree, domain)].into_iter())
        })
    }

    fn event(
        &mut self,
        app: AppId,
        event: &str,
        read: impl FnOnce(&mut Program, &Tree) -> Reading,
    ) -> Reading {
        let counted = self.survey.monitoring.as_ref();
        let counted = counted.is_some_and(|of| of.events.iter().any(|name| name == event));
        match self.programs.get_mut(&app) {
            Some(program) if program.monitored && counted => read(program, &self.tree),
            _ => Reading::Unassigned,
        }
    }

    /// Puts everything back, and says what could not be.
    #[must_use]
    pub fn close(mut self) -> Restored {
        if self.settings.dry_run {
            return Restored::default();
        }
        // Files of groups that go are of no use.
        self.programs.values_mut().for_each(|program| {
            program.events.close();
            program.adopted.clear();
        });
        if !self.tree.is_mounted() {
            return self.unmounted();
        }
        put_back(&self.tree, &mut self.state, &self.settings).unwrap_or_else(|error| {
            tracing::error!(target: "fairways::actuate", %error, "not restored");
            let mut restored = Restored::default();
            restored.failed.push((Thing::Group("fairways.*".to_owned()), error.to_string()));
            restored
        })
    }

    /// What was made went with the mount, unless another one only hides it.
    fn unmounted(self) -> Restored {
        let mut restored = Restored::default();
        let path = self.state.path();
        let done = if is_mounted_anywhere(&self.settings.proc, self.tree.device()) {
            let root = self.tree.root().to_owned();
            Err(Error::Unmounted { root })
        } else {
            self.state.put_aside("resctrl was unmounted")
        };
        if let Err(error) = done {
            tracing::error!(target: "fairways::actuate", %error, "not restored");
            restored.failed.push((Thing::Ledger(path), error.to_string()));
        }
        restored
    }

    /// The lock between managers, until it is dropped.
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        Lock::take(&self.tree, &self.settings.proc, self.settings.patience, Kept::Refuse)
    }

    /// Whether a group of this name is one of this actuator's.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let is_it = |program: &Program| program.monitored && program.name == name;
        self.is_adopted(name)
            || self.classes.iter().any(|class| class.name == name)
            || Program::owner(name).and_then(|app| self.programs.get(&app)).is_some_and(is_it)
    }
}

/// Nothing is there, or nothing of resctrl's.
fn not_mounted(settings: &Settings, error: Error) -> OpenError {
    match error.errno() {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => OpenError::NotSupported(format!(
            "{}: expected resctrl; mount it with `mount -t resctrl resctrl /sys/fs/resctrl`",
            settings.root.display()
        )),
        _ => error.into(),
    }
}
