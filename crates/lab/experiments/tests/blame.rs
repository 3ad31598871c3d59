//! How near an attribution comes to the truth on the chip, on some of the mixes of
//! `examples/results/blame-truth.csv`, whose truth that file has. All of them are compared by
//! `examples/blame.rs`; the figures are in docs/blame.md.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use fairways_experiments::blame::{
    BlameAccuracy, Readings, VictimTruth, accuracy_of_blame, estimate, mixes_on_chip,
};
use rayon::prelude::*;

/// The sizes of the first mixes.
const SIZES: [usize; 4] = [4, 8, 4, 4];

fn accuracy(policy: &str, readings: Readings) -> BlameAccuracy {
    let table = include_bytes!("../examples/results/blame-truth.csv");
    let rows = csv::Reader::from_reader(&table[..]).into_deserialize();
    let rows: Vec<VictimTruth> = rows.collect::<Result<_, csv::Error>>().unwrap();
    let mixes = mixes_on_chip(&SIZES, rows[0].seed);
    let found = mixes.par_iter().map(|mix| {
        let rows = rows.iter().filter(|row| row.mix == mix.number && row.policy == policy);
        let rows: Vec<VictimTruth> = rows.cloned().collect();
        assert!(rows.iter().map(|row| &row.program).eq(&mix.programs), "the mix of the table");
        let found = estimate(mix, policy, readings, &rows).unwrap();
        rows.into_iter().zip(found).collect::<Vec<_>>()
    });
    let all: Vec<_> = found.collect::<Vec<_>>().concat();
    let accuracy = accuracy_of_blame(&all);
    println!("{policy}, {readings:?}: {accuracy:?}");
    accuracy
}

#[test]
fn without_partitioning_slowdowns_and_culprits_are_found() {
    let found = accuracy("stock", Readings::All);
    assert!(found.median_error <= 0.05, "{found:?}");
    let [ours, cpi2, _] = found.culprit_right;
    assert!(ours.unwrap() >= 0.9 && ours > cpi2, "{found:?}");
}

#[test]
fn under_policies_slowdowns_are_found() {
    for policy in ["lfoc", "fairways"] {
        let found = accuracy(policy, Readings::All);
        assert!(found.median_error <= 0.03, "{policy}: {found:?}");
        assert!(found.culprit_right[0] > found.culprit_right[1], "{policy}: {found:?}");
    }
}

#[test]
fn by_counters_alone_occupancies_are_estimated_and_culprits_found() {
    let found = accuracy("stock", Readings::Counters);
    // In ways, of these 20 programs: 0.14 and 1.38; over all mixes, 0.06 and 1.04.
    let [median, p95] = found.occupancy_error;
    assert!(median <= 0.15 && p95 <= 1.4, "{found:?}");
    assert!(found.median_error <= 0.05, "{found:?}");
    assert!(found.culprit_right[0] > found.culprit_right[1], "{found:?}");
}
