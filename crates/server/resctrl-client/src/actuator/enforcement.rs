//! Decisions are carried out, or only logged in a dry run.

use std::collections::HashMap;
use std::fmt::Debug;

use fairways_core::{AppId, Partition, Resources};
use fairways_ledger::{OpenError, Restored};

use super::managed::ManagedResctrl;
use crate::error::{Error, Refused};
use crate::groups::programs::Programs;
use crate::ledger::State;
use crate::ledger::mount::Mount;
use crate::ledger::recover::recover;
use crate::offer::domain::Domain;
use crate::plan::limits::Carried;
use crate::plan::refine::Target;
use crate::settings::Settings;
use crate::tree::Tree;

/// The parts of an [`Actuator`](super::Actuator) that differ in a dry run: everything that writes.
pub(crate) trait Enforcement: Debug + Sync {
    /// Returns the ledger, after restoring everything that it recorded.
    fn open(&self, tree: &Tree, settings: &Settings) -> Result<State, OpenError>;

    /// Makes a program's MON group, if an id is available. Returns whether the program has one.
    fn monitor(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<bool, Error>;

    /// Prepares to move a program's threads out of other managers' groups, if the settings say so.
    /// Returns whether they are to be moved; a dry run only logs that. `from` has the group of each
    /// thread.
    fn take(
        &self,
        managed: &mut ManagedResctrl,
        app: AppId,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<bool, Error>;

    /// Counts the threads of a program that stay in groups of others, as far as possible.
    fn count_staying(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<(), Error>;

    /// Puts back threads that no longer belong to a program.
    fn release(
        &self,
        programs: &mut Programs,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error>;

    /// Puts threads into a group. Returns those that were moved.
    fn enter(&self, tree: &Tree, group: &str, threads: &[i32]) -> Result<Vec<i32>, Error>;

    /// Makes and sets the classes of a plan, and names their groups by target; if that fails,
    /// leaves everything as it was.
    fn carry_out(
        &self,
        managed: &mut ManagedResctrl,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
    ) -> Result<Vec<String>, Refused>;

    /// The partition in force in a domain, in offered ways.
    fn in_force(&self, managed: &ManagedResctrl, domain: &Domain) -> Partition;

    /// Brings our groups up to date after a look at what others changed.
    fn keep_up(&self, managed: &mut ManagedResctrl) -> Result<(), Error>;

    /// Puts everything back; returns what could not be put back.
    fn close(&self, managed: ManagedResctrl) -> Restored;
}

/// Decisions are carried out.
#[derive(Debug)]
pub(crate) struct Enforced;

impl Enforcement for Enforced {
    fn open(&self, tree: &Tree, settings: &Settings) -> Result<State, OpenError> {
        let (mut state, found) = State::open(&settings.state)?;
        let mut restored = recover(tree, &mut state, found.ledger, settings)?;
        restored.failed.extend(found.damaged);
        for line in restored.to_string().lines() {
            tracing::warn!(target: "fairways::actuate", "from before: {line}");
        }
        Ok(state)
    }

    fn monitor(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<bool, Error> {
        managed.programs.monitor(&mut managed.mount, &managed.found, app)
    }

    fn take(
        &self,
        managed: &mut ManagedResctrl,
        app: AppId,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<bool, Error> {
        let ManagedResctrl { mount, found, classes, programs, .. } = managed;
        if !mount.settings.take_over {
            return Ok(false);
        }
        let groups = threads.iter().filter_map(|thread| from.get(thread));
        // If no free class could limit the threads as their own groups do, they stay there.
        if !threads.is_empty() && !classes.make_ready(mount, found, programs, app, groups)? {
            return Ok(false);
        }
        mount.take(threads, from)?;
        Ok(true)
    }

    fn count_staying(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<(), Error> {
        managed.programs.count_staying(&mut managed.mount, &managed.found, app)
    }

    fn release(
        &self,
        programs: &mut Programs,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error> {
        programs.release(mount, app, threads)
    }

    fn enter(&self, tree: &Tree, group: &str, threads: &[i32]) -> Result<Vec<i32>, Error> {
        let mut moved = Vec::new();
        tree.enter(group, threads.iter().copied(), &mut moved)?;
        Ok(moved)
    }

    fn carry_out(
        &self,
        managed: &mut ManagedResctrl,
        targets: &[Target],
        carried: &Carried,
        reason: &str,
    ) -> Result<Vec<String>, Refused> {
        managed.carry_out(targets, carried, reason)
    }

    fn in_force(&self, managed: &ManagedResctrl, domain: &Domain) -> Partition {
        let ManagedResctrl { found, classes, programs, .. } = managed;
        let mut partition = Partition::default();
        for class in &classes.list {
            let mask = class.now.get(&(found.survey.sides[0], domain.cache_id));
            let members = programs.in_class(&class.name);
            if let Some(&mask) = mask.filter(|_| !members.is_empty()) {
                let bandwidth = class.level_in_force(found, domain.cache_id);
                let mask = domain.offered(mask);
                let cluster = partition.add(Resources { mask, bandwidth });
                members.into_iter().for_each(|app| partition.place(app, cluster));
            }
        }
        partition
    }

    fn keep_up(&self, managed: &mut ManagedResctrl) -> Result<(), Error> {
        managed.keep_up()
    }

    fn close(&self, managed: ManagedResctrl) -> Restored {
        managed.put_everything_back()
    }
}
