//! The mounted resctrl: its files, and the ledger of what is changed in them.

use super::State;
use crate::error::Error;
use crate::settings::Settings;
use crate::tally::Errors;
use crate::tree::Tree;
use crate::tree::lock::{Kept, Lock};

/// What is needed for a change, which is recorded in the ledger before it is made.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) settings: Settings,
    pub(crate) tree: Tree,
    pub(crate) state: State,
    /// The failures.
    pub(crate) errors: Errors,
}

impl Mount {
    /// Takes the lock between managers, until it is dropped; none in a dry run.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, Error> {
        if self.settings.dry_run {
            return Ok(None);
        }
        Lock::take(&self.tree, &self.settings.proc, self.settings.patience, Kept::Refuse).map(Some)
    }

    /// Removes a group of ours that is gone, or was replaced, from the ledger. If several have its
    /// name, removes the one with this inode, or the latest if that is not known; those of earlier
    /// runs stay.
    pub(crate) fn strike_group(&mut self, name: &str, inode: Option<u64>) {
        self.state.note(|ledger| {
            let groups = &mut ledger.groups;
            let known = groups
                .iter()
                .rposition(|made| made.name == name && inode.is_some() && made.inode == inode);
            let at = known.or_else(|| groups.iter().rposition(|made| made.name == name));
            if let Some(at) = at {
                groups.remove(at);
            }
        });
    }

    /// Removes an adopted group that is gone, or back where it was, from the ledger.
    pub(crate) fn strike_borrowed(&mut self, name: &str) {
        self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
    }
}
