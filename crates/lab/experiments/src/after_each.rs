//! An observer that is a closure.

use fairways_core::{Event, Observer, Time};

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunControl {
    Continue,
    /// Stops the run, for good or to continue later.
    Stop,
}

/// Calls a closure after each event, until that stops the run.
pub(crate) struct AfterEach<F> {
    look: F,
    control: RunControl,
}

impl<F> AfterEach<F> {
    /// Calls `look` with each event, the machine and the policy.
    pub(crate) const fn new<M: ?Sized, P: ?Sized>(look: F) -> Self
    where
        F: FnMut(Time, &Event, &M, &P) -> RunControl,
    {
        Self { look, control: RunControl::Continue }
    }
}

impl<M: ?Sized, P: ?Sized, F> Observer<M, P> for AfterEach<F>
where
    F: FnMut(Time, &Event, &M, &P) -> RunControl,
{
    fn handled(&mut self, at: Time, event: &Event, machine: &M, policy: &P) {
        self.control = (self.look)(at, event, machine, policy);
    }

    fn is_done(&self) -> bool {
        self.control == RunControl::Stop
    }
}
