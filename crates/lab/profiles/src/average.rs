//! The average profile of a run of several phases.

use fairways_core::{Curve, Profile};

use crate::phased::ProgramPhase;
use crate::table::{ProfileMetric, ProfileTable, q32};

/// The averages of a run of `instructions`, at least 1, alone with each number of ways.
pub(crate) fn average(table: &ProfileTable, phases: &[ProgramPhase], instructions: u64) -> Profile {
    let shares = shares(phases, instructions);
    // The mean of a metric by ways, weighted by `weight` of a phase's instructions and IPC.
    let mean = |metric: ProfileMetric, weight: fn(f64, f64) -> f64| {
        Curve::from_fn(table.ways(), |ways| {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (phase, &share) in phases.iter().zip(&shares) {
                let row = &table.rows(phase.program)[ways as usize - 1];
                let weight = weight(share as f64, row[ProfileMetric::Ipc as usize]);
                sum += weight * row[metric as usize];
                weights += weight;
            }
            q32(sum / weights)
        })
    };
    Profile {
        // Instructions a cycle, over cycles: the sum is the run's instructions.
        ipc: mean(ProfileMetric::Ipc, cycles),
        llcmpki: mean(ProfileMetric::Llcmpki, |instructions, _| instructions),
        llcmpkc: mean(ProfileMetric::Llcmpkc, cycles),
        bandwidth_mbps: mean(ProfileMetric::BandwidthMbps, cycles),
        stalls_l2_miss: mean(ProfileMetric::StallsL2Miss, cycles),
    }
}

fn cycles(instructions: f64, ipc: f64) -> f64 {
    instructions / ipc
}

/// The number of a run's instructions that each phase gets.
fn shares(phases: &[ProgramPhase], run: u64) -> Vec<u64> {
    // `None` where the phases do not begin again: the last takes the rest, or they are longer
    // together than any run.
    let round = phases.iter().try_fold(0u64, |sum, phase| sum.checked_add(phase.instructions?));
    let (rounds, mut left) = round.map_or((0, run), |round| (run / round, run % round));
    let shares = phases.iter().map(|phase| {
        let last = phase.instructions.map_or(left, |most| most.min(left));
        left -= last;
        rounds * phase.instructions.unwrap_or(0) + last
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_table;
    use fairways_core::Q32;

    fn phases(phases: &[(usize, Option<u64>)]) -> Vec<ProgramPhase> {
        phases
            .iter()
            .map(|&(program, instructions)| ProgramPhase { program, instructions })
            .collect()
    }

    fn row(name: &str, ways: u32, ipc: f64, mpki: f64, mbps: f64) -> String {
        let values = ProfileMetric::ALL.map(|metric| match metric {
            ProfileMetric::Ipc => ipc,
            ProfileMetric::Llcmpki => mpki,
            ProfileMetric::Llcmpkc => mpki * ipc,
            ProfileMetric::BandwidthMbps => mbps,
            _ => 0.0,
        });
        format!("{name},{ways},{}", values.map(|value| value.to_string()).join(","))
    }

    /// Two ways: "slow" has IPC 0.5 and 1, "fast" 2 at both; "slow" misses 10 and 4 times per 1000
    /// instructions, "fast" once.
    fn table() -> ProfileTable {
        let header =
            format!("BENCH,NR_WAYS,{}", ProfileMetric::ALL.map(ProfileMetric::column).join(","));
        let rows = [
            header,
            row("slow", 1, 0.5, 10.0, 900.0),
            row("slow", 2, 1.0, 4.0, 600.0),
            row("fast", 1, 2.0, 1.0, 300.0),
            row("fast", 2, 2.0, 1.0, 300.0),
        ];
        read_table(rows.join("\n").as_bytes(), "t.csv").unwrap()
    }

    #[test]
    fn phases_begin_again_until_the_run_is_done() {
        let cycle = phases(&[(0, Some(3)), (1, Some(5)), (0, Some(2))]);
        assert_eq!(shares(&cycle, 2), [2, 0, 0]);
        assert_eq!(shares(&cycle, 10), [3, 5, 2]);
        assert_eq!(shares(&cycle, 29), [3 * 2 + 3, 5 * 2 + 5, 2 * 2 + 1]);
        // Exact where a float is not: 2^64 - 1 is 1844674407370955161 rounds and 5 more.
        let rounds = u64::MAX / 10;
        assert_eq!(shares(&cycle, u64::MAX), [3 * rounds + 3, 5 * rounds + 2, 2 * rounds]);
        let longer_than_any_run = phases(&[(0, Some(u64::MAX)), (1, Some(7))]);
        assert_eq!(shares(&longer_than_any_run, u64::MAX), [u64::MAX, 0]);
    }

    #[test]
    fn a_last_phase_may_take_the_rest() {
        let rest = phases(&[(0, Some(3)), (1, Some(5)), (0, None)]);
        assert_eq!(shares(&rest, 29), [3, 5, 21]);
        assert_eq!(shares(&rest, 7), [3, 4, 0]);
    }

    fn near(curve: Curve, expected: [f64; 2]) {
        for (value, expected) in curve.values().iter().zip(expected) {
            let value = value.raw() as f64 / Q32::ONE.raw() as f64;
            assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
        }
    }

    #[test]
    fn averages_are_over_the_run() {
        let phases = phases(&[(0, Some(100)), (1, Some(300))]);
        // Two rounds, 200 instructions slow and 600 fast: 400 and 300 cycles with 1 way, 200 and
        // 300 with 2; 2 + 0.6 misses with 1 way, 0.8 + 0.6 with 2.
        let profile = average(&table(), &phases, 800);
        near(profile.ipc, [800.0 / 700.0, 800.0 / 500.0]);
        near(profile.llcmpki, [2.6 / 0.8, 1.4 / 0.8]);
        near(profile.llcmpkc, [2.6 / 0.7, 1.4 / 0.5]);
        let mbps =
            [(400.0 * 900.0 + 300.0 * 300.0) / 700.0, (200.0 * 600.0 + 300.0 * 300.0) / 500.0];
        near(profile.bandwidth_mbps, mbps);
    }
}
