//! Plans that a machine refuses.

use super::algorithm::taking;
use super::bench::{Bench, objective};
use super::service::{Noise, Service};
use crate::locpart::Parameters;

fn settling(refused: impl Fn(u32) -> bool) -> Bench {
    let times = (1..=20).map(|ways| if ways < 13 { 1_500_000 } else { 800_000 });
    let mut bench = Bench::new(20, Parameters::default());
    bench.serve(0, objective(99, 1000), Service::new(0, 1_000_000, Noise::None, times));
    bench.start(1, None);
    for round in 0..150 {
        bench.refuses = refused(round);
        bench.round();
    }
    bench
}

#[test]
fn it_ends_the_same_whatever_was_refused() {
    for first in 0..30 {
        for count in 1..5 {
            let bench = settling(|round| (first..first + count).contains(&round));
            assert_eq!(bench.ways(0), 13, "{count} from {first}");
        }
    }
}

/// What was refused is not what made the tail what it is.
#[test]
fn nothing_is_learnt_of_ways_that_were_refused() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.serve(0, objective(99, 1000), taking(1500));
    bench.start(1, None);
    bench.refuses = true;
    bench.rounds(20);
    assert_eq!((bench.ways(0), bench.plans, bench.done), (10, 22, 2));
    bench.refuses = false;
    bench.round();
    assert_eq!(bench.ways(0), 11);
}

#[test]
fn a_start_and_an_exit_that_were_refused_are_planned_again() {
    let mut bench = settling(|_| false);
    bench.refuses = true;
    bench.start(2, None);
    for _ in 0..3 {
        let plans = bench.plans;
        bench.round();
        assert_eq!(bench.plans, plans + 1);
    }
    bench.refuses = false;
    bench.rounds(1);
    assert_eq!(bench.partition.placements().len(), 3);
    bench.refuses = true;
    bench.exit(2);
    bench.rounds(2);
    bench.refuses = false;
    bench.rounds(100);
    assert_eq!((bench.ways(0), bench.ways(1)), (13, 7));
}

#[test]
fn a_machine_that_accepts_nothing_at_first_is_asked_again() {
    let mut bench = Bench::new(20, Parameters::default());
    bench.refuses = true;
    bench.serve(0, objective(99, 1000), taking(900));
    bench.start(1, None);
    bench.rounds(5);
    assert_eq!((bench.plans, bench.done), (7, 0));
    bench.refuses = false;
    bench.rounds(40);
    assert_eq!((bench.ways(0), bench.ways(1)), (1, 19));
}
