//! Shows the ways that devices fill under a class of their own.

use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

/// Shows the ways that devices fill in each domain's cache, as of the last look. `were_shown` says
/// whether any were shown before, so that nothing is done if devices have no class.
pub(super) fn show(host: &Host, watched: &Mutex<MachineRecord>, were_shown: &mut bool) {
    let Some(actuator) = host.actuator() else { return };
    let masks = actuator.io_masks();
    if masks.is_none() && !*were_shown {
        return;
    }
    *were_shown = masks.is_some();
    for shown in &mut watched.lock().status.domains {
        let domain = actuator.domains().iter().find(|domain| domain.id == shown.id);
        let mask = domain.and_then(|domain| masks?.get(&domain.cache_id));
        shown.io_mask = mask.map(ToString::to_string);
    }
}
