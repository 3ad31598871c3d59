//! Energy of programs, in the state that people see.

use fairways_core::AppId;
use fairways_host::machine::Host;
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

/// A millionth, in which resctrl's client counts joules and farads.
const MILLIONTHS: f64 = 1e6;

/// Shows the counts of packages for programs, if they count anything.
pub(super) fn show(host: &Host, watched: &Mutex<MachineRecord>) {
    let Some(actuator) = host.actuator().filter(|of| !of.package_events().is_empty()) else {
        return;
    };
    for program in &mut watched.lock().status.programs {
        let counts = actuator.package_counts(AppId(program.app));
        program.core_energy_joules = counts.core_energy_uj.map(in_units);
        program.activity_farads = counts.activity_uf.map(in_units);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rounded number of joules is good enough")]
fn in_units(millionths: u64) -> f64 {
    millionths as f64 / MILLIONTHS
}
