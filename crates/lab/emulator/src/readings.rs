//! What the machine publishes between two steps.

use std::collections::BTreeMap;

use fairways_core::{Counters, Time};

/// What a mark has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarkReading {
    /// Bytes of lines in the cache.
    pub(crate) occupancy: u64,
    /// Bytes moved since the machine began.
    pub(crate) moved: u64,
    /// Cycles since the machine began; `None` before its first.
    pub(crate) cycles: Option<u64>,
}

/// A program after the last step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProgramReading {
    pub(crate) runs: bool,
    /// `None`: on none.
    pub(crate) cpu: Option<u32>,
    pub(crate) counters: Counters,
}

/// The machine after its last step: all that files show of it, so that reads need not wait for the
/// step that is being simulated.
#[derive(Debug, Default)]
pub(crate) struct PublishedReadings {
    pub(crate) now: Time,
    pub(crate) programs: Vec<ProgramReading>,
    marks: BTreeMap<u16, MarkReading>,
}

impl PublishedReadings {
    /// The counts of a mark; zeros for one that no program has had.
    pub(crate) fn of(&self, mark: u16) -> MarkReading {
        self.marks.get(&mark).copied().unwrap_or_default()
    }

    /// Replaces them.
    pub(crate) fn publish(&mut self, mark: u16, reading: MarkReading) {
        self.marks.insert(mark, reading);
    }
}
