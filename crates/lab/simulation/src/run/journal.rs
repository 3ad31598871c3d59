//! The journal of a run.

use fairways_core::{Action, Event, Observer, Time};
use fairways_record::journal::Writer;

use super::Running;

/// Writes the journal of a run. If it can't be written, the run ends.
pub struct RunJournal {
    writer: Writer,
    names: Vec<String>,
    written: anyhow::Result<()>,
}

impl RunJournal {
    /// Writes there; `names` are the programs', in order.
    pub(super) const fn new(writer: Writer, names: Vec<String>) -> Self {
        Self { writer, names, written: Ok(()) }
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// If this, or anything before, could not be written.
    pub fn finish(self) -> anyhow::Result<()> {
        let kept = self.writer.finish();
        self.written.and(kept)
    }
}

impl<P: ?Sized> Observer<Running, P> for RunJournal {
    fn event(&mut self, at: Time, event: &Event, machine: &Running) {
        let started = match event {
            Event::Started { app, .. } => machine.job(*app).and_then(|job| self.names.get(job)),
            _ => None,
        };
        self.written = self.writer.write_event(at, event, started.map(String::as_str));
    }

    fn action(&mut self, at: Time, action: &Action<'_>, _: &Running) {
        if self.written.is_ok() {
            self.written = self.writer.write_action(at, action);
        }
    }

    fn is_done(&self) -> bool {
        self.written.is_err()
    }
}
