//! Failures of a host.

use std::io;

/// Why a host reports nothing more.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Resctrl is not there any longer.
    #[error(transparent)]
    Unmounted(fairways_resctrl_client::Error),
    /// Its clock has stopped.
    #[error("clock: {0}")]
    Clock(io::Error),
    /// The kernel has ended the scheduler, and there is none in its place.
    #[error("scheduler: {0}")]
    Scheduler(io::Error),
}

/// Failures of a host: each is logged once, however often it happens in a row.
#[derive(Default)]
pub(super) struct Trouble {
    last: Option<String>,
    failure: Option<Failure>,
}

impl Trouble {
    /// Logs a failure, unless it is the last one again.
    pub(super) fn log(&mut self, why: &str) {
        if self.last.as_deref() != Some(why) {
            tracing::warn!(target: "fairways::machine", "{why}");
        }
        self.last = Some(why.to_owned());
    }

    /// Nothing fails now: the same failure is logged again later.
    pub(super) fn clear(&mut self) {
        self.last = None;
    }

    /// Nothing more happens on this host.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
    }

    pub(super) const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}
