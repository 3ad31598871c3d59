//! The signals that the daemon handles.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Signals that have come. Each of them ends the host's wait.
pub(super) struct Signals {
    /// Whether a signal came that is not handled yet.
    pub(super) came: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

/// What to do about the signals that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// SIGINT or SIGTERM: to stop, and restore everything.
    End,
    /// SIGHUP: to read the configuration again.
    Reload,
}

impl Signals {
    /// Handles signals from here on. No signal ends the process before everything is restored, not
    /// even a second one; SIGKILL does, and `fairways restore` restores what it left.
    pub(super) fn take() -> io::Result<Self> {
        let flag = Arc::<AtomicBool>::default;
        let signals = Self { came: flag(), ends: flag(), interrupted: flag(), reload: flag() };
        let Self { came, ends, interrupted, reload } = &signals;
        flag::register(SIGTERM, Arc::clone(ends))?;
        flag::register(SIGINT, Arc::clone(interrupted))?;
        flag::register(SIGINT, Arc::clone(ends))?;
        flag::register(SIGHUP, Arc::clone(reload))?;
        // Set last, so that a thread that sees that a signal came also sees which one.
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            flag::register(signal, Arc::clone(came))?;
        }
        Ok(signals)
    }

    /// A flag that is set once a signal asks the daemon to stop.
    pub(super) fn ends(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ends)
    }

    /// The next request that is not handled yet. A request to stop comes first.
    pub(super) fn asked(&self) -> Option<Asked> {
        self.came.store(false, Ordering::SeqCst);
        if self.ends.load(Ordering::SeqCst) {
            return Some(Asked::End);
        }
        self.reload.swap(false, Ordering::SeqCst).then_some(Asked::Reload)
    }

    /// Whether a signal came that is not handled yet.
    pub(super) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }

    /// Whether a signal asked the daemon to stop.
    pub(super) fn ended(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }

    /// Whether a user has seen enough (SIGINT), rather than a service manager (SIGTERM).
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
