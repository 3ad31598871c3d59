//! The largest total performance (§3.5, decision 8), where it is not what single ways suggest.

use super::bench::Bench;
use super::programs::{Does, IDLE, SENSITIVE, STREAMING, Table};
use crate::dcat::{Parameters, SpareWaysGoal};

fn bench(objective: SpareWaysGoal, thr: u32) -> Bench {
    let ipc_imp_thr = fairways_core::Q32::from_int(thr);
    Bench::new(10, Parameters { objective, ipc_imp_thr, ..Parameters::default() })
}

/// Two ways of the one bring less together than two of the other, though its last brings most.
#[test]
fn a_baseline_is_taken_where_the_sum_loses_least() {
    for (objective, ways) in
        [(SpareWaysGoal::MaxPerformance, [5, 3, 2]), (SpareWaysGoal::MaxFairness, [3, 5, 2])]
    {
        let mut bench = bench(objective, 2);
        bench.start(0, 2, Does { ipc: &[940, 1000, 1060, 1120, 1180], ..SENSITIVE });
        bench.start(1, 2, Does { ipc: &[940, 1000, 1010, 1010, 1110], ..SENSITIVE });
        bench.rounds(4);
        assert_eq!([0, 1].map(|app| bench.ways(app)), [5, 5]);
        bench.start(2, 2, STREAMING);
        assert_eq!([0, 1, 2].map(|app| bench.ways(app)), ways);
    }
}

const SIXTY: Table = &[940, 1000, 1060, 1120, 1180, 1240, 1300, 1360, 1420, 1480];
const A_LITTLE_MORE: Table = &[940, 1000, 1065, 1130, 1195, 1260, 1325, 1390, 1455, 1520];
const MUCH_MORE: Table = &[940, 1000, 1120, 1240, 1360, 1480, 1600, 1720, 1840, 1960];

/// The first program is known with every number of ways, and so is the second, which has most of
/// the ways when the first comes back.
fn comes_back(objective: SpareWaysGoal, first: Table) -> [u32; 2] {
    let mut bench = bench(objective, 5);
    let first = Does { ipc: first, ..SENSITIVE };
    bench.start(0, 2, first);
    bench.rounds(10);
    assert_eq!(bench.ways(0), 10);
    bench.becomes(0, IDLE);
    bench.round();
    bench.start(1, 2, Does { ipc: SIXTY, ..SENSITIVE });
    bench.rounds(10);
    assert_eq!([bench.ways(0), bench.ways(1)], [1, 9]);
    bench.becomes(0, first);
    bench.round();
    assert_eq!([bench.ways(0), bench.ways(1)], [2, 8]);
    bench.rounds(3);
    [bench.ways(0), bench.ways(1)]
}

#[test]
fn ways_move_where_they_bring_more_once_both_tables_are_known() {
    assert_eq!(comes_back(SpareWaysGoal::MaxPerformance, MUCH_MORE), [8, 2]);
    // Evened out, whatever they bring.
    assert_eq!(comes_back(SpareWaysGoal::MaxFairness, MUCH_MORE), [5, 5]);
}

/// Six ways would bring 3 % of a baseline's IPC.
#[test]
fn ways_do_not_move_for_less_than_the_threshold() {
    assert_eq!(comes_back(SpareWaysGoal::MaxPerformance, A_LITTLE_MORE), [2, 8]);
}
