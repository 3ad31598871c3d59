//! What resctrl shows beside events, in the state that people see: energy of programs, and what
//! devices fill.

use std::collections::BTreeMap;

use fairways_core::{AppId, WayMask};
use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

/// A millionth, in which resctrl's client counts joules and farads.
const MILLIONTHS: f64 = 1e6;

/// Shows what devices fill, and what packages have counted of programs by now, where they count
/// anything.
pub(super) fn show(host: &Host, watched: &Mutex<MachineRecord>) {
    let Some(actuator) = host.actuator() else { return };
    let status = &mut watched.lock().status;
    let caches = actuator.domains().iter().map(|domain| (domain.id, domain.cache_id));
    let caches: BTreeMap<u32, u32> = caches.collect();
    for domain in &mut status.domains {
        let masks = actuator.io_masks().zip(caches.get(&domain.id));
        domain.io_mask = masks.and_then(|(masks, cache)| masks.get(cache)).map(WayMask::to_string);
    }
    if actuator.package_events().is_empty() {
        return;
    }
    for program in &mut status.programs {
        let counts = actuator.package_counts(AppId(program.app));
        program.core_energy_joules = counts.core_energy_uj.map(in_units);
        program.activity_farads = counts.activity_uf.map(in_units);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rounded number of joules is good enough")]
fn in_units(millionths: u64) -> f64 {
    millionths as f64 / MILLIONTHS
}
