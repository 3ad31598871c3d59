//! The parts of a host, and the lever that its policies set.

use fairways_programs::Roots;
use fairways_resctrl_client::Actuator;

use super::counted_host::CountedHost;
use super::mechanism::Mechanism;
use super::turns::Turns;
use super::ways::CacheWays;
use crate::clock::Clock;

/// The lever that policies of a host set.
pub enum Lever {
    /// The ways of caches that programs may fill, through resctrl.
    Ways(Box<Actuator>),
    /// Where threads run and for how long, through a scheduler.
    Turns(Box<Turns>),
    /// None: programs are only counted.
    Nothing(Box<CountedHost>),
}

/// The parts of a host.
pub struct Parts {
    /// The lever.
    pub lever: Lever,
    /// Where programs are found.
    pub proc_and_cgroup: Roots,
    /// The source of their counters.
    pub source: Box<dyn fairways_perf::Source>,
    /// The time.
    pub clock: Box<dyn Clock>,
}

impl Lever {
    /// The mechanism for the lever; it sets nothing if programs are only watched.
    pub(super) fn mechanism(self, observe: bool) -> Box<dyn Mechanism> {
        match self {
            Self::Ways(actuator) => Box::new(CacheWays::new(actuator, observe)),
            Self::Turns(mut turns) => {
                turns.observe = observe;
                turns
            }
            Self::Nothing(watching) => watching,
        }
    }
}
