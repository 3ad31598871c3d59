//! Shows the ways that devices fill under a class of their own.

use std::sync::Arc;

use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::observer::HostObserver;

/// Shows the ways that devices fill of each domain's cache, as last looked at.
pub(super) struct IoMaskObserver {
    watched: Arc<Mutex<MachineRecord>>,
    /// Whether any were shown, so that nothing is done where devices have no class.
    were_shown: bool,
}

impl IoMaskObserver {
    pub(super) const fn new(watched: Arc<Mutex<MachineRecord>>) -> Self {
        Self { watched, were_shown: false }
    }
}

impl HostObserver for IoMaskObserver {
    fn turn(&mut self, host: &Host) {
        let Some(actuator) = host.actuator() else { return };
        let masks = actuator.io_masks();
        if masks.is_none() && !self.were_shown {
            return;
        }
        self.were_shown = masks.is_some();
        for shown in &mut self.watched.lock().status.domains {
            let domain = actuator.domains().iter().find(|domain| domain.id == shown.id);
            let mask = domain.and_then(|domain| masks?.get(&domain.cache_id));
            shown.io_mask = mask.map(ToString::to_string);
        }
    }
}
