//! Algorithm 1, line by line.

use alloc::vec;

use super::bench::{Bench, objective};
use super::service::{Lcg, Noise, Service};
use crate::locpart::{GivingRule, Parameters};
use crate::words;

/// A service whose every request takes `micros` microseconds, with any number of ways.
pub(super) fn taking(micros: u64) -> Service {
    Service::new(0, 1_000_000, Noise::None, [micros * 1000])
}

/// One service with an objective of 1 ms beside one batch program.
fn bench(ways: u32, parameters: Parameters, micros: u64) -> Bench {
    let mut bench = Bench::new(ways, parameters);
    bench.serve(0, objective(99, 1000), taking(micros));
    bench.start(1, None);
    bench
}

#[test]
fn initially_each_has_an_equal_portion() {
    let mut bench = bench(20, Parameters::default(), 500);
    assert_eq!([0, 1].map(|app| bench.ways(app)), [10, 10]);
    bench.start(2, None);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [7, 7, 6]);
}

/// Decision 2: line 10 includes equality; and lines 11 and 12 are one step.
#[test]
fn a_violation_takes_w_ways_of_batch() {
    for parameters in [Parameters::default(), Parameters::published()] {
        for (micros, w, ways) in [(999, 1, 10), (1000, 1, 11), (1001, 1, 11), (5000, 3, 13)] {
            let mut bench = bench(20, Parameters { w, ..parameters }, micros);
            bench.round();
            assert_eq!([bench.ways(0), bench.ways(1)], [ways, 20 - ways], "{micros} us");
            assert_eq!(bench.current_class[&0], if ways > 10 { "violated" } else { "held" });
        }
    }
}

/// Decision 1: with 0.95, at a twentieth of the objective, or at a twentieth below it.
#[test]
fn slack_gives_w_ways_to_batch() {
    for (rule, micros, ways) in [
        (GivingRule::Published, 50, 8),
        (GivingRule::Published, 51, 10),
        (GivingRule::Margin, 950, 8),
        (GivingRule::Margin, 951, 10),
    ] {
        let parameters = Parameters { rule, w: 2, hold: 1, ..Parameters::default() };
        let mut bench = bench(20, parameters, micros);
        bench.round();
        assert_eq!([bench.ways(0), bench.ways(1)], [ways, 20 - ways], "{rule:?}, {micros} us");
    }
}

/// Decision 8: a tail may be good by chance, and so may several, but less often.
#[test]
fn the_margin_rule_gives_after_good_tails_in_a_row() {
    let mut bench = bench(20, Parameters::default(), 900);
    for ways in [10, 10, 10, 9, 9, 9, 9, 8] {
        bench.round();
        assert_eq!(bench.ways(0), ways);
    }
}

/// Decision 6: one way at least on each side; `w` is clipped.
#[test]
fn each_side_keeps_the_least() {
    for rule in [GivingRule::Published, GivingRule::Margin] {
        for (micros, ways) in [(2000, 10), (20, 1)] {
            let mut bench = bench(11, Parameters { rule, w: 4, ..Parameters::default() }, micros);
            bench.rounds(40);
            assert_eq!([bench.ways(0), bench.ways(1)], [ways, 11 - ways], "{rule:?}, {micros} us");
        }
    }
}

/// Against lines 9 to 17 as they stand, in thousandths of the objective.
#[test]
fn the_published_rule_is_as_printed() {
    for seed in 0..40 {
        let mut lcg = Lcg::new(seed);
        let (w, least) = (u32::try_from(1 + lcg.below(3)).unwrap(), 1);
        let total = u32::try_from(4 + lcg.below(29)).unwrap();
        let mut bench = bench(total, Parameters { w, ..Parameters::published() }, 1);
        let mut mine = total.div_ceil(2);
        for round in 0..200 {
            assert_eq!(bench.ways(0), mine, "round {round} of seed {seed}");
            let tail = if lcg.below(2) == 0 { lcg.below(80) } else { lcg.below(1500) };
            bench.services.get_mut(&0).unwrap().times = vec![tail * 1000];
            bench.round();
            let (tail, slo) = (i64::try_from(tail).unwrap(), 1000);
            if slo - tail <= 0 {
                mine += w.min(total - mine - least);
            } else if (slo - tail) * 100 / slo >= 95 {
                mine -= w.min(mine - least);
            }
        }
    }
}

/// An unknown tail is neither below the objective nor above it.
#[test]
fn too_few_requests_hold() {
    for parameters in [Parameters::default(), Parameters::published()] {
        let mut bench = bench(20, parameters, 500);
        bench.services.get_mut(&0).unwrap().gap = 0;
        bench.rounds(30);
        assert_eq!((bench.ways(0), bench.plans), (10, 2));
        assert_eq!(bench.classes, [(0, "unknown")]);
    }
}

/// 50 requests a second and an objective beyond a period: an unknown tail moves nothing either.
#[test]
fn a_service_that_answers_slowly_is_not_judged_by_those_that_it_answered_soon() {
    let mut bench = Bench::new(20, Parameters::default());
    let slow = Service::new(0, 4_000_000, Noise::None, (1..20).map(|w| 2_600_000_000 / w));
    bench.serve(0, objective(99, 400_000), slow);
    bench.start(1, None);
    bench.rounds(300);
    assert_eq!(bench.ways(0), 7);
}

/// Lines 10 and 13 use these two numbers.
#[test]
fn the_tail_that_moves_ways_and_its_slack_are_announced() {
    for (micros, slack) in [(500, (1_i64 << 32) / 2), (1250, -(1_i64 << 32) / 4)] {
        let mut bench = bench(20, Parameters { hold: 1, ..Parameters::default() }, micros);
        assert_eq!([0, 1].map(|app| bench.current_class[&app]), ["latency-critical", "batch"]);
        assert!(bench.numbers.is_empty());
        bench.round();
        assert_ne!(bench.ways(0), 10);
        let tail = i64::try_from((micros << 32) / 1000).unwrap();
        assert_eq!(bench.numbers[&(0, words::TAIL.text())], tail);
        assert_eq!(bench.numbers[&(0, words::SLACK.text())], slack);
    }
}
