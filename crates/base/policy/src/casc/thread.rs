//! What the policy keeps about a thread.

use core::time::Duration;

use fairways_core::{Q32, ThreadId};

use super::rates::{Average, score};

/// The measurement that a PCMR is from (§4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// The linear system of many threads at once.
    Initial,
    /// One thread among others whose PCMRs were known.
    Secondary,
}

/// A PCMR that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcmr {
    /// Misses per 100 references, 0 to 100.
    pub(super) value: Q32,
    /// The computed value, in units of 2^-32.
    pub(super) raw: i64,
    pub(super) by: Measurement,
}

/// A thread that runs.
#[derive(Clone, Debug)]
pub(super) struct MeasuredThread {
    pub(super) id: ThreadId,
    pub(super) pcmr: Option<Pcmr>,
    /// How long it ran in the reported intervals.
    pub(super) ran: Duration,
    /// Its secondary measurement so far.
    pub(super) secondary: Average,
    /// How long it ran during its secondary measurement.
    pub(super) unmeasured: Duration,
    /// Whether an initial measurement did without it.
    pub(super) is_given_up: bool,
    /// The miss rate of its groups since the last comparison, and the prediction.
    pub(super) seen: Average,
    pub(super) predicted: Average,
    /// Comparisons in a row that were off.
    pub(super) off: u32,
    /// The CPUs that it was last restricted to, one bit each; `None` if it never was.
    pub(super) allowed: Option<u64>,
    /// Whether it was last called cache-greedy.
    pub(super) is_greedy: Option<bool>,
}

impl MeasuredThread {
    pub(super) fn new(id: ThreadId) -> Self {
        Self {
            id,
            pcmr: None,
            ran: Duration::ZERO,
            secondary: Average::default(),
            unmeasured: Duration::ZERO,
            is_given_up: false,
            seen: Average::default(),
            predicted: Average::default(),
            off: 0,
            allowed: None,
            is_greedy: None,
        }
    }

    /// Marks its PCMR unknown (§4.2.2.2).
    pub(super) fn forget(&mut self) {
        self.pcmr = None;
        self.unmeasured = Duration::ZERO;
        self.secondary = Average::default();
        self.trust();
    }

    pub(super) fn learn(&mut self, raw: i64, by: Measurement) -> Q32 {
        let value = score(raw);
        self.pcmr = Some(Pcmr { value, raw, by });
        self.secondary = Average::default();
        self.is_given_up = false;
        self.trust();
        value
    }

    /// Starts the comparison with predictions again.
    pub(super) fn trust(&mut self) {
        (self.seen, self.predicted, self.off) = (Average::default(), Average::default(), 0);
    }
}
