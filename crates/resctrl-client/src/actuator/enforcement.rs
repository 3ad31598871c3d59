//! What is done about decisions: they are carried out, or, in a dry run, logged.

use std::collections::HashMap;
use std::fmt::Debug;

use fairways_core::{AppId, Partition};
use fairways_ledger::{OpenError, Restored};

use super::managed::ManagedResctrl;
use crate::error::{Error, Refused};
use crate::groups::programs::Programs;
use crate::ledger::State;
use crate::ledger::mount::Mount;
use crate::offer::domain::Domain;
use crate::plan::limits::Carried;
use crate::plan::refine::Target;
use crate::settings::Settings;
use crate::tree::Tree;

/// What an [`Actuator`] does differently in a dry run: everything that writes.
pub(crate) trait Enforcement: Debug + Sync {
    /// The ledger, after everything was restored that it recorded.
    fn open(&self, tree: &Tree, settings: &Settings) -> Result<State, OpenError>;

    /// Makes a program's MON group, if an id is available. Returns whether the program has one.
    fn monitor(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<bool, Error>;

    /// Makes ready to move a program's threads out of groups of other managers, if the settings say
    /// so. Returns whether they are to be moved; a dry run only logs that. `from` is the group of
    /// each.
    fn take(
        &self,
        managed: &mut ManagedResctrl,
        app: AppId,
        threads: &[i32],
        from: &HashMap<i32, String>,
    ) -> Result<bool, Error>;

    /// Has the threads of a program counted that stay in groups of others, as far as possible.
    fn count_staying(&self, managed: &mut ManagedResctrl, app: AppId) -> Result<(), Error>;

    /// Puts back threads that a program gives up.
    fn release(
        &self,
        programs: &mut Programs,
        mount: &mut Mount,
        app: AppId,
        threads: &[i32],
    ) -> Result<(), Error>;

    /// Puts threads into a group. Returns those that were moved.
    fn enter(&self, tree: &Tree, group: &str, threads: &[i32]) -> Result<Vec<i32>, Error>;

    /// Makes and sets the classes of a plan, and names their groups by target; or leaves everything
    /// as it was.
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

    /// Puts everything back, and returns what could not be.
    fn close(&self, managed: ManagedResctrl) -> Restored;
}
