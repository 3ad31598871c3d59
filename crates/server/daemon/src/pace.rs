//! How often the host is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairways_host::machine::Host;

/// How old what `status` shows may be while the host does not change.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// When the host was shown last.
pub(super) struct TurnPace {
    changes: Option<u64>,
    shown_at: Instant,
    has_signal: Arc<AtomicBool>,
}

impl TurnPace {
    /// `has_signal`: whether a signal came that is not handled yet.
    pub(super) fn new(has_signal: Arc<AtomicBool>) -> Self {
        Self { changes: None, shown_at: Instant::now(), has_signal }
    }

    /// Whether the host is to be shown now.
    pub(super) fn is_due(&mut self, host: &Host) -> bool {
        // A container that starts does not wait for what is shown.
        if host.has_announcements() {
            return false;
        }
        // The host does not count that a scheduler ends, or that journals or policies fail.
        let is_as_before = self.changes.replace(host.changes()) == Some(host.changes());
        let is_recent =
            self.shown_at.elapsed() < SHOWN_EVERY && !self.has_signal.load(Ordering::SeqCst);
        if is_as_before && is_recent && host.scheduler().is_none() {
            return false;
        }
        self.shown_at = Instant::now();
        true
    }
}
