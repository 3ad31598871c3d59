//! Counts the containers that the runtime announced.

use std::time::Duration;

/// Totals since the daemon's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NriTotals {
    /// Whether a runtime has accepted the plugin, and still has it.
    pub(crate) connected: bool,
    /// Containers that started once the loop had handled them.
    pub(crate) in_time: u64,
    /// Containers that started before.
    pub(crate) late: u64,
    /// Wrong annotations, counted each time that a container with one was announced.
    pub(crate) wrong_annotations: u64,
    /// How long all containers together waited for the daemon.
    pub(crate) waited: Duration,
}

impl NriTotals {
    /// Records the start of a container that waited this long.
    pub(super) fn started(&mut self, waited: Duration, is_in_time: bool) {
        self.waited += waited;
        *if is_in_time { &mut self.in_time } else { &mut self.late } += 1;
    }

    /// Records the end of a connection. Returns whether the runtime had accepted the plugin.
    pub(super) fn disconnect(&mut self) -> bool {
        std::mem::take(&mut self.connected)
    }
}
