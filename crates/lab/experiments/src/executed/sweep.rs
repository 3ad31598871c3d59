//! A program's profile with every number of ways, from one pass.

use fairways_chip::{Account, Profiler};
use fairways_profiles::{ProfileMetric, ProfileTable};

/// The measurements of a program up to now, as a profile file has them.
///
/// The chip has no store buffer, so nothing stalls for one. Programs do not wait for the bus.
#[must_use]
pub fn table_of(name: &str, profiler: &Profiler) -> ProfileTable {
    let chip = profiler.settings().chip;
    let l1rpki = per_kilo(profiler.references() as f64, profiler.instructions() as f64);
    let accounts: Vec<Account> =
        (1..=chip.llc.ways.get()).map(|ways| profiler.account(ways)).collect();
    ProfileTable::measured(name, chip.llc.ways, l1rpki, |metric, ways| {
        let account = accounts[ways as usize - 1];
        let (instructions, cycles) = (account.instructions as f64, account.cycles());
        let ticks = account.ticks.max(1) as f64;
        let (references, misses) = (account.llc_references as f64, account.llc_misses as f64);
        let mb_per_s = |lines: f64| 64.0 * lines * f64::from(chip.mhz) / cycles.max(1.0);
        let l2_ticks = profiler.l2_ticks();
        match metric {
            ProfileMetric::Ipc => instructions / cycles.max(1.0),
            ProfileMetric::Llcrpki => per_kilo(references, instructions),
            ProfileMetric::Llcmpki => per_kilo(misses, instructions),
            ProfileMetric::Llcrpkc => per_kilo(references, cycles),
            ProfileMetric::Llcmpkc => per_kilo(misses, cycles),
            ProfileMetric::LlcUsageKb => profiler.lines_held(ways) as f64 / 16.0,
            ProfileMetric::BandwidthMbps => mb_per_s(account.lines as f64),
            ProfileMetric::LlcmBandwidth => mb_per_s(misses),
            ProfileMetric::StallsL2Miss => account.stall_ticks as f64 / ticks,
            ProfileMetric::StallsL3Miss => profiler.memory_ticks(ways) as f64 / ticks,
            ProfileMetric::StallsTotal => (l2_ticks + account.stall_ticks) as f64 / ticks,
            ProfileMetric::StallsStoreBuf => 0.0,
        }
    })
}

fn per_kilo(count: f64, total: f64) -> f64 {
    1000.0 * count / total.max(1.0)
}
