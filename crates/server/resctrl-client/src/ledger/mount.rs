//! The mounted resctrl: its files, and the ledger of what is changed in them.

use super::State;
use crate::error::Error;
use crate::settings::Settings;
use crate::tally::Errors;
use crate::tree::Tree;
use crate::tree::lock::{Kept, Lock};

/// What a change needs: it is written into the ledger before the files.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) settings: Settings,
    pub(crate) tree: Tree,
    pub(crate) state: State,
    /// The failures.
    pub(crate) errors: Errors,
}

impl Mount {
    /// The lock between managers, until it is dropped; none in a dry run.
    pub(crate) fn lock(&self) -> Result<Option<Lock>, Error> {
        if self.settings.dry_run {
            return Ok(None);
        }
        Lock::take(&self.tree, &self.settings.proc, self.settings.patience, Kept::Refuse).map(Some)
    }

    /// Removes a group of ours from the ledger: it is gone, or another has replaced it. Of several
    /// with its name it is the one with this inode, or where that is not known the latest: those
    /// that were left before stay.
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

    /// Removes an adopted group from the ledger: it is gone, or back where it was.
    pub(crate) fn strike_borrowed(&mut self, name: &str) {
        self.state.note(|ledger| ledger.borrowed.retain(|of| of.name != name));
    }
}
