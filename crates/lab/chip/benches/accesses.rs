//! The chip's speed on one thread: LLC accesses, instructions and simulated time in a second of
//! CPU time.
//!
//! - `hits`: a region of 8 MB in all 20 ways of a Xeon E5 v4, behind the private caches: everything
//!   hits.
//! - `misses`: a stream, behind the private caches: everything misses.
//! - `mlr`: dCat's random reader of 8 MB, and `mload`, its sequential reader of 60 MB, through the
//!   private caches.
//! - `replay`: a recorded stream of the random reader's misses and write-backs.
//! - `mix`: six programs, as in dCat's evaluation: an MLR, two MLOADs and three lookbusy.
//! - `sixteen`: sixteen programs on a Xeon Gold 6138, whose last-level cache is not inclusive: four
//!   each of MLR, MLOAD, a blocked sweep, and a mixture that mostly hits the private caches; and
//!   `sixteen-replayed`, their recorded streams. What the second takes of the first's time is the
//!   part that could not run on several threads, if the private caches of each core did.
//!
//! Prints CSV. An argument `--sampling N` simulates one of N sets; names of the above run only
//! those.

#![allow(clippy::print_stdout)]

use std::time::Duration;

use fairways_chip::program::{
    Accesses, Mixture, MixturePart, Pattern, StreamReplay, Supply, private_caches,
};
use fairways_chip::{Chip, Job, Recorder, Settings, SimulatedProgram, Slices, preset};
use fairways_core::{NoPolicy, Time, run};
use fairways_profiles::{MeasuredRun, StreamManifest, StreamTotals};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 7;
const MB: u32 = 1 << 14;

const NAMES: [&str; 8] =
    ["replay", "hits", "misses", "mlr", "mload", "mix", "sixteen", "sixteen-replayed"];

/// Whether the arguments name this, or none.
fn is_asked_for(args: &[String], name: &str) -> bool {
    let mut named = args.iter().filter(|arg| NAMES.contains(&arg.as_str())).peekable();
    named.peek().is_none() || named.any(|arg| arg == name)
}

fn missed(lines: u32) -> SimulatedProgram {
    let parts = vec![MixturePart { share: 1.0, lines }];
    let mixture = Mixture { parts, per_kilo_instructions: 250.0, stores: 0.0, missed: true };
    SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 4.0)
}

/// The stream of a program, recorded in memory.
fn recorded(settings: &Settings, program: &SimulatedProgram) -> SimulatedProgram {
    let slices = Slices { length: Some(20_000_000), ..Slices::ALL };
    let mut recorder = Recorder::new(settings, program, slices).expect("a chip");
    while recorder.step() == Supply::More {}
    let (stream, _) = recorder.finish(StreamManifest {
        program: "mlr".to_owned(),
        run: MeasuredRun {
            command: Vec::new(),
            file: String::new(),
            sha256: String::new(),
            version: None,
            qemu: String::new(),
            machine: String::new(),
            skip: 0,
            instructions: 0,
            slices: 1,
            apart: 0,
            exit_code: None,
        },
        private: private_caches(&settings.chip),
        cpi: program.base_cpi,
        overlap: program.overlap,
        overlap_estimate: 0.0,
        totals: StreamTotals::default(),
        blocks: Vec::new(),
    });
    let replay = StreamReplay::read(&stream, "a stream").expect("a stream");
    SimulatedProgram::replayed(replay)
}

/// The CPU time of this thread, which other load on the machine does not lengthen by waiting.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a clock")
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let sampling = args.iter().position(|arg| arg == "--sampling");
    let sampling = sampling.and_then(|place| args.get(place + 1)?.parse().ok()).unwrap_or(1);
    let chip = preset::preset("xeon-e5").expect("a preset");
    let settings = Settings { set_sampling: sampling, ..Settings::new(chip) };
    println!("bench,sampling,round,llc_accesses_per_s,instructions_per_s,seconds_per_simulated_s");
    let pattern =
        |pattern, overlap| SimulatedProgram::new(Accesses::Pattern(pattern), 0.5, overlap);
    let mlr = pattern(Pattern::Random { lines: 8 * MB }, 1.0);
    let mload = pattern(Pattern::Sequential { lines: 60 * MB }, 8.0);
    let busy = pattern(Pattern::Busy, 1.0);
    let mix = [&mlr, &mload, &mload, &busy, &busy, &busy].map(Clone::clone).to_vec();
    let gold = preset::preset("skylake").expect("a preset");
    let gold = Settings { set_sampling: sampling, ..Settings::new(gold) };
    let blocked = pattern(Pattern::Blocked { lines: 8 * MB, block: MB / 4, sweeps: 4 }, 4.0);
    let parts = [(0.7, MB / 64), (0.25, MB / 2), (0.05, 8 * MB)];
    let parts = parts.map(|(share, lines)| MixturePart { share, lines }).to_vec();
    let mixture = Mixture { parts, per_kilo_instructions: 300.0, stores: 0.3, missed: false };
    let mixture = SimulatedProgram::new(Accesses::Mixture(mixture), 0.5, 4.0);
    let kinds = [&mlr, &mload, &blocked, &mixture];
    let sixteen: Vec<_> = kinds.into_iter().cycle().take(16).cloned().collect();
    let replay =
        if is_asked_for(&args, "replay") { vec![recorded(&settings, &mlr)] } else { Vec::new() };
    let mut replayed = Vec::new();
    if is_asked_for(&args, "sixteen-replayed") {
        let streams = kinds.map(|program| recorded(&gold, program));
        replayed = streams.iter().cycle().take(16).cloned().collect();
    }
    let subjects = [
        ("replay", settings, replay),
        ("hits", settings, vec![missed(8 * MB)]),
        ("misses", settings, vec![missed(0)]),
        ("mlr", settings, vec![mlr.clone()]),
        ("mload", settings, vec![mload.clone()]),
        ("mix", settings, mix),
        ("sixteen", gold, sixteen),
        ("sixteen-replayed", gold, replayed),
    ];
    for (name, settings, programs) in subjects {
        if !is_asked_for(&args, name) {
            continue;
        }
        for round in 1..=ROUNDS {
            let jobs = programs.iter().cloned().map(Job::new);
            let mut chip = Chip::new(settings, jobs).expect("a chip");
            let mut to = |millis: u64| {
                chip.stop_at(Time::ZERO.after(Duration::from_millis(millis)));
                run(&mut chip, &mut NoPolicy, &mut []);
                (0..programs.len()).fold((0, 0), |(accesses, instructions), job| {
                    let account = chip.account(job);
                    (accesses + account.llc_references, instructions + account.instructions)
                })
            };
            // Until caches are warm.
            let before = to(20);
            let start = cpu_time();
            let after = to(60);
            let seconds = (cpu_time() - start).as_secs_f64();
            let per_second = |after: u64, before: u64| (after - before) as f64 / seconds;
            println!(
                "{name},{sampling},{round},{:.3e},{:.3e},{:.1}",
                per_second(after.0, before.0),
                per_second(after.1, before.1),
                seconds / 0.04
            );
        }
    }
}
