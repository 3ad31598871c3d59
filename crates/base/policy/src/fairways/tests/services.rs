//! Services with an objective beside programs without one.

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Latencies, LatencyBin, Objective, Q32, Wish};

use super::learning_bench::{LearningBench, gains_by_every_way, light, sensitive};
use crate::fairways::*;

fn served() -> Wish {
    let slo = Duration::from_millis(2);
    Wish { objective: Some(Objective { slo, percentile: Q32::from_int(99) }), ..Wish::default() }
}

/// Runs a service that keeps its objective with this many ways for periods of Locpart, and programs
/// without profiles beside it. Returns its ways at the end of each period.
fn run(bench: &mut LearningBench, needs: u32, periods: u32) -> Vec<u32> {
    let ways = (0..periods).map(|_| {
        for _ in 0..2 {
            bench.windows(20);
            let latency = if bench.ways(0) >= needs { 1 } else { 3 };
            let answered =
                [LatencyBin { latency: Duration::from_millis(latency), requests: 200 }].into();
            let window = Duration::from_millis(250);
            bench.report(&Event::Latency(Latencies { app: AppId(0), window, answered }));
            bench.wake(230);
        }
        bench.ways(0)
    });
    ways.collect()
}

#[test]
fn a_service_has_the_fewest_ways_that_keep_its_objective() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, served(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.start(2, Wish::default(), gains_by_every_way);
    // From an equal share on.
    assert_eq!(bench.ways(0), 2);
    let ways = run(&mut bench, 5, 12);
    assert_eq!(ways.last(), Some(&5), "{ways:?}");
    let own = bench.partition.mask_of(AppId(0)).unwrap();
    for app in [1, 2] {
        assert!(!bench.partition.mask_of(AppId(app)).unwrap().overlaps(own));
    }
    // Under less load it gives ways back.
    let ways = run(&mut bench, 1, 600);
    assert_eq!(ways.last(), Some(&1), "{ways:?}");
    assert_eq!(bench.ways(1) + bench.ways(2), 7);
}

#[test]
fn a_service_takes_no_ways_that_are_promised_to_others() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, served(), light);
    let promised = Wish { baseline_ways: Some(4), ..Wish::default() };
    bench.start(1, promised, sensitive);
    bench.start(2, Wish::default(), light);
    let ways = run(&mut bench, 8, 20);
    assert_eq!(ways.last(), Some(&3), "{ways:?}");
    assert!(bench.ways(1) >= 4);
}

#[test]
fn a_program_that_gets_an_objective_is_sampled_no_more() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish::default(), light);
    bench.start(1, Wish::default(), sensitive);
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
    bench.report(&Event::Wished { app: AppId(1), wish: served() });
    assert_eq!(bench.policy.sampling(), None);
    // And again once it has none.
    bench.report(&Event::Wished { app: AppId(1), wish: Wish::default() });
    bench.windows(10);
    assert_eq!(bench.policy.sampling(), Some(AppId(1)));
}

#[test]
fn programs_that_join_a_service_get_their_share() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, served(), light);
    assert_eq!(run(&mut bench, 1, 3).last(), Some(&8));
    bench.start(1, Wish::default(), sensitive);
    bench.start(2, Wish::default(), gains_by_every_way);
    bench.windows(30);
    assert!(bench.ways(0) <= 6 && bench.ways(1) + bench.ways(2) >= 2);
    assert!(bench.partition.mask_of(AppId(0)).unwrap().count() + bench.ways(1) <= 8);
}

/// Three ways are promised to the service itself, whatever its latencies.
#[test]
fn a_service_keeps_the_ways_that_are_promised_to_it() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, Wish { baseline_ways: Some(3), ..served() }, light);
    bench.start(1, Wish::default(), sensitive);
    bench.start(2, Wish::default(), gains_by_every_way);
    let ways = run(&mut bench, 1, 700);
    assert!(ways.iter().all(|&ways| ways >= 3), "{ways:?}");
}

#[test]
fn a_plan_for_a_service_that_was_refused_is_made_again() {
    let mut bench = LearningBench::new(Parameters::default());
    bench.start(0, served(), light);
    bench.start_known(1, Wish::default(), sensitive);
    bench.start_known(2, Wish::default(), gains_by_every_way);
    bench.refuses = true;
    assert_eq!(run(&mut bench, 5, 6).last(), Some(&2));
    bench.refuses = false;
    assert_eq!(run(&mut bench, 5, 12).last(), Some(&5));
}
