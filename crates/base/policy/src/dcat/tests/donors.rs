//! Figure 6: programs that need fewer ways than they have.

use super::bench::Bench;
use super::programs::{Does, FITS, IDLE, QUIET, SENSITIVE};
use crate::dcat::WorkloadClass::{Donor, Keeper, Reclaim, Unknown};

/// §3.4: "The start state for any workload is Keeper".
#[test]
fn a_workload_starts_as_keeper_with_what_it_was_promised() {
    for does in [IDLE, QUIET, FITS, SENSITIVE] {
        let bench = Bench::with(12, &[(4, does)]);
        assert_eq!(bench.is(0), (Keeper, 4));
    }
}

#[test]
fn a_program_that_is_idle_keeps_one_way_at_once() {
    let mut bench = Bench::with(12, &[(4, IDLE), (6, SENSITIVE)]);
    assert_eq!(bench.trace(0, 3), [(Donor, 1); 3]);
    // The ways that it gave are available to others.
    assert!(bench.ways(1) > 8);
}

#[test]
fn a_program_that_hardly_references_the_cache_keeps_one_way_once_its_baseline_is_known() {
    let mut bench = Bench::with(12, &[(4, QUIET)]);
    assert_eq!(bench.trace(0, 2), [(Donor, 1); 2]);
    assert!(bench.policy.normalised_ipc(fairways_core::AppId(0), 4).is_some());
    // With one way, its baseline can't be measured: it has to go there first.
    let mut bench = Bench::with(12, &[(4, IDLE)]);
    bench.round();
    bench.becomes(0, QUIET);
    assert_eq!(bench.trace(0, 3), [(Reclaim, 4), (Donor, 1), (Donor, 1)]);
}

/// Decision 2: at or below one reference per 1000 instructions.
#[test]
fn a_program_that_references_the_cache_a_little_more_is_busy() {
    let mut bench = Bench::with(12, &[(4, Does { llc: 2, ..QUIET })]);
    assert_eq!(bench.trace(0, 1), [(Unknown, 5)]);
}

#[test]
fn a_program_that_references_the_cache_again_has_its_baseline_at_once() {
    let mut bench = Bench::with(12, &[(4, QUIET)]);
    bench.round();
    bench.becomes(0, SENSITIVE);
    assert_eq!(bench.trace(0, 2), [(Reclaim, 4), (Unknown, 5)]);
}

/// Decision 1: "one way less each round until the miss rate is no longer trivial, then Keeper", and
/// "at that point give the last way back".
#[test]
fn decision_1_a_program_that_hardly_misses_gives_a_way_a_round_until_it_misses() {
    // 3 % is trivial yet (§5.1).
    let does = Does { misses: &[500, 31, 30, 10], ..FITS };
    let mut bench = Bench::with(12, &[(5, does)]);
    let trace = bench.trace(0, 7);
    let given = [(Donor, 4), (Donor, 3), (Donor, 2)];
    assert_eq!((&trace[..3], &trace[3..]), (&given[..], &[(Keeper, 3); 4][..]));
}

/// Decision 1: "and stop also when IPC falls more than ipc_imp_thr under the baseline entry".
#[test]
fn decision_1_it_stops_giving_where_it_loses_more_than_it_may() {
    let does = Does { ipc: &[800, 940, 965, 990, 1000], ..FITS };
    let mut bench = Bench::with(12, &[(5, does)]);
    let trace = bench.trace(0, 7);
    let given = [(Donor, 4), (Donor, 3), (Donor, 2)];
    assert_eq!((&trace[..3], &trace[3..]), (&given[..], &[(Keeper, 3); 4][..]));
}

/// Decision 1: four fifths of `ipc_imp_thr`.
#[test]
fn decision_1_four_fifths_of_the_threshold_are_too_much() {
    for (ipc, ways) in [(&[2000, 2400, 2500], 3), (&[2000, 2405, 2500], 2)] {
        let mut bench = Bench::with(12, &[(3, Does { ipc, ..FITS })]);
        bench.rounds(6);
        assert_eq!(bench.is(0), (Keeper, ways), "{ipc:?}");
    }
}

#[test]
fn a_donor_ends_with_the_least_and_says_nothing_more() {
    let mut bench = Bench::with(12, &[(3, FITS)]);
    assert_eq!(bench.trace(0, 2), [(Donor, 2), (Donor, 1)]);
    let plans = bench.plans;
    assert_eq!(bench.trace(0, 5), [(Donor, 1); 5]);
    assert_eq!(bench.plans, plans);
}

/// It had been found to need less than its baseline; now it misses.
#[test]
fn a_donor_that_misses_again_has_its_baseline_back() {
    let mut bench = Bench::with(12, &[(4, Does { misses: &[500, 10], ..FITS })]);
    bench.rounds(5);
    assert_eq!(bench.is(0), (Keeper, 2));
    bench.becomes(0, Does { misses: &[500, 400, 300, 0], ..FITS });
    assert_eq!(bench.trace(0, 1), [(Reclaim, 4)]);
    // There it hardly misses, and gives nothing again that it took back.
    assert_eq!(bench.trace(0, 4), [(Keeper, 4); 4]);
}

/// A machine whose masks have at least two ways.
#[test]
fn no_program_has_fewer_ways_than_a_mask_can_have() {
    let ways = fairways_core::Ways::new(12).unwrap();
    let llc = fairways_core::Llc { min_bits: 2, ..fairways_core::Llc::with_ways(ways) };
    for does in [IDLE, QUIET, FITS] {
        let mut bench = Bench::on(llc, crate::dcat::Parameters::default());
        bench.start(0, 4, does);
        bench.rounds(5);
        assert_eq!(bench.is(0), (Donor, 2));
    }
}
