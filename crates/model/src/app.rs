//! What runs, what is known of jobs, and what is to be told.

use fairways_core::{AppId, Event, Time, WayMask};

use crate::job::Job;
use crate::window::{Totals, Window};

/// A program that runs.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: AppId,
    pub(crate) job: usize,
    pub(crate) started: Time,
    pub(crate) mask: WayMask,
    pub(crate) phase: usize,
    /// When the phase began.
    pub(crate) turned: Time,
    /// Instructions to the end of the phase and of the run; infinite where there is none.
    pub(crate) phase_left: f64,
    pub(crate) run_left: f64,
    pub(crate) totals: Totals,
    pub(crate) window: Option<Window>,
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) job: Job,
    pub(crate) completions: Vec<f64>,
    pub(crate) ran: f64,
    pub(crate) work: Work,
}

/// What programs have done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Instructions.
    pub instructions: f64,
    /// The seconds that they would have taken at their best (slowdown 1).
    pub at_best: f64,
}

/// Something that happens now, and is still to be told.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Event(Event),
    Exit(AppId),
    Start(usize),
}

impl From<Event> for Due {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}
