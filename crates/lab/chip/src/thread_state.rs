//! How a thread takes turns.

use std::time::Duration;

use fairways_core::Time;

use crate::settings::SchedulingClass;
use crate::time_sharing::PriorityLevel;

/// The priority of a thread: higher runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    Normal,
    Raised,
    System,
}

/// How a thread takes turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadState {
    /// The CPUs that it may run on, a bit each.
    pub(crate) allowed: u64,
    pub(crate) priority: Priority,
    pub(crate) level: PriorityLevel,
    /// The rest of its quantum after it was preempted, on the policy's clock.
    pub(crate) left: Option<Duration>,
    /// The ordered length of its next turn, on the policy's clock.
    pub(crate) ordered: Option<Duration>,
    /// Since when it waits, if it does, and its number among all waits.
    pub(crate) waits: Option<(Time, u64)>,
    /// The CPU that it was on last.
    pub(crate) last: Option<usize>,
    /// The turns that it has had, in nanoseconds of the machine's quantum.
    pub(crate) turns: u64,
    /// Whether its run has ended.
    pub(crate) has_ended: bool,
}

impl ThreadState {
    /// A new thread, of the operating system itself or not.
    pub(crate) fn new(is_system: bool, class: Option<SchedulingClass>) -> Self {
        Self {
            allowed: u64::MAX,
            priority: if is_system { Priority::System } else { Priority::Normal },
            level: match class {
                Some(SchedulingClass::TimeSharing) => PriorityLevel::FIRST,
                Some(SchedulingClass::FixedPriority) | None => PriorityLevel::FIXED,
            },
            left: None,
            ordered: None,
            waits: None,
            last: None,
            turns: 0,
            has_ended: false,
        }
    }

    /// The rank by which threads get a CPU: the highest first.
    pub(crate) fn rank(&self) -> (Priority, PriorityLevel) {
        (self.priority, self.level)
    }

    pub(crate) fn may_run_on(&self, cpu: usize) -> bool {
        self.allowed >> cpu & 1 == 1
    }
}
