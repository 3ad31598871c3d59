//! §4: reconnaissance, calibration, and reconnaissance again.

use core::time::Duration;

use fairways_core::{Action, Cpus, Event, Policy, Q32, Time};

use super::bench::{Bench, Does, HEAVY, LIGHT, MS, VICTIM};
use super::work::PUBLISHED;
use crate::cache_fair::{CacheFair, Parameters};

fn four(parameters: Parameters) -> Bench {
    let mut bench = Bench::new(2, parameters);
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.start(3, 1, false, LIGHT);
    bench
}

fn rate(bench: &Bench) -> u64 {
    let rate = bench.policy.fair_miss_rate(Bench::thread(0)).unwrap();
    (rate.raw() * 1_000_000 + (1 << 31)) >> 32
}

fn instructions(bench: &Bench) -> u128 {
    bench.threads[&0].done.instructions / 1_000_000
}

/// §4.3: "we set the duration of the reconnaissance phase to 100 million instructions".
#[test]
fn a_reconnaissance_ends_with_the_instructions_and_the_points_that_it_needs() {
    let mut bench = four(PUBLISHED);
    assert_eq!(bench.policy.fair_miss_rate(Bench::thread(0)), None);
    bench.calibrate(0);
    assert!((100_000_000..101_000_000).contains(&instructions(&bench)));
    assert!(bench.policy.points(Bench::thread(0)).unwrap().len() >= 10);
    assert!(rate(&bench).abs_diff(2000) <= 10, "{}", rate(&bench));
    assert!(bench.quanta.iter().all(|&(_, app, _)| app != 0));
    // And where points are what is missing, with them.
    let mut bench = four(Parameters { data_points: 40, reconnaissance: 10_000_000, ..PUBLISHED });
    bench.calibrate(0);
    assert!(instructions(&bench) > 40_000_000);
    assert_eq!(bench.policy.points(Bench::thread(0)).unwrap().len(), 40);
    // It announces its results: 2 misses per 1000 cycles, and a CPI of 10 / 3.
    fn announced(bench: &Bench, what: &str) -> Option<u64> {
        let estimate = bench.estimates.iter().find(|one| one.0 == 0 && one.1.contains(what));
        estimate.map(|one| one.2 >> 22)
    }
    bench.run(bench.now + 200 * MS);
    assert!((2038..=2058).contains(&announced(&bench, "fair miss rate").unwrap()));
    assert!((3400..=3425).contains(&announced(&bench, "fair CPI").unwrap()));
    let cpi = bench.policy.fair_cpi(Bench::thread(0)).unwrap();
    assert!(cpi.raw().abs_diff(Q32::ratio(10, 3).raw()) < 1 << 25);
}

/// Decision 3: "or at a limit of time with what there is".
#[test]
fn decision_3_a_reconnaissance_has_a_limit_of_time() {
    let limit = Duration::from_millis(200);
    let mut bench = four(Parameters { reconnaissance_limit: limit, ..PUBLISHED });
    bench.run(199 * MS);
    assert!(!bench.is_calibrated(0));
    bench.run(230 * MS);
    assert!(bench.is_calibrated(0));
    assert!(rate(&bench).abs_diff(2000) <= 10);
}

/// Decision 2: "keep the last good value, else the mean observed rate and no adjustment".
#[test]
fn decision_2_a_regression_that_fails_leaves_the_last_good_value_or_the_mean() {
    let once = Parameters { repetition: 50_000_000, ..PUBLISHED };
    // It only ever runs beside one.
    let mut bench = Bench::new(2, once);
    bench.start(0, 0, false, VICTIM);
    bench.start(1, 0, true, LIGHT);
    bench.run(5 * MS);
    bench.start(2, 1, false, HEAVY);
    bench.at(3);
    assert!(bench.is_calibrated(0));
    assert!(rate(&bench).abs_diff(2500) <= 1);
    assert!(bench.quanta.is_empty());
    // Then beside another as well; then again beside one.
    bench.start(3, 1, false, LIGHT);
    bench.at(6);
    assert!(rate(&bench).abs_diff(2000) <= 10, "{}", rate(&bench));
    bench.exit(3);
    bench.at(12);
    assert!(rate(&bench).abs_diff(2000) <= 10, "{}", rate(&bench));
    bench.quanta.clear();
    bench.at(13);
    assert!(!bench.quanta.is_empty());
}

/// §4.3: "We set it to one billion instructions."
#[test]
fn a_reconnaissance_is_repeated_and_calibration_goes_on() {
    let mut bench = four(PUBLISHED);
    bench.calibrate(0);
    // The same references, other misses: only the repetition notices.
    bench.becomes(0, Does { alone: 500, ..VICTIM });
    let start = instructions(&bench);
    while rate(&bench).abs_diff(2000) <= 10 {
        assert!(bench.is_calibrated(0));
        bench.run(bench.now + 10 * MS);
        assert!(instructions(&bench) < start + 1_200_000_000);
    }
    assert!(instructions(&bench) > start + 1_090_000_000);
    assert!(rate(&bench).abs_diff(1000) <= 10, "{}", rate(&bench));
    let last = bench.quanta.iter().rev().find(|one| one.1 == 0).unwrap().0;
    assert!(last + 100 * MS > bench.now);
}

/// Decision 11: "both, every billion instructions and on a detected change".
#[test]
fn decision_11_a_change_of_accesses_begins_a_reconnaissance() {
    for (percent, references, noticed) in
        [(25, 13_000, true), (25, 7_000, true), (25, 12_000, false), (0, 30_000, false)]
    {
        let mut bench = four(Parameters { phase_change: percent, ..PUBLISHED });
        bench.calibrate(0);
        bench.run(bench.now + 200 * MS);
        bench.becomes(0, Does { alone: 500, references, ..VICTIM });
        let start = instructions(&bench);
        while instructions(&bench) < start + 300_000_000 {
            bench.run(bench.now + 10 * MS);
        }
        let now = rate(&bench);
        assert_eq!(now.abs_diff(1000) <= 20, noticed, "{percent} {references} {now}");
        assert_eq!(now.abs_diff(2000) <= 20, !noticed, "{percent} {references} {now}");
    }
}

/// The new phase is learnt from its own windows alone; with accesses of the old one among them,
/// every later window would differ.
#[test]
fn a_new_phase_is_settled_once_it_is_learnt() {
    let mut bench = four(PUBLISHED);
    bench.calibrate(0);
    bench.run(bench.now + 200 * MS);
    bench.becomes(0, Does { references: 20_000, ..VICTIM });
    let start = instructions(&bench);
    while instructions(&bench) < start + 160_000_000 {
        bench.run(bench.now + 10 * MS);
    }
    let points = bench.policy.points(Bench::thread(0)).unwrap().clone();
    bench.run(bench.now + 1000 * MS);
    assert_eq!(bench.policy.points(Bench::thread(0)).unwrap(), &points);
}

/// Equation 2 with two co-runners: 1000 / (1 - 2 x 0.2).
#[test]
fn co_runners_are_as_many_as_there_are_other_cpus() {
    for data_points in [10, 40] {
        let mut bench =
            Bench::new(3, Parameters { data_points, reconnaissance: 50_000_000, ..PUBLISHED });
        bench.start(0, 0, false, Does { harmed: 20, ..VICTIM });
        bench.start(1, 0, true, LIGHT);
        for cpu in [1, 2] {
            bench.run(bench.now + 3 * MS);
            bench.start(2 * u32::from(cpu == 2) + 2, cpu, false, HEAVY);
            bench.start(2 * u32::from(cpu == 2) + 3, cpu, false, LIGHT);
        }
        bench.calibrate(0);
        assert!(rate(&bench).abs_diff(1667) <= 10, "{}", rate(&bench));
    }
}

/// Of a machine with short quanta, points are as short.
#[test]
fn points_are_no_longer_than_half_a_quantum() {
    for (quantum, shortest) in [(10_000, 1000), (500, 250)] {
        let quantum = Duration::from_micros(quantum);
        let mut watched = None;
        let event = Event::Cpus(Cpus { count: 2, quantum });
        CacheFair::default().handle(Time::ZERO, &event, &mut |action| {
            if let Action::WatchTogether { shortest } = action {
                watched = Some(shortest);
            }
        });
        assert_eq!(watched, Some(Duration::from_micros(shortest)));
    }
}

/// One window that differs is a passing burst.
#[test]
fn one_window_is_no_change_of_phase() {
    let mut bench = four(PUBLISHED);
    bench.calibrate(0);
    bench.run(bench.now + 200 * MS);
    let points = bench.policy.points(Bench::thread(0)).unwrap().clone();
    bench.becomes(0, Does { references: 16_000, ..VICTIM });
    let start = instructions(&bench);
    while instructions(&bench) < start + 8_000_000 {
        bench.run(bench.now + MS);
    }
    bench.becomes(0, VICTIM);
    bench.run(bench.now + 500 * MS);
    assert_eq!(bench.policy.points(Bench::thread(0)).unwrap(), &points);
}
