//! How a host and its programs are managed.

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
    /// The longest time between two looks for programs; reports of the kernel are handled at once.
    /// Other managers' changes are checked as often, but at most once a second.
    pub look: Duration,
}

/// Carries out plans, and looks every second.
impl Default for Settings {
    fn default() -> Self {
        Self { observe: false, look: Duration::from_secs(1) }
    }
}

/// Opens the latency source of a service that has started.
pub type OpenLatency = Box<dyn Fn(&Target) -> io::Result<Box<dyn fairways_latency::Source>>>;

/// Programs to manage.
pub struct Managed {
    /// How they are found.
    pub wanted: Wanted,
    /// What their owner requests.
    pub wish: Wish,
    /// Their profile, if they were measured before.
    pub profile: Option<Arc<Profile>>,
    /// How to open their latency source, if they are services that have one.
    pub latency: Option<OpenLatency>,
}

impl Managed {
    /// Programs without requests and without a profile.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, wish: Wish::default(), profile: None, latency: None }
    }

    pub(super) fn part(self) -> (Wanted, ManagedEntry) {
        let Self { wanted, wish, profile, latency } = self;
        (wanted.clone(), ManagedEntry { wanted, wish, profile, latency })
    }
}

/// An entry of the list: the programs that it finds.
pub(super) struct ManagedEntry {
    pub(super) wanted: Wanted,
    pub(super) wish: Wish,
    pub(super) profile: Option<Arc<Profile>>,
    pub(super) latency: Option<OpenLatency>,
}

/// A container, with the request of its pod's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContainer {
    /// The container.
    pub announced: AnnouncedContainer,
    /// The owner's request, if that made the container part of a
    /// [program](AnnouncedContainer::program). Of several requests, the first counts.
    pub wish: Wish,
}
