//! All way counts in one pass, beside a run for each.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MB, chip};
use fairways_chip::program::{Accesses, Mixture, MixturePart, Pattern, Supply, Zipf};
use fairways_chip::{Account, Chip, Job, PagePlacement, Profiler, Settings, SimulatedProgram};
use fairways_core::{Action, Event, Machine, Partition, PlanId, WayMask};

const INSTRUCTIONS: u64 = 4_000_000;

fn part(share: f64, lines: u32) -> MixturePart {
    MixturePart { share, lines }
}

fn mixture(stores: f64, missed: bool) -> Accesses {
    let parts = vec![part(5.0, MB / 8), part(3.0, MB / 2), part(1.0, 2 * MB), part(1.0, 0)];
    Accesses::Mixture(Mixture { parts, per_kilo_instructions: 300.0, stores, missed })
}

fn programs() -> Vec<SimulatedProgram> {
    let all = [
        mixture(0.0, false),
        mixture(0.4, false),
        mixture(0.0, true),
        Accesses::Zipf(Zipf::new(4096, 4, 0.99, 64)),
        Accesses::Pattern(Pattern::Random { lines: MB / 2 }),
        Accesses::Pattern(Pattern::Blocked { lines: MB, block: MB / 16, sweeps: 3 }),
    ];
    all.map(|accesses| SimulatedProgram::new(accesses, 0.5, 2.0)).to_vec()
}

fn alone(settings: Settings, program: &SimulatedProgram, ways: u32) -> Account {
    let job = Job { instructions: Some(INSTRUCTIONS), ..Job::new(program.clone()) };
    let mut chip = Chip::new(settings, [job]).unwrap();
    while let Some((_, event)) = chip.next_event() {
        let Event::Started { app, .. } = event else { continue };
        let mut partition = Partition::default();
        let own = partition.add_cluster(WayMask::span(0, ways));
        partition.place(app, own);
        let (plan, reason) = (PlanId::default(), "a test");
        chip.carry_out(Action::Partition {
            plan,
            partition: (&partition).into(),
            reason: reason.into(),
        });
    }
    chip.account(0)
}

fn profiled(settings: Settings, program: &SimulatedProgram) -> Profiler {
    let mut profiler = Profiler::new(settings, program).unwrap();
    while profiler.instructions() < INSTRUCTIONS {
        assert_eq!(profiler.step(), Supply::More);
    }
    profiler
}

/// Up to a batch of accesses, by which the two ends differ.
#[test]
fn one_pass_counts_what_a_run_for_each_number_of_ways_does() {
    for placement in [PagePlacement::Random, PagePlacement::Sequential] {
        let settings = Settings { placement, ..Settings::new(chip()) };
        for (number, program) in programs().iter().enumerate() {
            let profiler = profiled(settings, program);
            for ways in [1, 2, 3, 5, 8, 11] {
                let (ours, theirs) = (profiler.account(ways), alone(settings, program, ways));
                let close = |what: &str, ours: u64, theirs: u64| {
                    let off = ours.abs_diff(theirs);
                    let most = 600 + theirs / 1000;
                    assert!(off <= most, "{number}, {ways} ways, {what}: {ours}, not {theirs}");
                };
                close("references", ours.l1_references / 10, theirs.l1_references / 10);
                close("L1 misses", ours.l1_misses, theirs.l1_misses);
                close("LLC references", ours.llc_references, theirs.llc_references);
                close("LLC misses", ours.llc_misses, theirs.llc_misses);
                close("lines", ours.lines, theirs.lines);
                close("cycles", ours.ticks / 100_000, theirs.ticks / 100_000);
                close("stalls", ours.stall_ticks / 100_000, theirs.stall_ticks / 100_000);
            }
        }
    }
}

fn stored(lines: u32) -> SimulatedProgram {
    let parts = vec![MixturePart { share: 1.0, lines }];
    let mixture = Mixture { parts, per_kilo_instructions: 300.0, stores: 1.0, missed: false };
    SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 2.0)
}

/// Stores of a stream go to memory once with any number of ways; stores of an array that fits never
/// do.
#[test]
fn lines_are_written_back_once() {
    let settings = Settings { placement: PagePlacement::Sequential, ..Settings::new(chip()) };
    let stream = profiled(settings, &stored(0));
    for ways in 1..=11 {
        let account = stream.account(ways);
        let held = u64::from(chip().sets * (ways + 1)) + 1200;
        let written = account.lines - account.llc_misses;
        assert!(written <= account.llc_misses && written + held >= account.llc_misses, "{ways}");
        assert_eq!(stream.lines_held(ways), u64::from(chip().sets * ways));
    }
    // Four ways' worth.
    let fits = profiled(settings, &stored(4096));
    let written = |ways| fits.account(ways).lines - fits.account(ways).llc_misses;
    assert!(written(4) == 0 && written(11) == 0 && written(3) > 100_000, "{}", written(3));
}

/// One of 16 sets stands for all.
#[test]
fn sampled_sets_stand_for_all() {
    for program in programs() {
        let settings = Settings::new(chip());
        let all = profiled(settings, &program);
        let some = profiled(Settings { set_sampling: 16, ..settings }, &program);
        for ways in [1, 4, 11] {
            let (all, some) = (all.account(ways), some.account(ways));
            let ratio =
                |account: &Account| account.llc_misses as f64 / account.llc_references as f64;
            assert!((ratio(&all) - ratio(&some)).abs() < 0.1, "{} {}", ratio(&all), ratio(&some));
            assert_eq!(all.llc_references, some.llc_references);
        }
    }
}
