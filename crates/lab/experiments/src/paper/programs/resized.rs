//! Real programs' profiles on caches of other sizes.
//!
//! The corpus has a program's misses behind an L1 of 8 KB with 48 KB to 1.5 MB of L2, in steps of
//! 48 KB. On these chips it makes the references that reach its L2, with these misses at the size
//! of each number of ways; in between they lie on a line, and below 48 KB on the one to no cache,
//! with which each reference misses. This was written down before any policy ran on real programs.
//!
//! An instruction takes as long as the models' do (`fairways_chip::program::named`): a cycle, and a
//! load two more. Profiles have loads and stores together, of which a quarter count as stores, as
//! in the mean of the models. A program waits for misses one after the other, as on the T1.
//!
//! Unlike with the models, stores that hit the L1 do not go on to the L2, no code is fetched, and
//! the L1 is a program's own, even if the core has several threads: a profile has none of this.

use fairways_chip::program::{Accesses, MissCurve};
use fairways_chip::{Geometry, SimulatedProgram};
use fairways_profiles::{ProfileMetric, ProfileTable, between_ways};

/// The size of a way in the profiles, KB.
const WAY_KB: f64 = 48.0;

/// Waits of a load for its use, in cycles, and loads among loads and stores.
const LOAD_CYCLES: f64 = 2.0;
const LOADS: f64 = 0.75;

/// Misses per 1000 instructions with an L2 of this size.
pub(super) fn misses_at(table: &ProfileTable, program: usize, kb: f64) -> f64 {
    let misses: Vec<f64> = table.values(program, ProfileMetric::Llcmpki).collect();
    between_ways(references(table, program), &misses, kb / WAY_KB)
}

/// The program on a chip, with this many misses under way; `None` if it has no references.
pub(super) fn simulated(
    table: &ProfileTable,
    program: usize,
    chip: &Geometry,
    overlap: f64,
) -> Option<SimulatedProgram> {
    let way_kb = chip.way_bytes() as f64 / 1024.0;
    let ways = 1..=chip.llc.ways.get();
    let misses: Vec<f64> =
        ways.map(|ways| misses_at(table, program, way_kb * f64::from(ways))).collect();
    let curve = MissCurve::new(references(table, program), &misses).ok()?;
    Some(SimulatedProgram::new(Accesses::Curve(curve), base_cpi(table, program), overlap))
}

/// References per 1000 instructions that reach the L2.
fn references(table: &ProfileTable, program: usize) -> f64 {
    table.values(program, ProfileMetric::Llcrpki).next().unwrap_or(0.0)
}

/// Cycles per instruction while everything hits the L1.
fn base_cpi(table: &ProfileTable, program: usize) -> f64 {
    1.0 + LOAD_CYCLES * LOADS * table.l1rpki(program).unwrap_or(0.0) / 1000.0
}

/// Misses per 1000 cycles by itself on a chip, where it waits for each miss.
pub(super) fn misses_per_kilocycle(table: &ProfileTable, program: usize, chip: &Geometry) -> f64 {
    let kb = chip.way_bytes() as f64 * f64::from(chip.llc.ways.get()) / 1024.0;
    let (references, misses) = (references(table, program), misses_at(table, program, kb));
    let hits = (references - misses) * f64::from(chip.latency.llc);
    let waits = (hits + misses * f64::from(chip.latency.memory)) / 1000.0;
    misses / (base_cpi(table, program) + waits)
}

/// Stores per 1000 instructions that hit the L1, as many of them as of loads.
pub(super) fn stores_per_kilo(table: &ProfileTable, program: usize) -> f64 {
    let hits = table.l1rpki(program).unwrap_or(0.0) - references(table, program);
    (1.0 - LOADS) * hits.max(0.0)
}

#[cfg(test)]
mod tests {
    use fairways_chip::preset::preset;
    use fairways_core::Ways;

    use super::*;

    /// 90 references, 60 misses with a way, and 3 fewer with each further one.
    fn table() -> ProfileTable {
        let ways = Ways::new(20).expect("a number of ways");
        ProfileTable::measured("a", ways, 400.0, |metric, ways| match metric {
            ProfileMetric::Llcrpki => 90.0,
            ProfileMetric::Llcmpki => 63.0 - 3.0 * f64::from(ways),
            _ => 1.0,
        })
    }

    #[test]
    fn misses_lie_on_lines_between_the_measured_sizes() {
        let found =
            [0.0, 24.0, 48.0, 60.0, 96.0, 960.0, 2000.0].map(|kb| misses_at(&table(), 0, kb));
        assert_eq!(found, [90.0, 75.0, 60.0, 59.25, 57.0, 3.0, 3.0]);
    }

    #[test]
    fn a_program_has_its_misses_at_the_size_of_each_way_of_the_chip() {
        let chip = preset("t1-single").expect("a preset");
        let program = simulated(&table(), 0, &chip, 2.0).expect("a program");
        // Eight ways of 32 KB.
        let misses = (1..=8).map(|ways| misses_at(&table(), 0, 32.0 * f64::from(ways)));
        let curve = MissCurve::new(90.0, &misses.collect::<Vec<f64>>()).expect("a curve");
        let expected = SimulatedProgram::new(Accesses::Curve(curve), 1.6, 2.0);
        assert_eq!(program, expected);
        // 47 misses with 256 KB: 1.6 cycles, 43 hits of 23 and 47 misses of 110.
        let cycles = 1.6 + (43.0 * 23.0 + 47.0 * 110.0) / 1000.0;
        let found = misses_per_kilocycle(&table(), 0, &chip);
        assert!((found - 47.0 / cycles).abs() < 1e-9, "{found}");
    }
}
