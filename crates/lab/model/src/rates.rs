//! How fast programs run at their occupancy.

use fairways_core::{AppId, Partition};
use fairways_profiles::{Demand, DemandError, MemoryBandwidth, ProfiledProgram};

/// A program's counts in a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RatesPerSecond {
    pub(crate) instructions: f64,
    pub(crate) cycles: f64,
    /// NaN if the profile does not have it.
    pub(crate) l1_references: f64,
    pub(crate) llc_references: f64,
    pub(crate) llc_misses: f64,
    pub(crate) stalls_l2_miss: f64,
    pub(crate) memory_bytes: f64,
}

/// Computes the counts in a second of each of these programs at its occupancy (in ways), while the
/// levels of this plan are in force.
pub(crate) fn rates<'a>(
    mhz: f64,
    bandwidth: Option<MemoryBandwidth>,
    plan: &Partition,
    programs: impl Iterator<Item = (AppId, &'a ProfiledProgram, f64)> + Clone,
    rates: &mut Vec<RatesPerSecond>,
) -> Result<(), DemandError> {
    let cycles = mhz * 1e6;
    // How many times longer each takes because of its level and of other programs' demands on
    // memory.
    let mut longer = Vec::new();
    if let Some(bandwidth) = bandwidth {
        let mut demands: Vec<Demand> =
            programs.clone().map(|(_, program, x)| program.demand(x)).collect();
        bandwidth.limit(plan, programs.clone().map(|(app, ..)| app), &mut demands);
        longer.resize(demands.len(), 1.0);
        bandwidth.slow_down(&demands, &mut longer)?;
    }
    rates.clear();
    rates.extend(programs.enumerate().map(|(index, (_, program, x))| {
        let alone = program.rates(x);
        let longer = longer.get(index).copied().unwrap_or(1.0);
        let misses = cycles / 1000.0 * alone.llcmpkc / longer;
        let instructions = cycles * program.best_ipc() / (alone.slowdown * longer);
        RatesPerSecond {
            instructions,
            cycles,
            l1_references: program.l1rpki().map_or(f64::NAN, |rate| instructions / 1000.0 * rate),
            llc_references: (cycles / 1000.0 * alone.llcrpkc / longer).max(misses),
            llc_misses: misses,
            // The added time is waiting for memory.
            stalls_l2_miss: cycles * (alone.stalls_l2_miss + longer - 1.0) / longer,
            memory_bytes: alone.bandwidth_mbps * 1e6 / longer,
        }
    }));
    Ok(())
}
