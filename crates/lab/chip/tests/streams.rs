//! What leaves the private caches, recorded and replayed.

#![allow(clippy::unwrap_used)]

mod common;

use common::{MB, chip};
use fairways_chip::program::{
    Accesses, Mixture, MixturePart, Pattern, StreamReplay, Supply, Zipf, private_caches,
};
use fairways_chip::{
    Account, AfterRun, Chip, ChipError, Geometry, Job, Profiler, Recorder, Scheduling, Settings,
    SimulatedProgram, Slices,
};
use fairways_core::Machine;
use fairways_profiles::{MeasuredRun, StreamManifest, StreamTotals};

const INSTRUCTIONS: u64 = 1_000_000;

fn programs() -> Vec<SimulatedProgram> {
    let parts = [(5.0, MB / 8), (3.0, MB / 2), (1.0, 2 * MB), (1.0, 0)];
    let parts = parts.map(|(share, lines)| MixturePart { share, lines }).to_vec();
    let all = [
        Accesses::Mixture(Mixture {
            parts,
            per_kilo_instructions: 300.0,
            stores: 0.4,
            missed: false,
        }),
        Accesses::Zipf(Zipf::new(4096, 4, 0.99, 64)),
        Accesses::Pattern(Pattern::Random { lines: MB / 2 }),
    ];
    all.map(|accesses| SimulatedProgram::new(accesses, 0.5, 2.0)).to_vec()
}

fn manifest(program: &SimulatedProgram) -> StreamManifest {
    StreamManifest {
        program: "it".to_owned(),
        run: MeasuredRun {
            command: vec!["it".to_owned()],
            file: "/bin/it".to_owned(),
            sha256: String::new(),
            version: None,
            qemu: String::new(),
            machine: "chip:skylake".to_owned(),
            skip: 0,
            instructions: 0,
            slices: 1,
            apart: 0,
            exit_code: None,
        },
        private: private_caches(&chip()),
        cpi: program.base_cpi,
        overlap: program.overlap,
        overlap_estimate: 0.0,
        totals: StreamTotals::default(),
        blocks: Vec::new(),
    }
}

fn recorded(program: &SimulatedProgram, slices: Slices) -> (StreamReplay, StreamManifest) {
    let mut recorder = Recorder::new(&Settings::new(chip()), program, slices).unwrap();
    while recorder.step() == Supply::More {}
    assert!(recorder.is_complete());
    let (bytes, manifest) = recorder.finish(manifest(program));
    (StreamReplay::read(&bytes, "it.stream").unwrap(), manifest)
}

fn profiled(program: &SimulatedProgram, slices: Slices) -> Profiler {
    let mut profiler = Profiler::new(Settings::new(chip()), program).unwrap().within(slices);
    while profiler.step() == Supply::More {}
    assert!(profiler.is_complete());
    profiler
}

/// Misses, write-backs and cycles with each number of ways, although private caches are left out.
#[test]
fn a_stream_fed_back_has_the_profile_of_the_run() {
    let one = Slices { skip: 100_000, length: Some(INSTRUCTIONS), ..Slices::ALL };
    let four =
        Slices { skip: 50_000, length: Some(INSTRUCTIONS / 4), count: 4, apart: INSTRUCTIONS / 2 };
    for slices in [one, four] {
        for (number, program) in programs().iter().enumerate() {
            let (stream, manifest) = recorded(program, slices);
            let all = Slices { length: Some(INSTRUCTIONS), ..Slices::ALL };
            let profiler = profiled(program, slices);
            let replayed = profiled(&SimulatedProgram::replayed(stream), all);
            assert_eq!(manifest.totals.instructions, INSTRUCTIONS);
            for ways in 1..=11 {
                let (ours, theirs) = (replayed.account(ways), profiler.account(ways));
                assert_eq!(ours, theirs, "program {number}, {slices:?}, {ways} ways");
            }
        }
    }
}

fn account(program: &SimulatedProgram, instructions: u64) -> Account {
    let job = Job { instructions: Some(instructions), ..Job::new(program.clone()) };
    let mut chip = Chip::new(Settings::new(chip()), [job]).unwrap();
    while chip.next_event().is_some() {}
    chip.account(0)
}

#[track_caller]
fn within(ours: u64, theirs: u64, percent: u64) {
    assert!(ours.abs_diff(theirs) * 100 <= theirs * percent, "{ours}, not {theirs}");
}

/// On the chip, alone and restarted, and taking turns with another one.
#[test]
fn streams_run_on_the_chip_again_and_again() {
    let program = &programs()[0];
    let slices = Slices { length: Some(INSTRUCTIONS), ..Slices::ALL };
    let stream = SimulatedProgram::replayed(recorded(program, slices).0);
    let (ours, theirs) = (account(&stream, INSTRUCTIONS), account(program, INSTRUCTIONS));
    within(ours.llc_misses, theirs.llc_misses, 1);
    within(ours.llc_references, theirs.llc_references, 1);
    within(ours.l1_references, theirs.l1_references, 1);
    within(ours.l1_misses, theirs.l1_misses, 1);
    within(ours.lines, theirs.lines, 1);
    within(ours.ticks, theirs.ticks, 1);
    // Three passes: later ones find the cache warm.
    let thrice = account(&stream, 3 * INSTRUCTIONS);
    within(thrice.llc_references, 3 * ours.llc_references, 1);
    assert!(thrice.llc_misses < 3 * ours.llc_misses);

    let scheduler = Some(Scheduling::default());
    let one_core = Geometry { cores: 1, threads: 1, ..chip() };
    let settings = Settings { scheduler, time_scale: 1000, ..Settings::new(one_core) };
    let job = Job { instructions: Some(1_500_000_000), then: AfterRun::Exit, ..Job::new(stream) };
    let mut turns = Chip::new(settings, [job.clone(), job]).unwrap();
    while turns.next_event().is_some() {}
    for job in 0..2 {
        assert_eq!(turns.account(job).instructions, 1_500_000);
    }
}

#[test]
fn a_stream_needs_the_private_caches_that_it_left() {
    let slices = Slices { length: Some(10_000), ..Slices::ALL };
    let (stream, _) = recorded(&programs()[0], slices);
    let other = Geometry { l2: None, ..chip() };
    let job = Job::new(SimulatedProgram::replayed(stream));
    let Err(why) = Chip::new(Settings::new(other), [job]) else { panic!("another chip") };
    assert!(matches!(why, ChipError::Stream { .. }));
    let said = "stream of it: expected private caches of 8 KB (4 ways), 64 KB (4 ways), found 8 KB \
                (4 ways)";
    assert_eq!(why.to_string(), said);
}
