//! Answers of services on a chip, and the results for their objectives.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::program::parse;
use fairways_chip::service::parse_loads;
use fairways_chip::{AfterRun, Job, Phase, Settings, preset};
use fairways_core::{NoPolicy, Objective, Q32, Time, Wish};
use fairways_experiments::paper::full_bus::{STREAMS, objective_timelines};
use fairways_experiments::{
    ChipProtocol, ObservedChip, ServiceSummary, compare_on_chip, measure_alone,
};
use fairways_policy::by_name;

fn settings(time_scale: u32) -> Settings {
    let mut chip = preset::preset("xeon-e5-2630").unwrap();
    (chip.sets, chip.mhz) = (1024, 1000);
    Settings { time_scale, ..Settings::new(chip) }
}

/// A service that only computes; a request takes 100 us.
fn service(load: &str) -> Job {
    job("lookbusy:cpi=1:request=100k", load)
}

fn job(program: &str, load: &str) -> Job {
    let [(program, length)] = parse(program, |_| None).unwrap().try_into().unwrap();
    let phases = vec![Phase { program: program.map(Into::into), length }];
    Job { phases, loads: parse_loads(load).unwrap(), then: AfterRun::Restart, ..Job::default() }
}

fn within(micros: u64) -> Wish {
    let slo = Duration::from_micros(micros);
    Wish { objective: Some(Objective { slo, percentile: Q32::from_int(99) }), ..Wish::default() }
}

fn at(ms: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(ms))
}

fn run(machine: &mut ObservedChip, end: Time) {
    machine.stop_at(end);
    fairways_core::run(machine, &mut NoPolicy, &mut []);
}

fn served(job: Job, ms: u64) -> ServiceSummary {
    let mut machine = ObservedChip::new(settings(10), [job]).unwrap();
    run(&mut machine, at(ms));
    machine.service_summary(0).unwrap()
}

#[test]
fn answers_are_counted_since_they_were_forgotten() {
    let mut machine = ObservedChip::new(settings(1), [service("1000"), Job::default()]).unwrap();
    run(&mut machine, at(330));
    let warm = machine.chip.answered(0);
    assert_eq!(machine.service_summary(0).unwrap().requests, warm);
    machine.forget();
    assert_eq!(machine.service_summary(0).unwrap().latency, None);
    // Any number of stops makes no difference.
    for ms in [400, 1000, 1330, 2330] {
        run(&mut machine, at(ms));
    }
    let served = machine.service_summary(0).unwrap();
    assert_eq!(served.requests, machine.chip.answered(0) - warm);
    assert_eq!(served.per_second, served.requests as f64 / 2.0);
    assert!((900.0..1100.0).contains(&served.per_second), "{served:?}");
    let latency = served.latency.unwrap();
    let all = [latency.median_ms, latency.mean_ms, latency.p95_ms, latency.p99_ms];
    assert!(all.is_sorted() && (0.1..0.102).contains(&all[0]) && all[3] < 1.0, "{all:?}");
    assert_eq!((served.objective, machine.service_summary(1)), (None, None));
}

#[test]
fn windows_are_judged_that_have_enough_requests() {
    fn of(load: &str, slo: u64, ms: u64) -> (u32, u32) {
        let kept = served(Job { wish: within(slo), ..service(load) }, ms).objective.unwrap();
        (kept.windows, kept.windows_met)
    }
    assert_eq!(of("1000", 10_000, 4200), (8, 8));
    assert_eq!(of("1000", 90, 4200), (8, 0));
    // Thirty per window: four windows at a time, sometimes three or five, are judged together.
    let (windows, held) = of("60", 10_000, 4000);
    assert!((5..=8).contains(&windows) && held == windows, "{windows}");
    assert_eq!(of("20", 10_000, 4000), (0, 0));
    // Half of the time more requests come than it can answer; it answers the rest later.
    let (windows, held) = of("1000@2s+11000@2s", 2000, 8000);
    assert!(windows >= 15 && (3..=8).contains(&held), "{held} of {windows}");
}

#[test]
fn each_window_is_judged_by_its_own_objective() {
    fn changing(ms: u64) -> fairways_experiments::ObjectiveOutcome {
        let wishes = vec![(at(ms), within(10_000))];
        served(Job { wish: within(90), wishes, ..service("1000") }, 4000).objective.unwrap()
    }
    let kept = changing(2000);
    assert_eq!((kept.objective, kept.tail_ms, kept.windows, kept.windows_met), (None, None, 8, 4));
    // The change falls into a window, which then does not count.
    let kept = changing(2250);
    assert_eq!((kept.objective, kept.windows, kept.windows_met), (None, 7, 3));
    let kept = changing(4000);
    assert_eq!((kept.objective, kept.windows, kept.windows_met), (within(90).objective, 8, 0));
    assert!(kept.tail_ms.unwrap() > 0.1);
}

#[test]
fn a_service_is_as_slow_as_its_requests() {
    fn alone(load: &str) -> Result<fairways_experiments::SoloRun, fairways_chip::ChipError> {
        measure_alone(settings(1), &service(load), 20, at(50).since(Time::ZERO), 500 * MS)
    }
    let served = |load| alone(load).unwrap().service.unwrap();
    let (one, two) = (served("closed:1"), served("closed:2"));
    assert!((two.slowdown(&one) - 2.0).abs() < 0.01);
    let silent = served("0");
    assert_eq!((silent.requests, silent.latency), (0, None));
    // Without answers, nothing is known.
    for (here, alone) in [(&silent, &silent), (&one, &silent), (&silent, &one)] {
        assert!(here.slowdown(alone).is_nan());
    }
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn beside_others_a_service_meets_the_same_requests_and_answers_later() {
    let mut reader = job("regions:20:100%700K:request=100k:cv=0.5", "3000");
    reader.wish = within(1000);
    let closed = job("regions:20:100%700K:request=100k:cv=0.5", "closed:1");
    let streamer = job("mload:60M:request=1M", "closed:1");
    let batch = Job { loads: Vec::new(), ..job("mload:60M", "0") };
    let protocol =
        ChipProtocol { warm_up: 100 * MS, span: 400 * MS, profile: 20 * MS, profiles_known: false };
    let jobs = [reader, closed, streamer, batch];
    let keyed = (0..).zip(jobs).map(|(key, job)| Job { key: Some(key), ..job });
    let jobs: Vec<Job> = keyed.collect();
    let found =
        compare_on_chip(settings(1), &jobs, &protocol, &["stock", "equal"], &by_name, &|| ())
            .unwrap();
    for outcome in &found.outcomes {
        let [alone, here] = [found.alone[0].service, outcome.programs[0].service];
        let (alone, here) = (alone.unwrap(), here.unwrap());
        assert!(alone.requests.abs_diff(here.requests) < 5, "{alone:?} {here:?}");
        assert_eq!(outcome.slowdowns[0], here.slowdown(&alone));
        // One client that does not think: its latency is the time between its requests.
        let [alone, here] = [found.alone[1].service, outcome.programs[1].service];
        let (alone, here) = (alone.unwrap(), here.unwrap());
        let rates = alone.per_second / here.per_second;
        assert!((outcome.slowdowns[1] / rates - 1.0).abs() < 0.002, "{rates}");
        assert!(outcome.programs[3].service.is_none() && found.alone[3].service.is_none());
    }
    let [stock, equal] = [0, 1].map(|policy| found.outcomes[policy].slowdowns[0]);
    assert!(stock > 1.1 * equal, "{stock} {equal}");
}

/// On a full bus the objective is kept in three windows of five once there are limits, and in fewer
/// with ways only; the streams are left nine tenths of what they move there.
#[test]
fn limits_of_bandwidth_keep_an_objective_that_ways_alone_do_not() {
    let [ways_only, both] = objective_timelines(1).unwrap().0.try_into().unwrap();
    let count = both.windows().len();
    let results = [&ways_only, &both].map(|of| {
        let later = count / 2..count;
        let kept =
            later.clone().filter(|&at| of.over_objective(at).is_some_and(|over| over <= 1.0));
        let levels =
            of.windows().flat_map(|at| (0..STREAMS).map(move |stream| of.level(stream, at)));
        let moved: f64 = later.map(|at| of.moved_gbps(at)).sum();
        (kept.count(), levels.min(), moved)
    });
    let [(ways_kept, ways_level, ways_moved), (kept, level, moved)] = results;
    assert_eq!((ways_level, level), (Some(100), Some(10)), "the lowest that a stream had");
    assert!(kept * 5 >= count / 2 * 3 && kept > ways_kept, "{kept} of {}, {ways_kept}", count / 2);
    assert!(moved > 0.9 * ways_moved, "{moved} of {ways_moved}");
}
