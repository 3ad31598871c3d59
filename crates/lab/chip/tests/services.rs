//! Services answer as queues do, and every policy meets the same requests.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::program::{Accesses, Mixture, MixturePart, Pattern};
use fairways_chip::service::{Histogram, RequestLoad, RequestSizes, Requests, Stage};
use fairways_chip::{
    Chip, ChipError, Job, PhaseLength, Scheduling, Settings, SimulatedProgram, preset,
};
use fairways_core::{
    Action, Event, Latencies, Machine, Objective, Partition, PlanId, Q32, Time, WayMask,
    WindowLength, Wish,
};

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

fn settings() -> Settings {
    let mut chip = preset::preset("xeon-e5-2630").unwrap();
    chip.sets = 1024;
    chip.mhz = 1000;
    Settings::new(chip)
}

/// A service that only computes; a request takes 20 us on average.
fn computing(sizes: RequestSizes, load: RequestLoad) -> Job {
    let requests = Some(Requests { instructions: 20_000.0, sizes });
    let program = SimulatedProgram::new(Accesses::Pattern(Pattern::Busy), 1.0, 1.0);
    Job { loads: vec![Stage::of(load)], ..Job::new(SimulatedProgram { requests, ..program }) }
}

/// A service that looks up data in `lines` lines.
fn looking_up(lines: u32, load: RequestLoad) -> Job {
    let parts = vec![MixturePart { share: 1.0, lines }];
    let mixture = Mixture { parts, per_kilo_instructions: 20.0, stores: 0.0, missed: true };
    let requests = Some(Requests { instructions: 20_000.0, sizes: RequestSizes::LogNormal(0.3) });
    let program = SimulatedProgram::new(Accesses::Mixture(mixture), 0.7, 2.0);
    Job { loads: vec![Stage::of(load)], ..Job::new(SimulatedProgram { requests, ..program }) }
}

fn run(settings: Settings, jobs: impl IntoIterator<Item = Job>, end: Duration) -> Chip {
    let mut chip = Chip::new(settings, jobs).unwrap();
    chip.stop_at(Time::ZERO.after(end));
    while chip.next_event().is_some() {}
    chip
}

fn nanos(latencies: &Histogram<u64>, percentile: f64) -> f64 {
    latencies.value_at_percentile(percentile) as f64
}

/// Of an M/G/1 queue: Pollaczek and Khinchine's mean wait, in mean service times.
fn mean_wait(load: f64, variation: f64) -> f64 {
    load * (1.0 + variation * variation) / (2.0 * (1.0 - load))
}

#[test]
fn an_open_loop_waits_as_queueing_theory_says() {
    for (load, sizes) in [
        (0.3, RequestSizes::Equal),
        (0.7, RequestSizes::Equal),
        (0.7, RequestSizes::LogNormal(1.0)),
    ] {
        let variation = if sizes == RequestSizes::Equal { 0.0 } else { 1.0 };
        let job = computing(sizes, RequestLoad::Poisson { per_second: load * 50_000.0 });
        let mut chip = run(settings(), [job], MS * 8000);
        let latencies = chip.take_latencies(0);
        let expected = 20_000.0 * (1.0 + mean_wait(load, variation));
        let found = latencies.mean();
        assert!((found / expected - 1.0).abs() < 0.05, "{load}: {found}, not {expected}");
        assert_eq!(latencies.len(), chip.answered(0));
        // A service without a request is idle, and counts no cycles.
        let busy = chip.account(0).cycles() / 8e9;
        assert!((busy / load - 1.0).abs() < 0.02, "{load}: {busy}");
    }
}

fn closed(clients: u32, think: Duration) -> RequestLoad {
    RequestLoad::Closed { clients, think }
}

#[test]
fn a_closed_loop_is_always_busy_and_clients_wait_for_each_other() {
    for clients in [1, 5] {
        let job = computing(RequestSizes::Equal, closed(clients, Duration::ZERO));
        let mut chip = run(settings(), [job], MS * 100);
        assert!((4990..=5000).contains(&chip.answered(0)), "{}", chip.answered(0));
        let median = nanos(&chip.take_latencies(0), 50.0);
        let expected = 20_000.0 * f64::from(clients);
        assert!((median / expected - 1.0).abs() < 0.01, "{median}");
    }
    // Little's law: clients = rate x (latency + thinking).
    let job = computing(RequestSizes::Equal, closed(4, US * 80));
    let mut chip = run(settings(), [job], MS * 2000);
    let rate = chip.answered(0) as f64 / 2e9;
    let clients = rate * (chip.take_latencies(0).mean() + 80_000.0);
    assert!((clients - 4.0).abs() < 0.1, "{clients}");
}

#[test]
fn what_is_taken_is_taken_once() {
    let job = computing(RequestSizes::Equal, RequestLoad::Poisson { per_second: 10_000.0 });
    let mut chip = Chip::new(settings(), [job, Job::default()]).unwrap();
    let mut answered = 0;
    for end in 1..=5u32 {
        chip.stop_at(Time::ZERO.after(MS * 10 * end));
        while chip.next_event().is_some() {}
        answered += chip.take_latencies(0).len();
    }
    assert!(answered > 300);
    assert_eq!(answered, chip.answered(0));
    assert_eq!((chip.take_latencies(0).len(), chip.take_latencies(1).len()), (0, 0));
}

/// By its windows.
fn latencies_by_window(
    settings: Settings,
    jobs: Vec<Job>,
    every: Duration,
    end: Duration,
) -> Vec<(Time, Latencies)> {
    let mut chip = Chip::new(settings, jobs).unwrap();
    chip.stop_at(Time::ZERO.after(end));
    let (mut windows, mut before) = (Vec::new(), None);
    while let Some((at, event)) = chip.next_event() {
        match event {
            Event::Started { app, .. } => {
                chip.carry_out(Action::Watch { app, every: WindowLength::Time(every) });
            }
            Event::Sampled(sample) => before = Some((at, sample.app, sample.window)),
            Event::Latency(latencies) => {
                assert_eq!(before, Some((at, latencies.app, latencies.window)));
                windows.push((at, latencies));
            }
            _ => {}
        }
    }
    let in_all: u64 = windows.iter().map(|(_, latencies)| latencies.requests()).sum();
    assert!((0..=50).contains(&(chip.answered(0) - in_all)), "{in_all}");
    windows
}

#[test]
fn windows_report_the_requests_answered_in_them() {
    let job =
        computing(RequestSizes::LogNormal(0.5), RequestLoad::Poisson { per_second: 20_000.0 });
    let busy = computing(RequestSizes::Equal, RequestLoad::Poisson { per_second: 0.0 });
    let silent = SimulatedProgram {
        requests: None,
        ..SimulatedProgram::clone(busy.phases[0].program.as_ref().unwrap())
    };
    let windows = latencies_by_window(settings(), vec![job, Job::new(silent)], MS * 2, MS * 100);
    assert_eq!(windows.len(), 50);
    for (_, latencies) in windows {
        let Latencies { app, window, answered } = &latencies;
        assert_eq!((app.0, *window), (0, MS * 2));
        assert!((15..=70).contains(&latencies.requests()), "{answered:?}");
        assert!(answered.is_sorted_by(|a, b| a.latency < b.latency));
    }
}

#[test]
fn a_silent_service_reports_empty_windows() {
    let stage =
        |per_second, ms| Stage { load: RequestLoad::Poisson { per_second }, length: Some(MS * ms) };
    let mut job = computing(RequestSizes::Equal, RequestLoad::Poisson { per_second: 0.0 });
    job.loads = vec![stage(20_000.0, 10), stage(0.0, 10)];
    let windows = latencies_by_window(settings(), vec![job], MS * 10, MS * 80);
    let requests: Vec<bool> =
        windows.iter().map(|(_, latencies)| latencies.requests() > 5).collect();
    assert_eq!(requests, [true, false, true, false, true, false, true, false]);
}

#[test]
fn the_same_requests_come_whatever_is_done_about_them() {
    let per_second = 8000.0;
    let arrivals = |ways: u32, seed| {
        let settings = Settings { seed, ..settings() };
        let jobs = [
            looking_up(1 << 13, RequestLoad::Poisson { per_second }),
            looking_up(1 << 15, RequestLoad::Closed { clients: 1, think: Duration::ZERO }),
        ];
        let mut chip = Chip::new(settings, jobs).unwrap();
        chip.stop_at(Time::ZERO.after(MS * 200));
        while let Some((_, event)) = chip.next_event() {
            let Event::Started { app, .. } = event else { continue };
            let mut partition = Partition::default();
            let own = partition.add_cluster(WayMask::span(0, ways));
            let others = partition.add_cluster(WayMask::span(ways, 20 - ways));
            if app.0 == 1 {
                partition.place(fairways_core::AppId(0), own);
                partition.place(app, others);
                let (plan, reason) = (PlanId::default(), "a test");
                chip.carry_out(Action::Partition {
                    plan,
                    partition: (&partition).into(),
                    reason: reason.into(),
                });
            }
        }
        let instructions = chip.account(0).instructions;
        (chip.answered(0), instructions, chip.take_latencies(0).mean())
    };
    let (wide, narrow) = (arrivals(18, 1), arrivals(2, 1));
    // Requests still under way at the end differ, and so do the latencies.
    assert!(wide.0.abs_diff(narrow.0) <= 3, "{wide:?} {narrow:?}");
    assert!(wide.1.abs_diff(narrow.1) < 100_000, "{wide:?} {narrow:?}");
    assert!(narrow.2 > 1.1 * wide.2, "{wide:?} {narrow:?}");
    assert_eq!(arrivals(18, 1), wide);
    assert_ne!(arrivals(18, 2).1, wide.1);
}

#[test]
fn on_another_scale_of_time_the_reports_are_the_same() {
    let job =
        computing(RequestSizes::LogNormal(0.5), RequestLoad::Poisson { per_second: 25_000.0 });
    let mut means = Vec::new();
    for time_scale in [1, 4] {
        let settings = Settings { time_scale, ..settings() };
        let mut chip = run(settings, [job.clone()], MS * 4000);
        let answered = chip.answered(0) as f64;
        assert!((answered / 100_000.0 - 1.0).abs() < 0.02, "{answered}");
        means.push(chip.take_latencies(0).mean());
    }
    assert!((means[1] / means[0] - 1.0).abs() < 0.02, "{means:?}");
}

fn objective(ms: u32) -> Option<Objective> {
    Some(Objective { slo: MS * ms, percentile: Q32::from_int(99) })
}

fn wish(ms: u32) -> Wish {
    Wish { objective: objective(ms), ..Wish::default() }
}

fn at(ms: u32) -> Time {
    Time::ZERO.after(MS * ms)
}

#[test]
fn an_owner_may_ask_for_something_else() {
    let job = computing(RequestSizes::Equal, RequestLoad::Poisson { per_second: 100.0 });
    let job = Job {
        wish: wish(2),
        wishes: vec![(at(30), wish(5)), (at(10), wish(3))],
        instructions: Some(40_000),
        ..job
    };
    // Before it starts, and after it exits, there is no program to report.
    let late = Job { at: at(20), ..job.clone() };
    let mut chip = Chip::new(
        settings(),
        [job, late, computing(RequestSizes::Equal, RequestLoad::Poisson { per_second: 1.0 })],
    )
    .unwrap();
    chip.stop_at(at(60));
    let (mut wishes, mut running) = (Vec::new(), Vec::new());
    while let Some((when, event)) = chip.next_event() {
        match event {
            Event::Started { app, wish, .. } => {
                running.push(app);
                wishes.push((when, app.0, wish.objective));
            }
            Event::Exited { app } => running.retain(|other| *other != app),
            Event::Wished { app, wish } => {
                assert!(running.contains(&app));
                wishes.push((when, app.0, wish.objective));
            }
            _ => {}
        }
    }
    let of = |app: u32| {
        let of = wishes.iter().filter(|wish| wish.1 == app);
        of.map(|&(at, _, objective)| (at, objective)).collect::<Vec<_>>()
    };
    assert_eq!(of(0)[..2], [(at(0), objective(2)), (at(10), objective(3))]);
    assert_eq!(of(1), [(at(0), None)]);
    assert_eq!(of(2)[0], (at(20), objective(3)));
}

fn service(load: RequestLoad) -> Job {
    computing(RequestSizes::Equal, load)
}

fn refused(settings: Settings, job: Job) -> Option<String> {
    Chip::new(settings, [job]).err().map(|why| why.to_string())
}

#[test]
fn what_can_not_be_is_refused() {
    let wrong = service(RequestLoad::Poisson { per_second: -1.0 });
    let expected = "a service: expected 0 to 1e9 requests a second";
    assert_eq!(refused(settings(), wrong).as_deref(), Some(expected));
    let wrong =
        computing(RequestSizes::LogNormal(f64::NAN), RequestLoad::Poisson { per_second: 1.0 });
    assert!(refused(settings(), wrong).is_some());
    let mut job = service(RequestLoad::Poisson { per_second: 1.0 });
    let other = computing(RequestSizes::LogNormal(1.0), RequestLoad::Poisson { per_second: 1.0 });
    job.phases[0].length = Some(PhaseLength::Instructions(1000));
    job.phases.extend(other.phases);
    let expected = "a service: expected the same requests in every phase";
    assert_eq!(refused(settings(), job).as_deref(), Some(expected));
    let scaled = Settings { time_scale: 2001, ..settings() };
    assert!(refused(scaled, service(RequestLoad::Poisson { per_second: 1.0 })).is_some());
    let mut job = service(RequestLoad::Poisson { per_second: 1.0 });
    job.loads[0].length = Some(Duration::from_nanos(999));
    assert!(refused(settings(), job).is_some());
    let turns = Settings { scheduler: Some(Scheduling::default()), ..settings() };
    let job = service(RequestLoad::Poisson { per_second: 1.0 });
    assert_eq!(Chip::new(turns, [job]).err(), Some(ChipError::ServiceTurns));
}

/// Two services on one core: each waits for its own requests; while the core is hardly used, both
/// answer as if alone.
#[test]
fn hardware_threads_wait_for_their_own_requests() {
    let mut settings = settings();
    (settings.chip.cores, settings.chip.threads) = (1, 2);
    let load = RequestLoad::Poisson { per_second: 500.0 };
    let jobs = [computing(RequestSizes::Equal, load), computing(RequestSizes::Equal, load)];
    let mut chip = run(settings, jobs, MS * 2000);
    for job in [0, 1] {
        let answered = chip.answered(job) as f64;
        assert!((answered / 1000.0 - 1.0).abs() < 0.1, "{answered}");
        let busy = chip.account(job).cycles() / 2e9;
        assert!((busy / 0.01 - 1.0).abs() < 0.15, "{busy}");
        let median = nanos(&chip.take_latencies(job), 50.0);
        assert!((median / 20_000.0 - 1.0).abs() < 0.01, "{median}");
    }
}
