//! Energy of programs, in the state that people see.

use std::sync::Arc;

use fairways_core::AppId;
use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::observer::HostObserver;

/// A millionth, in which resctrl's client counts joules and farads.
const MILLIONTHS: f64 = 1e6;

/// Shows what packages have counted of programs by now, where they count anything.
pub(super) struct Energy(pub(super) Arc<Mutex<MachineRecord>>);

impl HostObserver for Energy {
    fn turn(&mut self, host: &Host) {
        let Some(actuator) = host.actuator().filter(|of| !of.package_events().is_empty()) else {
            return;
        };
        for program in &mut self.0.lock().status.programs {
            let counts = actuator.package_counts(AppId(program.app));
            program.core_energy_joules = counts.core_energy_uj.map(in_units);
            program.activity_farads = counts.activity_uf.map(in_units);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rounded number of joules is good enough")]
fn in_units(millionths: u64) -> f64 {
    millionths as f64 / MILLIONTHS
}
