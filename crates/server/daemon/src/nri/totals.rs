//! What became of the containers that the runtime announced.

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
    /// Annotations with a value that is wrong, each time that a container with it was announced.
    pub(crate) wrong_annotations: u64,
    /// How long containers waited for the daemon together.
    pub(crate) waited: Duration,
}

impl NriTotals {
    /// A container starts after it has waited so long.
    pub(super) fn started(&mut self, waited: Duration, is_in_time: bool) {
        self.waited += waited;
        *if is_in_time { &mut self.in_time } else { &mut self.late } += 1;
    }

    /// The connection is over. Returns whether the runtime had accepted the plugin.
    pub(super) fn disconnect(&mut self) -> bool {
        std::mem::take(&mut self.connected)
    }
}
