//! A program as the analytic model reads it.

use fairways_core::{WayMask, Ways};

use crate::bandwidth::Demand;
use crate::series::WaySeries;
use crate::table::{ProfileMetric, ProfileTable};

/// A program of a table on a cache of some ways, interpolated between the way counts.
#[derive(Clone, Debug)]
pub struct ProfiledProgram {
    pressure: WaySeries,
    slowdown: WaySeries,
    bandwidth_mbps: WaySeries,
    stalls_total: WaySeries,
    stalls_l3_miss: WaySeries,
    stalls_store_buf: WaySeries,
    stalls_l2_miss: WaySeries,
    llcrpkc: WaySeries,
    best_ipc: f64,
    l1rpki: Option<f64>,
}

/// A program's rates at an occupancy while no other program uses memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramRates {
    /// How many times slower it runs than at its best.
    pub slowdown: f64,
    /// LLC references per 1000 core cycles.
    pub llcrpkc: f64,
    /// LLC misses per 1000 core cycles.
    pub llcmpkc: f64,
    /// Memory bandwidth, MB/s.
    pub bandwidth_mbps: f64,
    /// Share of cycles stalled while an L2 miss is outstanding, 0 to 1.
    pub stalls_l2_miss: f64,
    /// Share of cycles stalled while an L3 miss is outstanding, 0 to 1.
    pub stalls_l3_miss: f64,
    /// Share of cycles stalled because the store buffer is full, 0 to 1.
    pub stalls_store_buf: f64,
}

impl ProfiledProgram {
    /// The program with index `index` of `table` on a cache of `ways` ways, at most as many as the
    /// table has.
    #[must_use]
    pub fn new(table: &ProfileTable, index: usize, ways: Ways) -> Self {
        debug_assert!(ways <= table.ways());
        let series = |metric| table.series(index, metric, ways);
        let ipc = table.values(index, ProfileMetric::Ipc).take(ways.get() as usize);
        Self {
            pressure: series(ProfileMetric::Llcmpkc),
            slowdown: table.slowdown(index, ways),
            bandwidth_mbps: series(ProfileMetric::BandwidthMbps),
            stalls_total: series(ProfileMetric::StallsTotal),
            stalls_l3_miss: series(ProfileMetric::StallsL3Miss),
            stalls_store_buf: series(ProfileMetric::StallsStoreBuf),
            stalls_l2_miss: series(ProfileMetric::StallsL2Miss),
            llcrpkc: series(ProfileMetric::Llcrpkc),
            best_ipc: ipc.fold(0.0, f64::max),
            l1rpki: table.l1rpki(index),
        }
    }

    /// Instructions per cycle at the best way count: the reference of slowdowns.
    #[must_use]
    pub fn best_ipc(&self) -> f64 {
        self.best_ipc
    }

    /// L1 references per 1000 instructions, if the table has them.
    #[must_use]
    pub fn l1rpki(&self) -> Option<f64> {
        self.l1rpki
    }

    /// The same program with `l1rpki` L1 references per 1000 instructions.
    #[must_use]
    pub fn with_l1rpki(self, l1rpki: f64) -> Self {
        Self { l1rpki: Some(l1rpki), ..self }
    }

    /// The program's rates while it occupies `x` ways.
    #[must_use]
    pub fn rates(&self, x: f64) -> ProgramRates {
        // Below one way a curve continues as a line, which may leave the metric's range.
        ProgramRates {
            slowdown: self.slowdown.at(x),
            llcrpkc: self.llcrpkc.at(x),
            llcmpkc: self.pressure.at(x),
            bandwidth_mbps: self.bandwidth_mbps.at(x),
            stalls_l2_miss: self.stalls_l2_miss.at(x).min(1.0),
            stalls_l3_miss: self.stalls_l3_miss.at(x).min(1.0),
            stalls_store_buf: self.stalls_store_buf.at(x).min(1.0),
        }
    }

    /// How many times slower it runs than at its best while it occupies `x` ways.
    #[must_use]
    pub fn slowdown(&self, x: f64) -> f64 {
        self.slowdown.at(x)
    }

    /// Its pressure on shared ways while it occupies `x` of them: its LLC misses per 1000 cycles;
    /// where it occupies none, the misses with one way.
    #[must_use]
    pub fn pressure(&self, x: f64) -> f64 {
        self.pressure.pressure(x)
    }

    /// The program's demand on memory while it occupies `x` ways.
    #[must_use]
    pub fn demand(&self, x: f64) -> Demand {
        let stalls = self.stalls_total.at(x);
        let waits = self.stalls_l3_miss.at(x) + self.stalls_store_buf.at(x);
        let mbps = self.bandwidth_mbps.at(x);
        Demand { mbps, stalls, memory_stalls: waits.min(stalls), allowed: 1.0 }
    }
}

/// The occupancy sweep: way after way, from way 0 up, each is divided among the programs that may
/// fill it, in proportion to their pressure at their occupancy so far. For clusters that do not
/// overlap this is the published procedure, whatever the order of the ways.
///
/// Adds to `occupancy`, by program, and calls `share` for each part of a way: with the way, the
/// program's index in `programs`, and the part of the way that it gets.
pub(crate) fn sweep<'a>(
    programs: impl Iterator<Item = (&'a ProfiledProgram, WayMask)> + Clone,
    ways: Ways,
    fillers: &mut Vec<(usize, f64)>,
    occupancy: &mut [f64],
    mut share: impl FnMut(u32, usize, f64),
) {
    for way in 0..ways.get() {
        fillers.clear();
        let mut total = 0.0;
        for (index, (program, mask)) in programs.clone().enumerate() {
            if mask.contains(way) {
                let pressure = program.pressure(occupancy[index]);
                total += pressure;
                fillers.push((index, pressure));
            }
        }
        let even = 1.0 / fillers.len() as f64;
        for &(index, pressure) in &*fillers {
            let part = if total > 0.0 { pressure / total } else { even };
            occupancy[index] += part;
            share(way, index, part);
        }
    }
}

/// The part of each way that each program occupies if it may fill the ways of its mask. The part of
/// program `i` is at `[i * ways + way]`.
#[must_use]
pub fn divide<'a>(
    programs: impl Iterator<Item = (&'a ProfiledProgram, WayMask)> + Clone,
    ways: Ways,
) -> Vec<f64> {
    let count = programs.clone().count();
    let stride = ways.get() as usize;
    let mut parts = vec![0.0; count * stride];
    sweep(programs, ways, &mut Vec::new(), &mut vec![0.0; count], |way, program, part| {
        parts[program * stride + way as usize] = part;
    });
    parts
}
