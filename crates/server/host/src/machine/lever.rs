//! What a host is made of, and what policies set of it.

use fairways_programs::Roots;
use fairways_resctrl_client::Actuator;

use super::counted_host::CountedHost;
use super::mechanism::Mechanism;
use super::turns::Turns;
use super::ways::CacheWays;
use crate::clock::Clock;

/// What policies of a host set.
pub enum Lever {
    /// The ways of caches that programs may fill, by resctrl.
    Ways(Box<Actuator>),
    /// Where threads run and for how long, by a scheduler.
    Turns(Box<Turns>),
    /// Nothing: programs are counted.
    Nothing(Box<CountedHost>),
}

/// What a host is made of.
pub struct Parts {
    /// What policies set.
    pub lever: Lever,
    /// Where programs are found.
    pub proc_and_cgroup: Roots,
    /// Where their counters come from.
    pub source: Box<dyn fairways_perf::Source>,
    /// The time.
    pub clock: Box<dyn Clock>,
}

impl Lever {
    /// The mechanism for a lever; it sets nothing if programs are only watched.
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
