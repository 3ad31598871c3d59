//! In lockstep, the machine behind the files goes through exactly the turns that a chip by itself
//! goes through.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::VecDeque;
use std::fs;
use std::time::Duration;

use common::{can_mount, mounted};
use fairways_chip::program::parse;
use fairways_chip::service::Stage;
use fairways_chip::{Chip, Job, Phase, Settings as Simulated, preset};
use fairways_core::{
    Action, AppId, Counters, Event, Machine, Partition, PlanId, Sample, Time, WayMask, WindowLength,
};
use fairways_emulated::{Request, Retired};
use fairways_emulator::{Pace, Settings};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::{ChipMachine, platform_of};

const PROGRAMS: [&str; 4] = ["mlr:500K", "mload:2M", "lookbusy", "masstree-like"];

/// Four programs, one of them a service, on a chip whose clock is reported three times as fast as
/// it goes.
fn machine() -> (Simulated, Vec<(String, Job)>) {
    let geometry = preset::parse("xeon-d:cores=4:sets=1024").unwrap();
    let settings = Simulated { time_scale: 3, seed: 11, ..Simulated::new(geometry) };
    let jobs = PROGRAMS.map(|text| {
        let phases = parse(text, |_| None).unwrap().into_iter();
        let phases =
            phases.map(|(program, length)| Phase { program: program.map(Into::into), length });
        let job = Job { phases: phases.collect(), ..Job::default() };
        let loads = job.requests().map(|_| Stage::SATURATED);
        (text.to_owned(), Job { loads: loads.into_iter().collect(), ..job })
    });
    (settings, jobs.into())
}

/// When masks change, in nanoseconds, and to what: at times that are no multiples of a turn nor of
/// the time scale.
fn script() -> VecDeque<(u64, [u32; 4])> {
    let mut random = 7_u64;
    let mut at = 0;
    let mut steps = VecDeque::new();
    for _ in 0..40 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += 200_000 + (random >> 40) % 300_000;
        let mask = |shift: u64| 1 << (random >> shift & 7) | 2 << (random >> shift & 7);
        steps.push_back((at, [mask(13), mask(23), mask(33), 0xfff]));
    }
    steps
}

/// When a step is reached, every program's counters then, and the service's answers since the
/// machine began.
type Reached = (u64, Vec<Counters>, u64);

fn alone() -> (Vec<Reached>, Vec<(u64, Sample)>) {
    let (settings, jobs) = machine();
    let mut chip = Chip::new(settings, jobs.into_iter().map(|(_, job)| job)).unwrap();
    let mut steps = script();
    let (mut reached, mut windows) = (Vec::new(), Vec::new());
    let mut plan = PlanId(0);
    while let Some((at, event)) = chip.next_event() {
        match event {
            Event::Started { app: AppId(3), .. } => {
                let at = Time::from_nanos(steps[0].0);
                chip.carry_out(Action::Wake { at });
                let every = WindowLength::Instructions(INSTRUCTIONS);
                chip.carry_out(Action::Watch { app: AppId(0), every });
            }
            Event::Sampled(sample) => windows.push((at.nanos(), sample)),
            Event::Woke => {
                let counters = (0..PROGRAMS.len()).map(|job| chip.counters(job)).collect();
                reached.push((at.nanos(), counters, chip.answered(3)));
                let (_, masks) = steps.pop_front().unwrap();
                let Some(&(next, _)) = steps.front() else { break };
                let mut partition = Partition::default();
                for (app, mask) in (0..).map(AppId).zip(masks) {
                    let cluster = partition.add_cluster(WayMask::from_bits(mask));
                    partition.place(app, cluster);
                }
                let action = Action::Partition {
                    plan,
                    partition: (&partition).into(),
                    reason: "script".into(),
                };
                chip.carry_out(action);
                plan = plan.next();
                chip.carry_out(Action::Wake { at: Time::from_nanos(next) });
            }
            _ => {}
        }
    }
    (reached, windows)
}

const INSTRUCTIONS: u64 = 50_000;

#[test]
fn the_same_masks_at_the_same_times_give_the_same_counters() {
    if !can_mount() {
        return;
    }
    let (alone, windows) = alone();
    assert!(alone.len() == 40 && windows.len() > 5, "{} {}", alone.len(), windows.len());
    let (settings, jobs) = machine();
    let platform = platform_of(&settings.chip, Platform::broadwell());
    let hardware = Box::new(ChipMachine::new(settings, jobs).unwrap());
    let of = mounted(Settings { pace: Pace::Lockstep, ..Settings::new(platform, hardware) });
    let mut client = of.client();
    for (group, name) in ["a", "b", "c", "d"].iter().zip(PROGRAMS) {
        fs::create_dir(of.path(group)).unwrap();
        of.write(&format!("{group}/tasks"), &of.pid(name).to_string()).unwrap();
    }
    let mut windows = windows.into_iter().peekable();
    let mut from = client.counters(None).unwrap()[0].counters;
    for ((at, masks), (expected_ns, counters, answered)) in script().into_iter().zip(alone) {
        loop {
            let program = PROGRAMS[0].to_owned();
            let instructions = from.instructions.unwrap() + INSTRUCTIONS;
            let until = vec![Retired { programs: vec![program], instructions }];
            // A client that waits for no step of its own, in the midst of a turn, changes no turn.
            let about_ns = Some(client.status().unwrap().now_ns + 12_345);
            client.request(&soon(about_ns)).unwrap();
            let now = client.advance_until(Time::from_nanos(at), until.clone()).unwrap();
            let shown = client.counters(None).unwrap()[0].counters;
            if let Some((when, sample)) = windows.next_if(|(when, _)| *when <= now.now_ns) {
                assert_eq!(now.now_ns, when);
                let did = shown.instructions.unwrap() - from.instructions.unwrap();
                assert_eq!(Some(did), sample.counters.instructions);
                let cycles = shown.cycles.unwrap() - from.cycles.unwrap();
                assert_eq!(Some(cycles), sample.counters.cycles);
                from = shown;
            }
            if now.now_ns >= at {
                assert_eq!(now.now_ns, expected_ns);
                break;
            }
        }
        let shown = client.counters(None).unwrap();
        let shown: Vec<Counters> = shown.into_iter().map(|of| of.counters).collect();
        assert_eq!(shown, counters, "at {expected_ns} ns");
        let latencies = client.latencies(None).unwrap();
        assert_eq!(latencies.len(), 1);
        let of_service = latencies[0].answered.as_ref().unwrap();
        assert_eq!(of_service.iter().map(|of| of.requests).sum::<u64>(), answered);
        for (group, mask) in ["a", "b", "c", "d"].iter().zip(masks) {
            of.write(&format!("{group}/schemata"), &format!("L3:0={mask:x}\n")).unwrap();
        }
    }
}

fn soon(about_ns: Option<u64>) -> Request {
    Request::Advance { by_ns: None, to_ns: None, about_ns, until_exit: false, until: Vec::new() }
}

fn until(name: &str) -> Vec<Retired> {
    vec![Retired { programs: vec![name.to_owned()], instructions: 1 }]
}

#[test]
fn an_advance_ends_with_the_turn_in_which_a_program_is_over() {
    if !can_mount() {
        return;
    }
    let (settings, mut jobs) = machine();
    jobs[2].1.instructions = Some(777_777);
    let mut chip = Chip::new(settings, jobs.iter().map(|(_, job)| job.clone())).unwrap();
    let ended = std::iter::from_fn(|| chip.next_event())
        .find_map(|(at, event)| matches!(event, Event::Exited { .. }).then_some(at.nanos()));
    let platform = platform_of(&settings.chip, Platform::broadwell());
    let hardware = Box::new(ChipMachine::new(settings, jobs).unwrap());
    let of = mounted(Settings { pace: Pace::Lockstep, ..Settings::new(platform, hardware) });
    let mut client = of.client();
    let request = Request::Advance {
        by_ns: None,
        to_ns: Some(Duration::from_secs(1).as_nanos().try_into().unwrap()),
        about_ns: None,
        until_exit: true,
        until: Vec::new(),
    };
    client.request(&request).unwrap();
    assert_eq!(Some(client.status().unwrap().now_ns), ended);
    // There is no such program to wait for.
    let why = client.advance_until(Time::from_nanos(u64::MAX), until("nonesuch")).unwrap_err();
    assert!(why.to_string().contains("until: expected one of the programs"), "{why}");
    let now = client.advance_until(Time::from_nanos(u64::MAX), until(PROGRAMS[0])).unwrap();
    assert_eq!(Some(now.now_ns), ended, "a past event is not waited for");
}
