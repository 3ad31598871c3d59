//! How a thread takes turns.

use std::time::Duration;

use fairways_core::Time;

use crate::settings::SchedulingClass;

use super::time_sharing::Level;

/// Who runs before whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    Normal,
    Raised,
    System,
}

/// How a thread takes turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// The CPUs that it may run on, a bit each.
    pub(crate) allowed: u64,
    pub(crate) priority: Priority,
    pub(crate) level: Level,
    /// What is left of a quantum when another took its place, on the policy's clock.
    pub(crate) left: Option<Duration>,
    /// How long its next turn is to be, on the policy's clock.
    pub(crate) ordered: Option<Duration>,
    /// Since when it waits, if it does, and how many had come to wait before.
    pub(crate) waits: Option<(Time, u64)>,
    /// The CPU that it was on last.
    pub(crate) last: Option<usize>,
    /// The turns that it has had, in nanoseconds of the machine's quantum.
    pub(crate) turns: u64,
    /// Its run has ended.
    pub(crate) over: bool,
}

impl Thread {
    /// One that begins, of the operating system itself or not.
    pub(crate) fn new(is_system: bool, class: Option<SchedulingClass>) -> Self {
        Self {
            allowed: u64::MAX,
            priority: if is_system { Priority::System } else { Priority::Normal },
            level: match class {
                Some(SchedulingClass::TimeSharing) => Level::FIRST,
                Some(SchedulingClass::FixedPriority) | None => Level::FIXED,
            },
            left: None,
            ordered: None,
            waits: None,
            last: None,
            turns: 0,
            over: false,
        }
    }

    /// The order in which threads get a CPU: the highest first.
    pub(crate) fn rank(&self) -> (Priority, Level) {
        (self.priority, self.level)
    }

    pub(crate) fn may(&self, cpu: usize) -> bool {
        self.allowed >> cpu & 1 == 1
    }
}
