//! Without noise, batch gets all ways but those that the service needs.

use alloc::vec::Vec;

use super::bench::{Bench, objective};
use super::service::{Noise, Service};
use crate::locpart::Parameters;

/// Requests that take `micros(ways)`, with an objective of 1 ms.
fn settled(micros: impl Fn(u64) -> u64, ways: u32, parameters: Parameters) -> Bench {
    let mut bench = Bench::new(ways, parameters);
    let times = (1..=u64::from(ways)).map(|ways| micros(ways) * 1000);
    bench.serve(0, objective(99, 1000), Service::new(0, 2_000_000, Noise::None, times));
    bench.start(1, None);
    bench.rounds(200);
    bench
}

#[test]
fn batch_is_within_two_ways_of_the_best_fixed_allocation() {
    for ways in [2, 5, 11, 20, 32] {
        for needed in 1..u64::from(ways) {
            let steep = move |ways| if ways < needed { 3000 } else { 500 };
            let slow = move |ways| 900 * (needed + 3) / (ways + 3);
            for w in [1, 3] {
                let parameters = Parameters { w, ..Parameters::default() };
                let of = |micros: &dyn Fn(u64) -> u64| {
                    let mut bench = settled(micros, ways, parameters);
                    // A try every now and then.
                    assert!(bench.thousandths(800) <= 5, "{needed} of {ways}, {w} a step");
                    u64::from(bench.ways(0))
                };
                assert_eq!(of(&steep), needed, "of {ways}, {w} a step");
                // With one less it would be at the objective, or in the margin.
                let best = (1..=needed).find(|&ways| slow(ways) < 1000).unwrap();
                assert!((best..=needed).contains(&of(&slow)), "{needed} of {ways}, {w} a step");
            }
        }
    }
}

/// In the dead band between the two conditions nothing moves.
#[test]
fn between_the_margin_and_the_objective_nothing_moves() {
    let mut bench = settled(|_| 980, 20, Parameters::default());
    assert_eq!((bench.ways(0), bench.plans), (10, 2));
    bench.rounds(1000);
    assert_eq!(bench.plans, 2);
}

/// A number of ways that failed is tried again after 200 periods, then after four times as long if
/// it fails at once, and after at most 16 times as long.
#[test]
fn what_failed_is_tried_ever_more_seldom() {
    let parameters = Parameters { memory: 200, ..Parameters::default() };
    let mut bench = settled(|ways| if ways < 6 { 1500 } else { 700 }, 20, parameters);
    let tries = |bench: &mut Bench, rounds| {
        let plans = bench.plans;
        bench.rounds(rounds);
        (bench.plans - plans) / 2
    };
    for (rounds, count) in
        [(100, 1), (700, 0), (300, 1), (2800, 0), (400, 1), (2800, 0), (200, 1), (3100, 0)]
    {
        assert_eq!(tries(&mut bench, rounds), count);
    }
    assert_eq!(bench.ways(0), 6);
}

/// Once a number of ways that failed may be tried again, smaller numbers wait: nothing is known
/// about them.
#[test]
fn what_failed_is_not_passed_at_a_run() {
    let parameters = Parameters { memory: 200, ..Parameters::default() };
    let mut bench = settled(|ways| if ways < 6 { 1500 } else { 700 }, 20, parameters);
    assert_eq!(bench.ways(0), 6);
    let times = (1..=20).map(|ways| if ways < 3 { 1_500_000 } else { 700_000 });
    bench.services.get_mut(&0).unwrap().times = times.collect();
    let mut moves = Vec::new();
    for round in 0..600 {
        let before = bench.ways(0);
        bench.round();
        if bench.ways(0) != before {
            moves.push((round, bench.ways(0)));
        }
    }
    let downward = moves.windows(2).filter(|pair| pair[1].1 < pair[0].1);
    assert!(downward.clone().count() >= 3, "{moves:?}");
    assert!(downward.clone().all(|pair| pair[1].0 - pair[0].0 >= 40), "{moves:?}");
    assert_eq!(bench.ways(0), 3, "{moves:?}");
}

/// A load that falls, so that the tail at the floor is less than half of what it was.
#[test]
fn better_conditions_are_noticed() {
    let mut bench = settled(|ways| if ways < 12 { 1500 } else { 800 }, 20, Parameters::default());
    assert_eq!(bench.ways(0), 12);
    let times = (1..=20).map(|ways| if ways < 5 { 1_500_000 } else { 350_000 });
    bench.services.get_mut(&0).unwrap().times = times.collect();
    // One way after forty good tails.
    bench.rounds(400);
    assert_eq!(bench.ways(0), 5);
}
