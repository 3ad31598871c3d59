//! Settings of the simulation.

use std::time::Duration;

use crate::geometry::Geometry;
use crate::pages::{PagePlacement, PageSize};

/// A chip, and how it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The chip.
    pub chip: Geometry,
    /// The size of pages.
    pub pages: PageSize,
    /// The placement of pages.
    pub placement: PagePlacement,
    /// The NUMA nodes that share the last-level cache: the pages of a node's memory fall into its
    /// part of the sets alone. A program's pages are of the node on whose CPU it starts; where
    /// programs take turns, of all nodes. At least 1, and at most as many as the CPUs.
    pub nodes: u32,
    /// One of this many sets of the last-level cache is simulated; references to other sets hit as
    /// often as recent ones to simulated sets.
    pub set_sampling: u32,
    /// The time scale: the policy sees times, instructions and counters this many times larger.
    pub time_scale: u32,
    /// How programs take turns on the CPUs, on the policy's clock; `None`: each has one to itself.
    pub scheduler: Option<Scheduling>,
    /// The seed of everything random.
    pub seed: u64,
}

impl Settings {
    /// A chip with small pages in random frames, without set sampling, at time scale 1.
    #[must_use]
    pub fn new(chip: Geometry) -> Self {
        Self {
            chip,
            pages: PageSize::Small,
            placement: PagePlacement::Random,
            nodes: 1,
            set_sampling: 1,
            time_scale: 1,
            scheduler: None,
            seed: 1,
        }
    }
}

/// How an operating system lets threads take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// How long a thread stays on a CPU when another waits (in the time-sharing class, the longest
    /// that it does); more than 0.
    pub quantum: Duration,
    /// The time between clock ticks, at which turns end; more than 0.
    pub tick: Duration,
    /// Whether the operating system has its own thread, which wakes now and then and runs for 0.5
    /// ms before all others. It breaks up regular patterns of turns, so that every program runs
    /// beside every other in time. It is not reported to policies.
    pub system: bool,
    /// The scheduling class: which thread runs first, and for how long.
    pub class: SchedulingClass,
}

/// The scheduling classes that Solaris has, as far as they are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingClass {
    /// All threads have the same priority, and take turns of a quantum (`priocntl`'s FX).
    FixedPriority,
    /// A feedback queue (`priocntl`'s TS; `ts_dptbl(4)`). A thread that uses up its quantum falls
    /// to a lower level, whose quantum is longer. Each second, waiting threads rise. A turn ordered
    /// by a policy has that length; all other turns are reported with the longest quantum as their
    /// planned length, however short they were.
    TimeSharing,
}

impl SchedulingClass {
    /// Its name on the command line and in journals.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedPriority => "fixed-priority",
            Self::TimeSharing => "time-sharing",
        }
    }
}

impl Default for Scheduling {
    /// Solaris 10: threads that never sleep get 200 ms at a time (`ts_dptbl(4)`), at ticks of 10
    /// ms.
    fn default() -> Self {
        Self {
            quantum: Duration::from_millis(200),
            tick: Duration::from_millis(10),
            system: true,
            class: SchedulingClass::FixedPriority,
        }
    }
}
