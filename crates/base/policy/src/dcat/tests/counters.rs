//! What cannot be counted, arrives late or is refused.

use fairways_core::Counters;

use super::bench::Bench;
use super::programs::{Does, FITS, HUNGRY, QUIET, SENSITIVE, STREAMING};
use crate::dcat::Parameters;
use crate::dcat::WorkloadClass::{Donor, Keeper, Receiver, Reclaim, Unknown};

type Shows = fn(Counters) -> Counters;

const NO_L1: Shows = |counters| Counters { l1_references: None, ..counters };
const NO_CYCLES: Shows = |counters| Counters { cycles: None, ..counters };
const NO_INSTRUCTIONS: Shows = |counters| Counters { instructions: None, ..counters };
const NO_REFERENCES: Shows = |counters| Counters { llc_references: None, ..counters };
const NO_MISSES: Shows = |counters| Counters { llc_misses: None, ..counters };
const NOTHING: Shows = |_| Counters::default();

#[test]
fn without_l1_references_everything_is_one_phase_and_goes_on() {
    let blind = Does { shows: NO_L1, ..SENSITIVE };
    let mut bench = Bench::with(20, &[(3, blind)]);
    let grown = [(Unknown, 4), (Receiver, 5), (Receiver, 6), (Receiver, 7), (Keeper, 6)];
    assert_eq!(bench.trace(0, 5), grown);
    bench.becomes(0, Does { l1: 5000, ..blind });
    assert_eq!(bench.trace(0, 5), [(Keeper, 6); 5]);
}

#[test]
fn a_window_without_l1_references_ends_no_phase() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE)]);
    bench.rounds(5);
    for shows in [NO_L1, SENSITIVE.shows, NO_L1, SENSITIVE.shows] {
        bench.becomes(0, Does { shows, ..SENSITIVE });
        assert_eq!(bench.trace(0, 2), [(Keeper, 6); 2]);
    }
}

/// If a missing counter were zero, the program would be idle, quiet, or never miss.
#[test]
fn a_program_that_cannot_be_measured_from_the_start_keeps_its_baseline() {
    for does in [FITS, QUIET, SENSITIVE, STREAMING] {
        for shows in [NO_CYCLES, NO_INSTRUCTIONS, NO_REFERENCES, NOTHING] {
            let mut bench = Bench::with(20, &[(3, Does { shows, ..does })]);
            assert_eq!(bench.trace(0, 5), [(Keeper, 3); 5]);
            assert_eq!(bench.plans, 1);
        }
    }
    for does in [FITS, SENSITIVE, STREAMING] {
        let mut bench = Bench::with(20, &[(3, Does { shows: NO_MISSES, ..does })]);
        assert_eq!(bench.trace(0, 5), [(Keeper, 3); 5]);
    }
}

const HOLDING: [Shows; 5] = [NO_CYCLES, NO_INSTRUCTIONS, NO_REFERENCES, NO_MISSES, NOTHING];

#[test]
fn a_donor_or_keeper_that_cannot_be_measured_for_a_while_stays_where_it_is() {
    let gives = Does { misses: &[0], ..FITS };
    for (does, rounds) in [(gives, 1), (SENSITIVE, 6), (STREAMING, 10)] {
        for shows in HOLDING {
            let mut bench = Bench::with(20, &[(4, does)]);
            bench.rounds(rounds);
            let (is, plans) = (bench.is(0), bench.plans);
            bench.becomes(0, Does { shows, ..does });
            assert_eq!(bench.trace(0, 4), [is; 4]);
            assert_eq!(bench.plans, plans);
        }
    }
}

#[test]
fn a_program_that_grows_and_cannot_be_measured_for_a_while_stays_where_it_is() {
    for (does, rounds) in [(HUNGRY, 1), (HUNGRY, 2), (STREAMING, 2)] {
        for shows in HOLDING {
            let mut bench = Bench::with(20, &[(4, does)]);
            bench.rounds(rounds);
            let is = bench.is(0);
            bench.becomes(0, Does { shows, ..does });
            assert_eq!(bench.trace(0, 4), [is; 4]);
        }
    }
}

#[test]
fn a_program_that_grows_and_whose_windows_are_lost_stays_where_it_is() {
    let mut bench = Bench::with(20, &[(3, HUNGRY), (3, FITS)]);
    bench.rounds(2);
    let ways = bench.ways(0);
    bench.lost.insert(0);
    bench.rounds(10);
    assert_eq!(bench.ways(0), ways);
}

#[test]
fn a_plan_that_is_refused_leaves_what_was_before_and_is_tried_again() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE), (3, FITS)]);
    bench.refuses = true;
    for _ in 0..4 {
        let (plans, done) = (bench.plans, bench.done);
        bench.round();
        assert_eq!((bench.plans, bench.done), (plans + 1, done));
        assert_eq!([0, 1].map(|app| bench.ways(app)), [3, 3]);
    }
    bench.refuses = false;
    bench.round();
    assert_eq!(bench.ways(0), 4);
    bench.rounds(8);
    assert_eq!([bench.is(0), bench.is(1)], [(Keeper, 6), (Donor, 1)]);
    assert_eq!(bench.done, bench.plans - 4);
}

/// The ways that it has are measured, and not the planned ones.
#[test]
fn a_way_that_was_refused_is_not_in_the_table() {
    let mut bench = Bench::with(20, &[(3, HUNGRY)]);
    bench.rounds(1);
    bench.refuses = true;
    bench.rounds(3);
    assert_eq!(bench.ways(0), 4);
    let known = [3, 4, 5, 6].map(|ways| bench.knows(0, ways));
    assert_eq!(known, [true, true, false, false]);
}

#[test]
fn lost_windows_delay_no_other_program_for_long() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE), (3, FITS)]);
    bench.lost.insert(1);
    // Rounds of a second and a half at most.
    bench.rounds(9);
    assert_eq!([bench.is(0), bench.is(1)], [(Keeper, 6), (Keeper, 3)]);
    bench.lost.clear();
    bench.rounds(4);
    assert_eq!(bench.is(1), (Donor, 1));
}

#[test]
fn a_program_that_exits_while_its_window_is_awaited_delays_no_other() {
    let mut bench = Bench::with(20, &[(3, SENSITIVE), (3, FITS)]);
    bench.lost.insert(1);
    bench.rounds(1);
    assert_eq!(bench.is(0), (Keeper, 3));
    bench.exit(1);
    bench.rounds(1);
    assert_ne!(bench.is(0), (Keeper, 3));
}

/// With the same ways and L1 references: slower, more references, or half the misses.
#[test]
fn a_phase_that_l1_references_do_not_show_is_found_on_request() {
    let all = [
        (true, Does { ipc: &[760, 850, 940, 1090, 1180, 1240, 1240], ..SENSITIVE }),
        (true, Does { llc: 23, ..SENSITIVE }),
        (true, Does { misses: &[49], ..SENSITIVE }),
        (false, Does { ipc: &[780, 880, 980, 1140, 1240, 1290, 1290], ..SENSITIVE }),
        (false, Does { llc: 21, ..SENSITIVE }),
        (false, Does { misses: &[60], ..SENSITIVE }),
    ];
    for (is_new, changed) in all {
        for reclaim_on_ipc in [false, true] {
            let parameters = Parameters { reclaim_on_ipc, ..Parameters::default() };
            let mut bench = Bench::new(20, parameters);
            bench.start(0, 3, SENSITIVE);
            bench.rounds(8);
            assert_eq!(bench.is(0), (Keeper, 6));
            bench.becomes(0, changed);
            let then = if is_new && reclaim_on_ipc { (Reclaim, 3) } else { (Keeper, 6) };
            assert_eq!(bench.trace(0, 1), [then], "{changed:?}");
        }
    }
}
