//! A run that is a trial of its policy.

use std::rc::Rc;

use fairways_core::{Event, Time};
use fairways_host::machine::Host;
use fairways_record::trial::Trial;

use super::observer::HostObserver;

/// Names programs to the trial, shows how far it is, and ends the run once it has found out
/// everything.
pub(super) struct OnTrial {
    trial: Rc<dyn Trial>,
    is_over: bool,
}

impl OnTrial {
    pub(super) const fn new(trial: Rc<dyn Trial>) -> Self {
        Self { trial, is_over: false }
    }
}

impl HostObserver for OnTrial {
    fn event(&mut self, host: &Host, _: u32, _: Time, event: &Event) {
        if let Event::Started { app, .. } = event {
            self.trial.named(*app, host.name(*app).unwrap_or_default());
        }
    }

    fn handled(&mut self, _: &Host, at: Time, _: &Event) {
        self.is_over = self.trial.follow(at);
    }

    fn is_done(&self) -> bool {
        self.is_over
    }
}
