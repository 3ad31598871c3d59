//! Programs that run, the progress of jobs, and events to be reported.

use fairways_core::{AppId, Event, Time, WayMask};

use crate::job::Job;
use crate::window::{CounterTotals, Window};

/// A program that runs.
#[derive(Clone, Debug)]
pub(crate) struct ModelProgram {
    pub(crate) id: AppId,
    pub(crate) job: usize,
    pub(crate) started: Time,
    pub(crate) mask: WayMask,
    pub(crate) phase: usize,
    /// When the phase began.
    pub(crate) phase_start: Time,
    /// Instructions to the end of the phase and of the run; infinite if it has no end.
    pub(crate) phase_left: f64,
    pub(crate) run_left: f64,
    pub(crate) totals: CounterTotals,
    pub(crate) window: Option<Window>,
}

/// A job, and how far it has come.
#[derive(Clone, Debug)]
pub(crate) struct JobProgress {
    pub(crate) job: Job,
    pub(crate) completions: Vec<f64>,
    pub(crate) ran: f64,
    pub(crate) work: Work,
}

/// Work that programs have done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Instructions.
    pub instructions: f64,
    /// The seconds that they would have taken at their best (slowdown 1).
    pub at_best: f64,
}

/// An event that happens now and is still to be reported.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a queue has few, and most are events")]
pub(crate) enum PendingEvent {
    Event(Event),
    Exit(AppId),
    Start(usize),
}

impl From<Event> for PendingEvent {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}
