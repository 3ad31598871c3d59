//! What the daemon is told by signals.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Signals that have come. Each of them ends the host's wait.
pub(super) struct Signals {
    /// Whether one came that is not heeded yet.
    pub(super) came: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

/// What to do about the signals that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// SIGINT or SIGTERM: to stop, and put all back.
    End,
    /// SIGHUP: to read the configuration anew.
    Reload,
}

impl Signals {
    /// Takes them from here on: none ends the process before all is put back, not even a second one; SIGKILL does, and
    /// `fairways restore` puts back what it left.
    pub(super) fn take() -> io::Result<Self> {
        let flag = Arc::<AtomicBool>::default;
        let signals = Self { came: flag(), ends: flag(), interrupted: flag(), reload: flag() };
        let Self { came, ends, interrupted, reload } = &signals;
        flag::register(SIGTERM, Arc::clone(ends))?;
        flag::register(SIGINT, Arc::clone(interrupted))?;
        flag::register(SIGINT, Arc::clone(ends))?;
        flag::register(SIGHUP, Arc::clone(reload))?;
        // After what they ask, so that whoever sees that one came sees what.
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            flag::register(signal, Arc::clone(came))?;
        }
        Ok(signals)
    }

    /// Set when one came that asks to stop.
    pub(super) fn ends(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ends)
    }

    /// What is asked, each time once; to stop comes first.
    pub(super) fn asked(&self) -> Option<Asked> {
        self.came.store(false, Ordering::SeqCst);
        if self.ends.load(Ordering::SeqCst) {
            return Some(Asked::End);
        }
        self.reload.swap(false, Ordering::SeqCst).then_some(Asked::Reload)
    }

    /// Whether one came that is not heeded yet.
    pub(super) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }

    /// Whether a user has seen enough (SIGINT), rather than a service manager (SIGTERM).
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }
}
