//! The state of one mounted resctrl: everything known and managed.

use fairways_ledger::{Restored, Thing};

use crate::error::Error;
use crate::groups::classes::Classes;
use crate::groups::confine::Root;
use crate::groups::others_changes::Changes;
use crate::groups::programs::{Program, Programs};
use crate::ledger::mount::Mount;
use crate::ledger::put_back::put_back;
use crate::ledger::recover::is_mounted_anywhere;
use crate::offer::findings::Findings;
use crate::offer::survey::Survey;
use crate::plan::outcome::Plans;

/// Everything that is known and managed.
#[derive(Debug)]
pub(crate) struct ManagedResctrl {
    /// The files, and the ledger.
    pub(crate) mount: Mount,
    /// What others have, and what they leave to offer.
    pub(crate) found: Findings,
    pub(crate) classes: Classes,
    pub(crate) root: Root,
    pub(crate) programs: Programs,
    pub(crate) plans: Plans,
    /// Changes that [`look`](super::Actuator::look) has not reported yet.
    pub(crate) pending: Changes,
}

impl ManagedResctrl {
    /// A state without programs.
    pub(crate) fn new(mount: Mount, found: Findings) -> Self {
        Self {
            mount,
            found,
            classes: Classes::default(),
            root: Root::default(),
            programs: Programs::default(),
            plans: Plans::default(),
            pending: Changes::default(),
        }
    }

    /// Whether a group of this name is one of ours.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        self.classes.get(name).is_some() || self.programs.have_group(name)
    }

    /// Surveys what exists now.
    pub(crate) fn survey(&self, ours: &dyn Fn(&str) -> bool) -> Result<Option<Survey>, Error> {
        let Mount { tree, settings, .. } = &self.mount;
        let Findings { topology, survey, .. } = &self.found;
        Survey::read(tree, settings, topology, Some(survey), ours)
    }

    /// Puts everything back; returns what could not be put back.
    pub(crate) fn put_everything_back(mut self) -> Restored {
        // The files of groups that will be removed are of no use any longer.
        self.programs.by_id.values_mut().for_each(Program::close);
        let Mount { settings, tree, state, .. } = &mut self.mount;
        if !tree.is_mounted() {
            return self.unmounted();
        }
        put_back(tree, state, settings).unwrap_or_else(|error| {
            tracing::error!(target: "fairways::actuate", %error, "not restored");
            let mut restored = Restored::default();
            restored.failed.push((Thing::Group("fairways.*".to_owned()), error.to_string()));
            restored
        })
    }

    /// Handles an unmounted resctrl: our groups are gone with it, unless another mount only hides
    /// it.
    fn unmounted(self) -> Restored {
        let Mount { settings, tree, state, .. } = self.mount;
        let mut restored = Restored::default();
        let path = state.path();
        let done = if is_mounted_anywhere(&settings.proc, tree.device()) {
            let root = tree.root().to_owned();
            Err(Error::Unmounted { root })
        } else {
            state.put_aside("resctrl was unmounted").map_err(Error::from)
        };
        if let Err(error) = done {
            tracing::error!(target: "fairways::actuate", %error, "not restored");
            restored.failed.push((Thing::Ledger(path), error.to_string()));
        }
        restored
    }
}
