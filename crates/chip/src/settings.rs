//! How a chip is simulated.

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
    /// Where they are.
    pub placement: PagePlacement,
    /// One of so many sets of the last-level cache is simulated; what goes to the others hits as often
    /// as what goes to those has of late.
    pub set_sampling: u32,
    /// How many times shorter everything takes than the policy is told: times, instructions and
    /// counters are told so many times larger.
    pub time_scale: u32,
    /// How programs take turns on the CPUs, on the policy's clock; `None`: each has one to itself.
    pub scheduler: Option<Scheduling>,
    /// The seed of all that is random.
    pub seed: u64,
}

impl Settings {
    /// A chip with small pages anywhere, all of it simulated, as it is.
    #[must_use]
    pub fn new(chip: Geometry) -> Self {
        Self {
            chip,
            pages: PageSize::Small,
            placement: PagePlacement::Random,
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
    /// How long a thread stays on a CPU when another waits, and the longest that it does in the
    /// time-sharing class; more than nothing.
    pub quantum: Duration,
    /// How far apart clock ticks are, at which turns end; more than nothing.
    pub tick: Duration,
    /// Whether the operating system has a thread of its own, which wakes every now and then and runs for half a
    /// millisecond before all others: so that programs do not take turns like clockwork, and run beside
    /// everybody in time. Policies are not told of it.
    pub system: bool,
    /// Which of them runs first, and for how long.
    pub class: SchedulingClass,
}

/// The scheduling classes that Solaris has, as far as they are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingClass {
    /// All threads have the same priority, and take turns of a quantum (`priocntl`'s FX).
    FixedPriority,
    /// A feedback queue (`priocntl`'s TS; `ts_dptbl(4)`). A thread that uses up its quantum falls to
    /// a lower level, whose quantum is longer. Each second, threads that wait rise. A turn that a
    /// policy ordered is as long as it ordered; all others are reported as turns of the longest
    /// quantum, however short they were planned.
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
    /// Solaris 10: threads that never sleep get 200 ms at a time (`ts_dptbl(4)`), at ticks of 10 ms.
    fn default() -> Self {
        Self {
            quantum: Duration::from_millis(200),
            tick: Duration::from_millis(10),
            system: true,
            class: SchedulingClass::FixedPriority,
        }
    }
}
