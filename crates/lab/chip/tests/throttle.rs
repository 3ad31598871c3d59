//! Limits of memory bandwidth, held to what was measured on real machines.
//!
//! The measurements are the kernel's self-test for resctrl on two machines (one thread that reads
//! 250 MB, iMC counters), and reports to intel-cmt-cat (issues 277 and 285) of many cores at the
//! lowest step.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::preset::parse;
use fairways_chip::program::{Accesses, Pattern, SimulatedProgram};
use fairways_chip::{Account, AfterRun, BandwidthLimit, Chip, FillClass, Job, Settings};
use fairways_core::{
    Action, AppId, BandwidthLevel, Event, Levers, LimitScope, Machine, Partition, PartitionError,
    PlanId, Resources, Time, WayMask,
};

/// Lines of 128 MB: far more than the cache.
const LARGE: u32 = 1 << 21;

/// The span of time that is measured, after one as long.
const MS: u64 = 4;

/// A program at 2 GHz that by itself asks for a line in this many ns.
fn stream(nanos: f64) -> Job {
    let (instructions, cpi, latency) = (32.0, 0.1, 180.0);
    let overlap = latency / (nanos * 2.0 - instructions * cpi);
    program(Pattern::Sequential { lines: LARGE }, cpi, overlap)
}

/// A program that waits for each line before it asks for the next.
fn chase(lines: u32) -> Job {
    program(Pattern::Chase { lines }, 0.5, 1.0)
}

fn program(pattern: Pattern, cpi: f64, overlap: f64) -> Job {
    let program = SimulatedProgram::new(Accesses::Pattern(pattern), cpi, overlap);
    Job { then: AfterRun::Restart, ..Job::new(program) }
}

/// What a job did in a span of time.
#[derive(Clone, Copy, Debug)]
struct LimitedRate {
    instructions: f64,
    gbps: f64,
}

/// Runs jobs, each with a limit of its own, in a class of its own; `None`: without.
fn rates(chip: &str, jobs: &[(Job, Option<u32>)], same_class: bool) -> Vec<LimitedRate> {
    let settings = Settings::new(parse(chip).unwrap());
    let cpus = settings.chip.cpus() as usize;
    let mask = WayMask::full(settings.chip.llc.ways);
    let mut machine = Chip::new(settings, jobs.iter().map(|(job, _)| job.clone())).unwrap();
    for (index, (_, value)) in jobs.iter().enumerate() {
        let number = u16::try_from(index).unwrap();
        let class = if same_class { 0 } else { number };
        let limit = value.map(|value| BandwidthLimit { class, value });
        machine.set_classes(index, vec![FillClass { mask, mark: number, limit }; cpus]);
    }
    run(&mut machine, MS);
    let before: Vec<_> = (0..jobs.len()).map(|job| machine.account(job)).collect();
    run(&mut machine, 2 * MS);
    let seconds = MS as f64 / 1e3;
    let moved = before.iter().enumerate().map(|(job, before)| {
        let moved = machine.account(job).minus(before);
        let gbps = moved.lines as f64 * 64.0 / seconds / 1e9;
        LimitedRate { instructions: moved.instructions as f64, gbps }
    });
    moved.collect()
}

fn run(chip: &mut Chip, until: u64) {
    chip.stop_at(Time::ZERO.after(Duration::from_millis(until)));
    while chip.next_event().is_some() {}
}

fn alone(chip: &str, job: &Job, limit: Option<u32>) -> LimitedRate {
    rates(chip, &[(job.clone(), limit)], false)[0]
}

/// A stream's speed at each step over that without a limit, within bands that were set before it
/// was run. Steps of the same gap are one.
fn check_steps(own_nanos: f64, band: f64, measured: &[(u32, f64)]) {
    let job = stream(own_nanos);
    let full = alone("skylake", &job, None).gbps;
    assert!((full * own_nanos / 64.0 - 1.0).abs() < 0.1, "{full} GB/s");
    for &(percent, expected) in measured {
        let ratio = alone("skylake", &job, Some(percent)).gbps / full;
        assert!((ratio / expected - 1.0).abs() <= band, "{percent} %: {ratio:.3}, not {expected}");
    }
    for pair in [[90, 70], [60, 50], [15, 20]] {
        let [one, other] = pair.map(|percent| alone("skylake", &job, Some(percent)).gbps);
        assert!((one / other - 1.0).abs() < 0.02, "{pair:?} %");
    }
}

/// A machine with 14.2 GB/s for a stream (Gold 6254).
#[test]
fn a_fast_stream_slows_as_measured() {
    let measured = [(90, 0.652), (60, 0.530), (40, 0.420), (30, 0.297), (20, 0.210), (10, 0.121)];
    check_steps(4.3, 0.20, &measured);
}

/// A machine with 7 GB/s for a stream, which feels nothing above 40 %.
#[test]
fn a_slow_stream_slows_as_measured() {
    check_steps(8.8, 0.15, &[(40, 0.971), (30, 0.578), (20, 0.434), (10, 0.293)]);
    let job = stream(8.8);
    let [full, limited] = [None, Some(50)].map(|limit| alone("skylake", &job, limit).gbps);
    assert!(limited > 0.95 * full, "{limited} of {full}");
}

/// The limit is a core's: six and twenty cores at the lowest step moved 13.6 and over 40 GB/s.
#[test]
fn a_limit_is_of_each_core() {
    for (cores, measured) in [(6, 13.6), (20, 40.0)] {
        let jobs = vec![(stream(4.3), Some(10)); cores];
        let all: f64 = rates("skylake:mbps=200000", &jobs, true).iter().map(|of| of.gbps).sum();
        assert!((all / measured - 1.0).abs() < 0.15, "{cores} cores: {all:.1} GB/s");
    }
}

/// One that asks for a line only when it has the last one never asks so often.
#[test]
fn a_pointer_chaser_is_not_slowed() {
    let job = chase(LARGE);
    let [full, limited] = [None, Some(10)].map(|limit| alone("skylake", &job, limit).instructions);
    assert!(limited > 0.98 * full, "{limited} of {full}");
}

/// Requests that the last-level cache serves are spaced, too, which frees no memory bandwidth.
#[test]
fn a_program_that_lives_in_the_cache_pays_for_nothing() {
    // 2 MB, a line in 5 ns.
    let job = program(Pattern::Sequential { lines: 1 << 15 }, 0.1, 55.0 / 6.8);
    let [full, limited] = [None, Some(10)].map(|limit| alone("skylake", &job, limit));
    let slowdown = full.instructions / limited.instructions;
    assert!((5.0..7.5).contains(&slowdown), "{slowdown}");
    assert!(full.gbps < 0.1 && limited.gbps < 0.1, "{full:?} {limited:?}");
}

/// The stricter limit of two hardware threads holds for both, or each has its own.
#[test]
fn siblings_share_a_limit_or_do_not() {
    // Of few instructions: threads share the pipeline.
    let job = program(Pattern::Chase { lines: LARGE }, 1.0, 12.0);
    let jobs = [(job.clone(), None), (job, Some(10))];
    for (throttle, shared) in [("mba", true), ("mba-per-thread", false)] {
        let rates = rates(&format!("skylake:cores=1:threads=2:throttle={throttle}"), &jobs, false);
        let ratio = rates[0].gbps / rates[1].gbps;
        assert!(if shared { ratio < 1.1 } else { ratio > 2.0 }, "{throttle}: {rates:?}");
    }
}

/// A cap is of a class, in 1/8 GB/s, and of what it writes back; what hits is free.
#[test]
fn a_cap_is_of_a_class() {
    for cores in [1, 4] {
        let jobs = vec![(stream(4.3), Some(40)); cores];
        for (same, expected) in [(true, 5.0), (false, 5.0 * cores as f64)] {
            let moved = rates("skylake:throttle=cap", &jobs, same);
            let sum: f64 = moved.iter().map(|of| of.gbps).sum();
            assert!((sum / expected - 1.0).abs() < 0.03, "{cores} cores: {sum}");
        }
    }
    let percent = rates("skylake:throttle=cap-percent", &[(stream(4.3), Some(5))], true)[0].gbps;
    assert!((percent / 5.1 - 1.0).abs() < 0.03, "{percent}");
    let hits = program(Pattern::Sequential { lines: 1 << 15 }, 0.1, 55.0 / 6.8);
    let [full, limited] =
        [None, Some(8)].map(|limit| alone("skylake:throttle=cap", &hits, limit).instructions);
    assert!(limited > 0.98 * full, "{limited} of {full}");
}

/// Beside a full bus, a chaser's lines take as long as measured; fewer lines of others, less long.
#[test]
fn throttled_streams_give_way() {
    for bus in ["queue", "cascade-lake", "ice-lake"] {
        let chip = format!("skylake:bus={bus}:mbps=40000");
        let alone = alone(&chip, &chase(LARGE), None).instructions;
        let [beside, throttled] = [None, Some(10)].map(|limit| {
            let mut jobs = vec![(stream(4.3), limit); 8];
            jobs.push((chase(LARGE), None));
            alone / rates(&chip, &jobs, true)[8].instructions
        });
        assert!(beside > 1.2 && throttled < beside, "{bus}: {beside:.2}, {throttled:.2}");
        // 16 GB/s of 40: measured 1.15 to 1.2.
        let band = if bus == "queue" { 1.0..1.03 } else { 1.08..1.25 };
        assert!(band.contains(&throttled), "{bus}: {throttled:.3}");
    }
}

/// Two streams in a cluster with this level beside a third without one: the answer's level, and
/// what each has moved.
fn planned(chip: &str, level: u32) -> (Levers, Option<u32>, [Account; 3]) {
    let settings = Settings::new(parse(chip).unwrap());
    let mut machine = Chip::new(settings, [stream(4.3), stream(4.3), stream(4.3)]).unwrap();
    let mut partition = Partition::default();
    let bandwidth = BandwidthLevel::new(level);
    let limited = partition.add(Resources { mask: WayMask::span(0, 4), bandwidth });
    let free = partition.add(Resources { mask: WayMask::span(4, 4), bandwidth: None });
    for (app, cluster) in [(0, limited), (1, limited), (2, free)] {
        partition.place(AppId(app), cluster);
    }
    let (mut machine_levers, mut answered) = (None, None);
    machine.stop_at(Time::ZERO.after(Duration::from_millis(MS)));
    while let Some((_, event)) = machine.next_event() {
        match event {
            Event::Machine(levers) => machine_levers = Some(levers),
            Event::Started { app: AppId(2), .. } => machine.carry_out(Action::Partition {
                plan: PlanId(0),
                partition: (&partition).into(),
                reason: "a test".into(),
            }),
            Event::Applied { actual, .. } => answered = Some(actual),
            _ => {}
        }
    }
    let in_force: Vec<_> = answered.unwrap().clusters().iter().map(|of| of.bandwidth).collect();
    assert_eq!(in_force[1], None);
    let accounts = [0, 1, 2].map(|job| machine.account(job));
    (machine_levers.unwrap(), in_force[0].map(BandwidthLevel::get), accounts)
}

/// A plan's limit is in force as the machine's lever has it, and is answered so: a step of each
/// core, or a share of the bandwidth for all of a class.
#[test]
fn a_plan_limits_bandwidth() {
    let seconds = MS as f64 / 1e3;
    for (chip, scope, (level, answer), expected) in [
        // A core's cap at 30 %.
        ("skylake", LimitScope::Core, (21, 30), 2.0 * 4.2),
        // In 1/8 GB/s, about what both ask for.
        ("skylake:throttle=cap", LimitScope::Class, (238, 238), 29.8),
        ("skylake:throttle=cap:mbps=unlimited", LimitScope::Class, (80, 80), 10.0),
        // Of 40 GB/s.
        ("skylake:throttle=cap-percent:mbps=40000", LimitScope::Class, (29, 29), 11.6),
    ] {
        let (levers, in_force, [one, other, free]) = planned(chip, level);
        assert_eq!(levers.bandwidth.unwrap().scope, scope);
        assert_eq!(in_force, Some(answer), "{chip}");
        let gbps = (one.lines + other.lines) as f64 * 64.0 / seconds / 1e9;
        assert!((gbps / expected - 1.0).abs() < 0.05, "{chip}: {gbps} GB/s");
        assert_eq!(free.throttled_ticks, 0);
    }
    // What it would move without: its lines in the time in which it was not held back.
    let (_, _, [one, _, free]) = planned("skylake", 30);
    let wanted = one.lines as f64 / (one.ticks - one.throttled_ticks) as f64;
    let would = free.lines as f64 / free.ticks as f64;
    assert!((wanted / would - 1.0).abs() < 0.1, "{wanted} {would}");
    // A lever says what memory can move, unless that is unlimited.
    for (chip, mbps) in [("skylake", Some(102_000)), ("skylake:throttle=cap:mbps=unlimited", None)]
    {
        let lever = parse(chip).unwrap().levers().bandwidth.unwrap();
        assert_eq!(lever.capacity_mbps, mbps, "{chip}");
    }
    // Nothing is a percent of an unlimited bus.
    let unlimited = parse("skylake:throttle=cap-percent:mbps=unlimited").unwrap();
    assert_eq!(unlimited.levers().bandwidth, None);
    // The highest level is no limit.
    let (_, in_force, [one, _, free]) = planned("skylake", 100);
    assert_eq!((in_force, one.throttled_ticks, free.throttled_ticks), (Some(100), 0, 0));
}

/// Whatever number a plan has for a level, the machine answers.
#[test]
fn a_level_that_no_step_is_above_is_refused() {
    let settings = Settings::new(parse("skylake").unwrap());
    let mut machine = Chip::new(settings, [stream(4.3)]).unwrap();
    let mut partition = Partition::default();
    let bandwidth = BandwidthLevel::new(u32::MAX);
    let cluster = partition.add(Resources { mask: WayMask::span(0, 4), bandwidth });
    partition.place(AppId(0), cluster);
    machine.stop_at(Time::ZERO.after(Duration::from_millis(1)));
    let mut is_refused = false;
    while let Some((_, event)) = machine.next_event() {
        match event {
            Event::Started { .. } => machine.carry_out(Action::Partition {
                plan: PlanId(0),
                partition: (&partition).into(),
                reason: "a test".into(),
            }),
            Event::Refused { why, .. } => {
                is_refused = matches!(why, PartitionError::Level { .. });
            }
            _ => {}
        }
    }
    assert!(is_refused);
}
