//! What happens in a run, printed as it happens.

use std::io;

use fairways_core::{Action, Event, Observer, Time};
use fairways_results::run::Report;
use fairways_simulation::Running;

/// Prints each event and decision. If they can't be printed, the run ends.
pub(super) struct Printed<'a> {
    report: Report<'a>,
    done: io::Result<()>,
}

impl<'a> Printed<'a> {
    /// Prints this report.
    pub(super) const fn new(report: Report<'a>) -> Self {
        Self { report, done: Ok(()) }
    }

    /// Ends the report.
    ///
    /// # Errors
    /// If something could not be printed.
    pub(super) fn finish(self) -> io::Result<()> {
        self.done
    }
}

impl<P: ?Sized> Observer<Running, P> for Printed<'_> {
    fn event(&mut self, at: Time, event: &Event, machine: &Running) {
        self.done = self.report.event(at, event, |app| machine.job(app));
    }

    fn action(&mut self, at: Time, action: &Action<'_>, _: &Running) {
        if self.done.is_ok() {
            self.done = self.report.action(at, action);
        }
    }

    fn handled(&mut self, at: Time, _: &Event, _: &Running, _: &P) {
        if self.done.is_ok() {
            self.done = self.report.numbers(at);
        }
    }

    fn is_done(&self) -> bool {
        self.done.is_err()
    }
}
