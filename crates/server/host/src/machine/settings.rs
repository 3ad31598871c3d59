//! How a host is managed, and which programs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Profile, Wish};
use fairways_perf::Target;
use fairways_programs::{AnnouncedContainer, Wanted};

/// How to manage a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether programs are only watched: plans are logged and not carried out, and the policy goes
    /// on as if they were in force.
    pub observe: bool,
    /// How often to look which programs are there, at the latest; what the kernel reports is
    /// handled at once. What other managers did is looked at as often, but not more than once a
    /// second.
    pub look: Duration,
}

/// Plans are carried out; every second.
impl Default for Settings {
    fn default() -> Self {
        Self { observe: false, look: Duration::from_secs(1) }
    }
}

/// Opens the source of a service's latencies, once it has started.
pub type OpenLatency = Box<dyn Fn(&Target) -> io::Result<Box<dyn fairways_latency::Source>>>;

/// Programs that are to be managed.
pub struct Managed {
    /// How they are found.
    pub wanted: Wanted,
    /// What their owner asks for.
    pub wish: Wish,
    /// What was measured of them before, if something was.
    pub profile: Option<Arc<Profile>>,
    /// How soon they answer, if they are services of which that is known.
    pub latency: Option<OpenLatency>,
}

impl Managed {
    /// Programs without requests, of which nothing is known.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, wish: Wish::default(), profile: None, latency: None }
    }

    pub(super) fn part(self) -> (Wanted, ManagedEntry) {
        let Self { wanted, wish, profile, latency } = self;
        (wanted.clone(), ManagedEntry { wanted, wish, profile, latency })
    }
}

/// What is known of the programs that an entry of the list finds.
pub(super) struct ManagedEntry {
    pub(super) wanted: Wanted,
    pub(super) wish: Wish,
    pub(super) profile: Option<Arc<Profile>>,
    pub(super) latency: Option<OpenLatency>,
}

/// A container, with what its pod's owner asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContainer {
    /// The container.
    pub announced: AnnouncedContainer,
    /// What the owner asks for, if the container is part of a
    /// [program](AnnouncedContainer::program) for that reason. Of several, the first counts.
    pub wish: Wish,
}
