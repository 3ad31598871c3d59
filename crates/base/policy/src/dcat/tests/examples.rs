//! The worked examples of the paper.

use alloc::vec::Vec;

use fairways_core::{AppId, Q32};

use super::bench::Bench;
use super::programs::{Does, HUNGRY, SENSITIVE, STREAMING};
use crate::dcat::performance::best;
use crate::dcat::phase::Phase;
use crate::dcat::{Parameters, SpareWaysGoal, WorkloadClass};

const FIVE: Q32 = Q32::from_int(5);

/// A table of normalised IPC in hundredths, of a program with so many thousandths of IPC.
fn table(unit: u64, entries: &[(u32, u64)]) -> Phase {
    let mut phase = Phase::default();
    for &(ways, normalised) in entries {
        phase.record(ways, Q32::ratio(unit * normalised, 100_000));
    }
    phase
}

const TABLE_1: [(u32, u64); 7] =
    [(2, 90), (3, 100), (4, 115), (5, 125), (6, 130), (7, 130), (8, 130)];

#[test]
fn table_1_marks_six_ways_as_preferred() {
    let phase = table(2500, &TABLE_1);
    assert_eq!(phase.preferred(3, FIVE), Some(6));
    // Of more than 5 %, the last step is too little.
    assert_eq!(phase.preferred(3, Q32::from_int(6)), Some(5));
    // Without entries above the baseline, the baseline; without a baseline, nothing.
    assert_eq!(table(2500, &TABLE_1[..2]).preferred(3, FIVE), Some(3));
    assert_eq!(table(2500, &TABLE_1[2..]).preferred(3, FIVE), None);
}

#[test]
fn table_1_marks_six_ways_whatever_the_ipc_that_it_is_normalised_by() {
    for unit in [250, 500, 1000, 1100, 2000, 2500] {
        assert_eq!(table(unit, &TABLE_1).preferred(3, FIVE), Some(6), "{unit}");
    }
}

/// §3.5: "2 cache-sensitive workloads run in a host while 4 cache ways are still available".
#[test]
fn four_spare_ways_are_split_two_and_two_whatever_they_bring() {
    let modest = Does { ipc: &[940, 1000, 1060, 1120, 1180, 1240, 1300, 1360], ..HUNGRY };
    for (a, b) in [(modest, HUNGRY), (HUNGRY, modest)] {
        let mut bench = Bench::with(8, &[(2, a), (2, b)]);
        bench.rounds(6);
        assert_eq!([bench.is(0), bench.is(1)], [(WorkloadClass::Receiver, 4); 2]);
    }
}

const A: Does = Does { ipc: &[900, 1000, 1050, 1080, 1120], ..SENSITIVE };
const B: Does = Does { ipc: &[900, 1000, 1100, 1200, 1250], ..SENSITIVE };

fn sum(tables: &[Vec<(u32, Q32)>], ways: &[u32]) -> u64 {
    let value = |(table, ways): (&Vec<(u32, Q32)>, &u32)| {
        table.iter().find(|entry| entry.0 == *ways).unwrap().1.raw()
    };
    tables.iter().zip(ways).map(value).sum()
}

/// §3.5, as far as it is arithmetic: "giving A 3 ways and B 5 ways is the best choice".
#[test]
fn three_and_five_ways_have_the_largest_sum_beside_a_third_workload() {
    let entries = |does: Does| -> Vec<(u32, Q32)> {
        (2..=5).zip(&does.ipc[1..]).map(|(ways, &ipc)| (ways, Q32::ratio(ipc, 1000))).collect()
    };
    let about = |sum: u64, tenths: u64| sum.abs_diff(Q32::ratio(tenths, 10).raw()) < 16;
    let mut tables = Vec::from([entries(A), entries(B)]);
    assert_eq!(best(&tables, &[5, 5], 8), Some(Vec::from([3, 5])));
    assert!(about(sum(&tables, &[3, 5]), 23));
    tables.push(Vec::from([(2, Q32::ONE)]));
    assert_eq!(best(&tables, &[5, 5, 2], 10), Some(Vec::from([3, 5, 2])));
    assert!(about(sum(&tables, &[3, 5, 2]), 33));
    // No entry is below a baseline: where these do not fit, nothing does.
    assert_eq!(best(&tables, &[5, 5, 2], 5), None);
}

/// Decision 8: "Ties: fewer ways moved".
#[test]
fn of_equal_sums_the_one_that_moves_fewer_ways_is_taken() {
    let table: Vec<(u32, Q32)> = (2..=6).map(|ways| (ways, Q32::from_int(ways))).collect();
    let tables = [table.clone(), table];
    for now in [[2, 6], [3, 5], [5, 3], [6, 2]] {
        assert_eq!(best(&tables, &now, 8), Some(now.to_vec()));
    }
}

fn most_performance() -> Bench {
    // A gains 3 % from 3 to 4 ways, and yet goes on to 5 in the paper.
    let ipc_imp_thr = Q32::from_int(2);
    let objective = SpareWaysGoal::MaxPerformance;
    Bench::new(10, Parameters { objective, ipc_imp_thr, ..Parameters::default() })
}

/// §3.5, with everything that leads there.
#[test]
fn a_third_workload_takes_its_baseline_where_the_sum_stays_largest() {
    for third in [SENSITIVE, STREAMING] {
        let mut bench = most_performance();
        bench.start(0, 2, A);
        bench.start(1, 2, B);
        // "At the beginning, the performance table is empty, dCat uses even distribution".
        for ways in [3, 4, 5, 5] {
            bench.round();
            assert_eq!([0, 1].map(|app| bench.ways(app)), [ways; 2]);
        }
        bench.start(2, 2, third);
        assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 5, 2]);
        let plans = bench.plans;
        bench.rounds(10);
        assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 5, 2]);
        assert_eq!(bench.plans, plans);
        let normalised = [(0, 3), (1, 5), (2, 2)]
            .map(|(app, ways)| bench.policy.normalised_ipc(AppId(app), ways).unwrap().raw());
        assert!(normalised.iter().sum::<u64>().abs_diff(Q32::ratio(33, 10).raw()) < 16);
    }
}

/// Where 3 % are too little, A stops by itself, and C still leaves 3 and 5.
#[test]
fn the_same_is_the_best_choice_with_the_default_threshold() {
    let objective = SpareWaysGoal::MaxPerformance;
    let mut bench = Bench::new(10, Parameters { objective, ..Parameters::default() });
    bench.start(0, 2, A);
    bench.start(1, 2, B);
    bench.rounds(8);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [3, 5]);
    bench.start(2, 2, SENSITIVE);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 5, 2]);
}
