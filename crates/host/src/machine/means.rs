//! By what policies act on a host.

use fairways_resctrl_client::{Actuator, Domain};
use fairways_turns::Scheduler;

use super::turns::Turns;

/// By what a host's policies act.
pub enum Means {
    /// Resctrl: they give out the ways of caches.
    Ways(Box<Actuator>),
    /// A scheduler: they say where threads run, and for how long.
    Turns(Box<Turns>),
}

impl Means {
    /// The domains that there are, ascending.
    pub(super) fn domains(&self) -> &[Domain] {
        match self {
            Self::Ways(actuator) => actuator.domains(),
            Self::Turns(turns) => turns.domains(),
        }
    }

    pub(super) fn turns(&mut self) -> Option<&mut Turns> {
        match self {
            Self::Ways(_) => None,
            Self::Turns(turns) => Some(turns),
        }
    }

    /// What they are called, if they are a scheduler.
    pub(super) fn scheduler(&self) -> Option<&dyn Scheduler> {
        match self {
            Self::Ways(_) => None,
            Self::Turns(turns) => turns.scheduler(),
        }
    }
}
