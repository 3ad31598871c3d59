//! Which programs a baseline is taken from (decision 7).

use fairways_core::{AppId, Counters};

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, IDLE, SENSITIVE, STREAMING, Table};
use crate::dcat::workload::Workload;
use crate::dcat::{Parameters, WorkloadClass, allocate};

/// Twice what [`HUNGRY`] gains.
const GREEDY: Does = Does {
    ipc: &[600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400, 2600, 2800, 3000, 3200],
    ..HUNGRY
};

#[test]
fn decision_7_ways_of_the_pool_are_taken_from_no_program() {
    let mut bench = Bench::with(20, &[(4, IDLE), (3, SENSITIVE)]);
    bench.rounds(8);
    assert_eq!([bench.ways(0), bench.ways(1)], [1, 6]);
    bench.becomes(0, HUNGRY);
    bench.round();
    assert_eq!(
        [bench.is(0), bench.is(1)],
        [(WorkloadClass::Reclaim, 4), (WorkloadClass::Keeper, 6)]
    );
}

/// §3.4: "dCat has to reclaim cache from those whose current cache size is larger than their
/// baseline".
#[test]
fn decision_7_the_one_that_loses_least_gives_and_none_goes_below_its_baseline() {
    for (a, b) in [(HUNGRY, GREEDY), (GREEDY, HUNGRY)] {
        let mut bench = Bench::with(12, &[(3, a), (3, b)]);
        bench.rounds(5);
        assert_eq!([bench.ways(0), bench.ways(1)], [6, 6]);
        let (least, most) = if a.ipc == HUNGRY.ipc { (0, 1) } else { (1, 0) };
        bench.start(2, 2, FITS);
        assert_eq!([least, most, 2].map(|app| bench.ways(app)), [4, 6, 2]);
        bench.start(3, 3, FITS);
        assert_eq!([least, most, 2, 3].map(|app| bench.ways(app)), [3, 4, 2, 3]);
        // And one way too many: the last program waits for it.
        bench.start(4, 2, FITS);
        assert_eq!([least, most, 2, 3, 4].map(|app| bench.ways(app)), [3, 3, 2, 3, 1]);
    }
}

#[test]
fn decision_7_an_idle_one_that_wakes_is_served_at_once() {
    let mut bench = Bench::with(12, &[(4, IDLE), (3, HUNGRY), (3, GREEDY)]);
    bench.rounds(8);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)).iter().sum::<u32>(), 12);
    assert_eq!(bench.ways(0), 1);
    bench.becomes(0, SENSITIVE);
    bench.round();
    assert_eq!(bench.is(0), (WorkloadClass::Reclaim, 4));
    assert!(bench.ways(1) >= 3 && bench.ways(2) >= 3);
}

/// A keeper that had one way taken would have it back.
#[test]
fn a_program_that_lost_ways_has_them_again_when_there_are_some() {
    let mut bench = Bench::with(9, &[(3, SENSITIVE)]);
    bench.rounds(6);
    assert_eq!(bench.is(0), (WorkloadClass::Keeper, 6));
    bench.start(1, 5, SENSITIVE);
    assert_eq!(bench.is(0), (WorkloadClass::Receiver, 4));
    bench.becomes(1, IDLE);
    bench.rounds(8);
    assert_eq!(bench.is(0), (WorkloadClass::Keeper, 6));
}

/// A workload that has seen these counts up to the one that it has.
fn learnt(app: u32, class: WorkloadClass, baseline: u32, ipc: Table) -> Workload {
    let parameters = Parameters::default();
    let mut one = Workload::new(AppId(app));
    one.rebase(baseline);
    for (ways, &ipc) in (1..).zip(ipc) {
        (one.ways, one.claim, one.class, one.is_steady) = (ways, 0, WorkloadClass::Keeper, true);
        let counters = Counters {
            instructions: Some(ipc * 1000),
            cycles: Some(1_000_000),
            l1_references: Some(ipc * 500),
            llc_references: Some(ipc * 20),
            llc_misses: Some(ipc * 2),
            ..Counters::default()
        };
        one.observe(&counters, false, &parameters);
        one.ways = ways;
    }
    (one.class, one.claim, one.jump, one.ways_before_growth) = (class, 0, None, None);
    one
}

#[test]
fn decision_7_unknown_ones_give_first_then_those_that_lose_least() {
    let claims = |claim: u32| {
        let mut all = [
            learnt(0, WorkloadClass::Receiver, 2, &[900, 1000, 1100, 1200]),
            learnt(1, WorkloadClass::Keeper, 2, &[900, 1000, 1030, 1060]),
            learnt(2, WorkloadClass::Unknown, 2, &[900, 1000, 1000, 1045]),
            learnt(3, WorkloadClass::Reclaim, 2, &[900, 1000, 1000, 1000]),
        ];
        (all[3].ways, all[3].claim, all[3].baseline) = (1, claim, claim);
        allocate::meet_claims(&mut all, 13, &Parameters::default());
        all.map(|one| one.ways)
    };
    assert_eq!(claims(1), [4, 4, 4, 1]);
    assert_eq!(claims(2), [4, 4, 3, 2]);
    assert_eq!(claims(3), [4, 4, 2, 3]);
    assert_eq!(claims(4), [4, 3, 2, 4]);
    assert_eq!(claims(5), [4, 2, 2, 5]);
    assert_eq!(claims(7), [2, 2, 2, 7]);
    assert_eq!(claims(9), [2, 2, 2, 7]);
}

#[test]
fn a_streaming_neighbour_has_nothing_to_give() {
    let mut bench = Bench::with(10, &[(3, STREAMING), (3, HUNGRY)]);
    bench.rounds(16);
    assert_eq!([bench.ways(0), bench.ways(1)], [1, 9]);
    bench.start(2, 4, FITS);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [1, 5, 4]);
}
