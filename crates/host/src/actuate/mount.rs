//! The mounted resctrl as its client has it: its files, and what is written down before they are changed.

use super::error::Error;
use super::ledger::State;
use super::lock::{Kept, Lock};
use super::settings::Settings;
use super::tally::Errors;
use super::tree::Tree;

/// Everything through which something is changed.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) settings: Settings,
    pub(super) tree: Tree,
    pub(super) state: State,
    /// What could not be done.
    pub(super) errors: Errors,
}

impl Mount {
    /// The lock between managers, until it is dropped.
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        Lock::take(&self.tree, &self.settings.proc, self.settings.patience, Kept::Refuse)
    }

    /// Strikes a group of ours from the ledger: it is gone, or another's.
    pub(super) fn strike_group(&mut self, name: &str) {
        self.state.note(|ledger| ledger.groups.retain(|made| made.name != name));
    }

    /// Strikes a monitoring group from the ledger that came along: it is gone, or back.
    pub(super) fn strike_borrowed(&mut self, name: &str) {
        self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
    }
}
