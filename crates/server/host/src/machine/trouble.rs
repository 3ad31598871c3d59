//! Failures of a host.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;

use fairways_programs::ProgramKey;

/// Why a host reports nothing more.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Resctrl is no longer mounted.
    #[error(transparent)]
    Unmounted(fairways_resctrl_client::Error),
    /// Its clock has stopped.
    #[error("clock: {0}")]
    Clock(io::Error),
    /// The kernel has ended the scheduler, and none has replaced it.
    #[error("scheduler: {0}")]
    Scheduler(io::Error),
}

/// Something that a host looks at again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Looked {
    /// Which programs run.
    Programs,
    /// The threads of a program.
    Threads(ProgramKey),
    /// To which programs the announced containers belong.
    Containers,
    /// Others' changes to resctrl.
    Resctrl,
}

impl Looked {
    /// What is unknown while the look fails.
    const fn unknown(self) -> &'static str {
        match self {
            Self::Programs => "which programs run is not known: they can't be looked for",
            Self::Threads(_) => "the threads of a program are not known: they can't be listed",
            Self::Containers => "the container runtime's containers are not all taken in",
            Self::Resctrl => "what others did to resctrl is not known: it can't be read",
        }
    }
}

/// Failures of a host. What a failed look would have found is unknown until one succeeds.
#[derive(Default)]
pub(super) struct Trouble {
    unseen: BTreeMap<Looked, String>,
    failure: Option<Failure>,
}

impl Trouble {
    /// Logs a failure.
    pub(super) fn log(&mut self, why: &str) {
        tracing::warn!(target: "fairways::machine", "{why}");
    }

    /// Records a failed look.
    pub(super) fn not_seen(&mut self, what: Looked, why: &dyn Display) {
        let line = format!("{}: {why}", what.unknown());
        self.log(&line);
        self.unseen.insert(what, line);
    }

    /// Records a look that succeeded, or that is no longer needed.
    pub(super) fn seen(&mut self, what: Looked) {
        self.unseen.remove(&what);
    }

    /// What is unknown now, a line each.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &String> {
        self.unseen.values()
    }

    /// Records a failure that ends all events of this host.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
    }

    pub(super) const fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}
