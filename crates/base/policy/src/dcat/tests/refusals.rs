//! Plans that a machine refuses.

use super::bench::Bench;
use super::programs::{Does, FITS, IDLE, SENSITIVE, STREAMING};
use crate::dcat::Parameters;
use crate::dcat::WorkloadClass::{Donor, Keeper};

/// Its class and ways in the end if the plans of one round are refused.
fn without(does: Does, refused: u32) -> (crate::dcat::WorkloadClass, u32) {
    let mut bench = Bench::with(20, &[(3, does), (3, FITS)]);
    for round in 0..24 {
        bench.refuses = round == refused;
        bench.round();
    }
    bench.is(0)
}

#[test]
fn donors_end_the_same_whichever_round_is_refused() {
    for does in [IDLE, FITS, Does { misses: &[100, 0], ..FITS }] {
        let end = without(does, u32::MAX);
        for round in 0..12 {
            assert_eq!(without(does, round), end, "{round}");
        }
    }
}

#[test]
fn a_program_that_misses_ends_the_same_whichever_round_is_refused() {
    for does in [SENSITIVE, STREAMING] {
        let end = without(does, u32::MAX);
        for round in 0..12 {
            assert_eq!(without(does, round), end, "{round}");
        }
    }
}

#[test]
fn a_start_that_was_refused_is_planned_again() {
    let mut bench = Bench::with(20, &[(3, FITS)]);
    bench.rounds(4);
    bench.refuses = true;
    bench.start(1, 4, FITS);
    for _ in 0..3 {
        let plans = bench.plans;
        bench.round();
        assert_eq!(bench.plans, plans + 1);
    }
    bench.refuses = false;
    bench.round();
    assert!(bench.partition.mask_of(fairways_core::AppId(1)).is_some());
}

#[test]
fn a_program_that_was_refused_at_its_start_is_as_if_it_had_started_later() {
    let mut bench = Bench::with(20, &[(3, FITS)]);
    bench.rounds(4);
    bench.refuses = true;
    bench.start(1, 4, FITS);
    bench.round();
    bench.refuses = false;
    bench.rounds(12);
    assert_eq!([bench.is(0), bench.is(1)], [(Donor, 1); 2]);
}

fn nothing_accepted(parameters: Parameters) {
    let mut bench = Bench::new(20, parameters);
    bench.refuses = true;
    bench.start(0, 3, SENSITIVE);
    bench.rounds(4);
    assert_eq!((bench.plans, bench.done), (5, 0));
    bench.refuses = false;
    bench.rounds(12);
    assert_eq!(bench.is(0), (Keeper, 6));
}

#[test]
fn a_machine_that_accepts_nothing_at_first_is_asked_again() {
    nothing_accepted(Parameters::default());
}

#[test]
fn a_machine_that_accepts_nothing_at_first_is_asked_again_where_ipc_shows_phases() {
    nothing_accepted(Parameters { reclaim_on_ipc: true, ..Parameters::default() });
}

/// Those that stay have what they had: nothing else calls for a plan.
#[test]
fn an_exit_that_was_refused_is_planned_again() {
    let mut bench = Bench::with(20, &[(3, FITS), (3, FITS)]);
    bench.rounds(4);
    bench.refuses = true;
    bench.exit(1);
    bench.round();
    bench.refuses = false;
    let done = bench.done;
    bench.rounds(4);
    assert_eq!(bench.done, done + 1);
    assert_eq!(bench.partition.placements().len(), 1);
}
