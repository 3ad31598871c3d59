//! The statements of the crate's documentation on lines, phases, runs and observation.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, Event, Llc, Machine, Partition, PlanId, Resources, Sample, Time,
    WayMask, Ways, WindowLength,
};
use fairways_model::{AfterRun, Job, JobPhase, Model, Settings};
use fairways_profiles::{
    BandwidthModel, MemoryBandwidth, ProfileMetric, ProfiledProgram, embedded,
};

const WAYS: Ways = Ways::new(20).unwrap();

fn program(name: &str) -> Arc<ProfiledProgram> {
    Arc::new(ProfiledProgram::new(embedded(), embedded().find(name).unwrap(), WAYS))
}

fn constant(name: &str) -> Job {
    Job::new(vec![JobPhase { program: program(name), instructions: None }])
}

fn model(jobs: Vec<Job>) -> Model {
    Model::new(Settings::new(Llc::with_ways(WAYS)), jobs)
}

fn at(millis: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(millis))
}

/// Collects all events up to `time`.
fn run_to(model: &mut Model, time: Time) -> Vec<(Time, Event)> {
    model.stop_at(time);
    std::iter::from_fn(|| model.next_event()).collect()
}

fn samples(events: &[(Time, Event)], app: u32) -> Vec<Sample> {
    let sample = |(_, event): &(Time, Event)| match event {
        Event::Sampled(sample) if sample.app == AppId(app) => Some(*sample),
        _ => None,
    };
    events.iter().filter_map(sample).collect()
}

/// Lets app `i` fill the ways of mask `i`.
fn partition(model: &mut Model, plan: u32, masks: &[u32]) {
    let mut partition = Partition::default();
    for (app, &mask) in (0..).zip(masks) {
        let cluster = partition.add_cluster(WayMask::from_bits(mask));
        partition.place(AppId(app), cluster);
    }
    let plan = PlanId(plan);
    model.carry_out(Action::Partition {
        plan,
        partition: (&partition).into(),
        reason: "test".into(),
    });
}

fn watch(model: &mut Model, app: u32, every: WindowLength) {
    model.carry_out(Action::Watch { app: AppId(app), every });
}

fn held(model: &Model, app: u32) -> f64 {
    model.occupancy(AppId(app)).unwrap()
}

#[test]
fn a_program_fills_at_most_a_line_a_miss() {
    for name in ["triad", "hash-join", "chess", "packet-filter"] {
        let mut model = model(vec![constant(name), constant("lattice-flow")]);
        run_to(&mut model, at(1));
        watch(&mut model, 0, WindowLength::Time(Duration::from_micros(200)));
        let mut before = held(&model, 0);
        for millis in 2..60 {
            // At the end of the first 20 ms it may fill fewer ways, and later more.
            match millis {
                20 => partition(&mut model, 0, &[0x3, 0xf_fffc]),
                40 => partition(&mut model, 1, &[0xf_ffff, 0x1]),
                _ => {}
            }
            let events = run_to(&mut model, at(millis));
            let misses: u64 =
                samples(&events, 0).iter().map(|s| s.counters.llc_misses.unwrap()).sum();
            let now = held(&model, 0);
            let lines = (now - before) * 27.5 * 1024.0 * 1024.0 / 20.0 / 64.0;
            // A miss a window may be counted in the one after.
            assert!(
                lines <= misses as f64 + 2.0,
                "{name}, {millis} ms: {lines} lines, {misses} misses"
            );
            before = now;
        }
    }
}

#[test]
fn the_cache_is_never_more_than_full() {
    let names = ["triad", "hash-join", "btree-lookup", "chess", "lp-simplex", "graph-walk"];
    let mut model = model(names.map(constant).to_vec());
    for (step, masks) in [
        [0xf_ffff; 6],
        [0x1, 0xfe, 0xf00, 0x1000, 0x7_e000, 0x8_0000],
        [0xf_0000, 0x1, 0x2, 0xfff0, 0x4, 0x8],
    ]
    .iter()
    .enumerate()
    {
        for millis in 1..30 {
            run_to(&mut model, at(step as u64 * 30 + millis));
            if millis == 1 {
                partition(&mut model, u32::try_from(step).unwrap(), masks);
            }
            let total: f64 = (0..6).map(|app| held(&model, app)).sum();
            assert!(total <= 20.0 + 1e-6, "{total} ways are held");
        }
    }
}

fn last_instructions(events: &[(Time, Event)]) -> u64 {
    let last = *samples(events, 0).last().unwrap();
    last.counters.instructions.unwrap()
}

#[test]
fn lines_outside_a_shrunk_mask_stay_until_others_evict_them() {
    // Beside a light program that hardly ever misses, hash-join keeps its lines, and hits them.
    let mut model = model(vec![
        constant("hash-join"),
        constant("chess"),
        Job { at: at(400), ..constant("triad") },
    ]);
    run_to(&mut model, at(200));
    watch(&mut model, 0, WindowLength::Time(Duration::from_millis(10)));
    let wide = last_instructions(&run_to(&mut model, at(250)));
    assert!(held(&model, 0) > 18.0);
    partition(&mut model, 0, &[0x3, 0xf_fffc]);
    let shrunk = last_instructions(&run_to(&mut model, at(300)));
    assert!(held(&model, 0) > 17.0, "{}", held(&model, 0));
    assert!(shrunk * 100 > wide * 98, "{shrunk} instructions after {wide}");
    // A program that streams through those ways takes their lines, and not the lines in the mask.
    run_to(&mut model, at(400));
    partition(&mut model, 1, &[0x3, 0xf_fffc, 0xf_fffc]);
    run_to(&mut model, at(700));
    assert!((held(&model, 0) - 2.0).abs() < 0.01, "{}", held(&model, 0));
}

#[test]
fn a_program_that_exits_frees_its_lines_and_one_that_starts_has_none() {
    let short =
        Job { instructions: Some(300_000_000), then: AfterRun::Restart, ..constant("triad") };
    let mut model = model(vec![short, constant("hash-join")]);
    model.stop_at(at(60_000));
    loop {
        match model.next_event() {
            Some((_, Event::Exited { app })) => assert_eq!(model.occupancy(app), None),
            Some((_, Event::Started { app: AppId(app @ 2..), .. })) => {
                assert_eq!(held(&model, app), 0.0);
                assert_eq!(model.job(AppId(app)), Some(0));
                break;
            }
            other => assert!(other.is_some()),
        }
    }
}

#[test]
fn counters_are_those_of_the_phase() {
    let phases = vec![phase("triad", Some(400_000_000)), phase("chess", Some(600_000_000))];
    let mut model = model(vec![Job::new(phases)]);
    run_to(&mut model, Time::ZERO);
    watch(&mut model, 0, WindowLength::Instructions(100_000_000));
    let events = run_to(&mut model, at(5000));
    let samples = samples(&events, 0);
    assert!(samples.len() > 20);
    for (index, sample) in samples.iter().enumerate() {
        let streams = sample.counters.llcmpkc().unwrap() >= fairways_core::Q32::from_int(10);
        // Windows overshoot by an instruction or two: the one on the border may belong to both.
        if index % 10 != 4 && index % 10 != 9 {
            assert_eq!(streams, index % 10 < 4, "window {index}: {sample:?}");
        }
    }
}

/// Each counter of a program that runs alone and has filled the cache follows from its profile at
/// every way and the definitions of the metrics.
#[test]
fn counters_are_those_of_the_profile() {
    for name in ["triad", "hash-join", "interpreter"] {
        let mut model = model(vec![constant(name)]);
        // By then even slow fills are done.
        run_to(&mut model, at(600_000));
        watch(&mut model, 0, WindowLength::Time(Duration::from_millis(500)));
        let events = run_to(&mut model, at(600_500));
        let counters = samples(&events, 0)[0].counters;
        let index = embedded().find(name).unwrap();
        let cycles = 1e9;
        assert_eq!(counters.cycles, Some(1_000_000_000));
        let expected = [
            (counters.instructions, cycles, ProfileMetric::Ipc),
            (counters.llc_references, cycles / 1000.0, ProfileMetric::Llcrpkc),
            (counters.llc_misses, cycles / 1000.0, ProfileMetric::Llcmpkc),
            (counters.stalls_l2_miss, cycles, ProfileMetric::StallsL2Miss),
            (counters.memory_bytes, 0.5 * 1e6, ProfileMetric::BandwidthMbps),
        ];
        for (place, (counted, scale, metric)) in expected.into_iter().enumerate() {
            let expected = scale * embedded().values(index, metric).last().unwrap();
            let off = (counted.unwrap() as f64 - expected).abs();
            assert!(
                off <= 2.0 + 1e-6 * expected,
                "{name}, counter {place}: {counted:?} {expected}"
            );
        }
    }
}

/// Two programs that stream, on a memory of this many MB/s.
fn contended(limit_mbps: f64) -> Model {
    let bandwidth = MemoryBandwidth::new(limit_mbps, BandwidthModel::Stalls);
    let settings = Settings { bandwidth, ..Settings::new(Llc::with_ways(WAYS)) };
    Model::new(settings, vec![constant("triad"), constant("copy-large")])
}

fn ratio(one: Option<u64>, other: Option<u64>) -> f64 {
    one.unwrap() as f64 / other.unwrap() as f64
}

fn busy_cycles(c: &fairways_core::Counters) -> f64 {
    (c.cycles.unwrap() - c.stalls_l2_miss.unwrap()) as f64
}

/// A shortage of bandwidth makes a program slower and its counters grow less; it waits for memory.
#[test]
fn a_full_memory_slows_every_counter_alike() {
    let [wide, narrow] = [1e9, 12_000.0].map(|limit| {
        let mut model = contended(limit);
        run_to(&mut model, at(1000));
        watch(&mut model, 0, WindowLength::Time(Duration::from_millis(500)));
        samples(&run_to(&mut model, at(1500)), 0)[0].counters
    });
    let longer = ratio(wide.instructions, narrow.instructions);
    assert!(longer > 1.1, "{longer}");
    assert!((ratio(wide.cycles, narrow.cycles) - 1.0).abs() < 1e-6);
    for ratio in [
        ratio(wide.llc_references, narrow.llc_references),
        ratio(wide.llc_misses, narrow.llc_misses),
        ratio(wide.memory_bytes, narrow.memory_bytes),
    ] {
        assert!((ratio / longer - 1.0).abs() < 1e-4, "{ratio} {longer}");
    }
    // Of each cycle that was busy before, as many are busy per instruction now.
    assert!((busy_cycles(&wide) / busy_cycles(&narrow) / longer - 1.0).abs() < 1e-4);
}

fn repeated(name: &str, billions: u64) -> Job {
    Job { instructions: Some(billions * 1_000_000_000), then: AfterRun::Restart, ..constant(name) }
}

#[test]
fn runs_are_counted_and_timed_until_all_are_complete() {
    let mut model = model(vec![repeated("chess", 2), repeated("route-search", 2)]);
    model.stop_after(3);
    while model.next_event().is_some() {}
    // The slower program has run three times, the other as often as it could meanwhile.
    assert_eq!(model.completions(1).len(), 3);
    assert!(model.completions(0).len() > 3);
    let best = repeated("route-search", 2).best_seconds(2000.0).unwrap();
    for seconds in model.completions(1) {
        assert!(*seconds > best && *seconds < 2.0 * best, "{seconds} s, {best} s at best");
    }
    let (ran, at_best) = model.progress(1);
    let total: f64 = model.completions(1).iter().sum();
    assert!((ran - total).abs() < 1e-6, "{ran} {total}");
    assert!((at_best - 3.0 * best).abs() < 1e-6, "{at_best}");
}

fn phase(name: &str, instructions: Option<u64>) -> JobPhase {
    JobPhase { program: program(name), instructions }
}

fn best_seconds_of_a_billion(name: &str) -> f64 {
    1e9 / (program(name).best_ipc() * 2e9)
}

fn seconds(phases: Vec<JobPhase>, billions: u64) -> f64 {
    let instructions = Some(billions * 1_000_000_000);
    Job { instructions, ..Job::new(phases) }.best_seconds(2000.0).unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}")
}

#[test]
fn the_best_time_of_a_run_is_that_of_its_phases() {
    let (triad, chess) = (best_seconds_of_a_billion("triad"), best_seconds_of_a_billion("chess"));
    let cycle = vec![phase("triad", Some(2_000_000_000)), phase("chess", Some(3_000_000_000))];
    // Two cycles, the first phase, and one of the second.
    close(seconds(cycle.clone(), 13), 6.0 * triad + 7.0 * chess);
    close(seconds(cycle, 1), triad);
    let rest = vec![phase("triad", Some(2_000_000_000)), phase("chess", None)];
    close(seconds(rest, 10), 2.0 * triad + 8.0 * chess);
    assert_eq!(Job::new(vec![phase("chess", None)]).best_seconds(2000.0), None);
}

#[test]
fn windows_overshoot_noise_and_losses_are_as_set() {
    let settings =
        Settings { overshoot: 4.0, noise: 0.02, lost: 0.25, ..Settings::new(Llc::with_ways(WAYS)) };
    let mut model = Model::new(settings, vec![constant("triad")]);
    run_to(&mut model, at(100));
    watch(&mut model, 0, WindowLength::Instructions(1_000_000));
    let events = run_to(&mut model, at(4000));
    let samples = samples(&events, 0);
    let lost = samples.iter().filter(|s| s.counters.instructions.is_none()).count();
    let unread = samples.iter().filter(|s| s.occupancy.is_none()).count();
    let quarter = samples.len() / 4;
    assert!(samples.len() > 1000 && lost.abs_diff(quarter) < quarter / 4, "{lost}");
    assert!(unread.abs_diff(quarter) < quarter / 4, "{unread}");
    let counted = samples.iter().filter_map(|s| s.counters.instructions.zip(s.counters.cycles));
    // Alone for long, triad takes the same cycles for the same instructions.
    let cpi: Vec<f64> = counted
        .map(|(instructions, cycles)| {
            assert!((4_000_000..4_000_010).contains(&instructions));
            cycles as f64 / instructions as f64
        })
        .collect();
    let [least, most] = [f64::min, f64::max].map(|f| cpi.iter().copied().reduce(f).unwrap());
    let spread = (most - least) / (most + least);
    assert!(spread > 0.018 && spread < 0.0201, "{spread}");
}

fn slowdown(model: &Model, job: usize) -> f64 {
    let (ran, best) = model.progress(job);
    ran / best
}

#[test]
fn memory_slows_programs_down_and_may_not_suffice() {
    let mut narrow = contended(12_000.0);
    run_to(&mut narrow, at(1000));
    assert_eq!(narrow.failure(), None);
    let mut wide = contended(1e9);
    run_to(&mut wide, at(1000));
    assert!((0..2).all(|job| slowdown(&narrow, job) > 1.1 * slowdown(&wide, job)));

    let bandwidth = MemoryBandwidth::new(10.0, BandwidthModel::Simple);
    let settings = Settings { bandwidth, ..Settings::new(Llc::with_ways(WAYS)) };
    let mut starved = Model::new(settings, vec![constant("triad"), constant("hash-join")]);
    while starved.next_event().is_some() {}
    assert!(starved.failure().is_some());
    assert!(starved.next_event().is_none(), "it goes on after it has failed");
}

/// A stream has a level for a second, beside a program that waits for memory: the stream moves no
/// more than that from the plan on, and the other is faster; then both are as before.
#[test]
fn a_level_acts_from_its_plan_on() {
    for kind in [BandwidthModel::Simple, BandwidthModel::Stalls] {
        let bandwidth = MemoryBandwidth::new(5_000.0, kind);
        let settings = Settings { bandwidth, ..Settings::new(Llc::with_ways(WAYS)) };
        let mut model = Model::new(settings, [constant("triad"), constant("hash-join")]);
        let Some((_, Event::Machine(levers))) = model.next_event() else { panic!("its levers") };
        assert_eq!(levers.bandwidth.unwrap().capacity_mbps, Some(5_000));
        run_to(&mut model, at(2000));
        for app in 0..2 {
            watch(&mut model, app, WindowLength::Time(Duration::from_millis(500)));
        }
        let (mut moved, mut retired) = (Vec::new(), Vec::new());
        for (second, level) in [(1, None), (2, Some(20)), (3, None)] {
            let mut plan = Partition::default();
            for (app, bandwidth) in [(0, level), (1, None)] {
                let bandwidth = bandwidth.and_then(BandwidthLevel::new);
                plan.add(Resources { mask: WayMask::full(WAYS), bandwidth });
                plan.place(AppId(app), app);
            }
            model.carry_out(Action::Partition {
                plan: PlanId(second),
                partition: (&plan).into(),
                reason: "test".into(),
            });
            let events = run_to(&mut model, at(2000 + 1000 * u64::from(second)));
            assert_eq!((model.plan(), model.partition()), (Some(PlanId(second)), &plan));
            let last = [0, 1].map(|app| samples(&events, app).pop().unwrap().counters);
            moved.push(last[0].memory_bytes.unwrap());
            retired.push(last[1].instructions.unwrap());
        }
        // 20 % of 5000 MB/s for half a second.
        assert!(moved[1] <= 500_000_001 && moved[0] > 1_000_000_000, "{kind:?}: {moved:?}");
        assert!(retired[1] * 100 > retired[0] * 104, "{kind:?}: {retired:?}");
        assert!(moved[2].abs_diff(moved[0]) < moved[0] / 50, "{kind:?}: {moved:?}");
        assert!(retired[2].abs_diff(retired[0]) < retired[0] / 50, "{kind:?}: {retired:?}");
    }
}
