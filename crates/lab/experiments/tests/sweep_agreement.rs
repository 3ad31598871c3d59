//! The policies' integer sweep and the scores' floating-point sweep agree to 10^-6.

#![allow(clippy::unwrap_used)]

mod common;

use fairways_core::{Curve, Q32, WayMask, Ways};
use fairways_policy::{Occupancy, Reference, interpolate, slowdown_table, sweep_step};
use fairways_profiles::generate::{BehaviourKind, MemoryBehaviour, ProfilingMachine};
use fairways_profiles::{ProfileMetric, ProfileTable, Scorer, embedded, read_table};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn float(value: Q32) -> f64 {
    value.raw() as f64 / (1u64 << 32) as f64
}

fn ways(x: Occupancy) -> f64 {
    x.raw() as f64 / (1u64 << 56) as f64
}

/// The largest difference between the two, in occupancies and slowdowns, as these programs share 1
/// way, 2 ways, and so on.
fn disagreement(table: &ProfileTable, programs: &[usize]) -> f64 {
    let all = table.ways();
    let profiles: Vec<_> = programs.iter().map(|&program| table.profile(program)).collect();
    let slowdowns: Vec<Curve> =
        profiles.iter().map(|profile| slowdown_table(&profile.ipc, all, Reference::Best)).collect();
    let mut occupancy = vec![Occupancy::default(); programs.len()];
    let mut scorer = Scorer::new(table, programs, all, None);
    let mut worst: f64 = 0.0;
    for count in 1..=all.get() {
        sweep_step(profiles.iter().map(|profile| &profile.llcmpkc), &mut occupancy);
        let scored = scorer.score(&vec![WayMask::span(0, count); programs.len()]).unwrap().to_vec();
        for (member, &x) in occupancy.iter().enumerate() {
            let slowdown = float(interpolate(&slowdowns[member], x));
            let off = [ways(x) - scorer.occupancy()[member], slowdown - scored[member]];
            assert!(off.iter().all(|off| off.is_finite()), "{off:?}");
            worst = off.map(f64::abs).into_iter().fold(worst, f64::max);
        }
    }
    worst
}

#[test]
fn on_pairs_of_measured_programs() {
    let Some(folder) = common::shared("sweeps of measured programs") else {
        return;
    };
    let (table, mixes) = common::spec(&folder);
    let mut worst: f64 = 0.0;
    for first in 0..table.names().len() {
        for second in first..table.names().len() {
            worst = worst.max(disagreement(&table, &[first, second]));
        }
    }
    for mix in &mixes {
        worst = worst.max(disagreement(&table, &mix.programs));
    }
    assert!(worst <= 1e-6, "off by {worst:e}");
}

/// A profile file of programs with these IPCs and LLCMPKCs, in 1024ths: both sweeps represent these
/// numbers exactly, because wild curves magnify a difference in the input, too.
fn file(programs: &[(Vec<u32>, Vec<u32>)]) -> String {
    let mut text = String::from("BENCH,NR_WAYS");
    for metric in ProfileMetric::ALL {
        text += &format!(",{}", metric.column());
    }
    text.push('\n');
    for (program, (ipc, llcmpkc)) in programs.iter().enumerate() {
        for (ways, (ipc, llcmpkc)) in (1..).zip(ipc.iter().zip(llcmpkc)) {
            let row = ProfileMetric::ALL.map(|metric| match metric {
                ProfileMetric::Ipc => f64::from(*ipc) / 1024.0,
                ProfileMetric::Llcmpkc => f64::from(*llcmpkc) / 1024.0,
                _ => 0.0,
            });
            text += &format!("p{program},{ways},{}\n", row.map(|v| v.to_string()).join(","));
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_random_groups_of_generated_programs(seed: u64, count in 1usize..12, ways in 1u32..=32) {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let kinds = [BehaviourKind::Streaming, BehaviourKind::Sensitive, BehaviourKind::Light];
        let programs: Vec<_> = (0..count)
            .map(|number| MemoryBehaviour::random(kinds[number % 3], &mut rng))
            .collect();
        let platform = ProfilingMachine { ways: Ways::new(ways).unwrap(), ..ProfilingMachine::EMBEDDED };
        let table = platform.table(&programs, seed);
        let worst = disagreement(&table, &(0..count).collect::<Vec<_>>());
        prop_assert!(worst <= 1e-6, "off by {worst:e}");
    }

    /// Curves with cliffs and rises that no program would have. A pressure is 0 everywhere or
    /// nowhere: where all are 0 the way is split evenly, next to that it is not, so that the least
    /// difference decides.
    #[test]
    fn on_random_groups_of_wild_curves(
        programs in prop::collection::vec(
            (
                prop::collection::vec(200u32..4000, 11),
                prop_oneof![
                    1 => Just(vec![0; 11]),
                    9 => prop::collection::vec(50u32..60_000, 11),
                ],
            ),
            1..6,
        )
    ) {
        let table = read_table(file(&programs).as_bytes(), "wild.csv").unwrap();
        let worst = disagreement(&table, &(0..programs.len()).collect::<Vec<_>>());
        prop_assert!(worst <= 1e-6, "off by {worst:e}");
    }
}

#[test]
fn on_every_pair_of_embedded_programs() {
    let table = embedded();
    for first in 0..table.names().len() {
        for second in first..table.names().len() {
            let worst = disagreement(table, &[first, second]);
            assert!(worst <= 1e-6, "{first} and {second} are off by {worst:e}");
        }
    }
}
