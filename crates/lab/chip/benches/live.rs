//! What measuring a real program costs the side that simulates the caches: the CPU time of its
//! thread, without the program's under QEMU.
//!
//! `cargo bench -p fairways-chip --bench live -- COMMAND…`, which needs qemu-user. Chips: that of
//! `against_cachegrind` (crates/proof/doors/examples) with 16 ways, and Skylake, with an L2.
//! Prints CSV.

#![allow(clippy::print_stdout)]

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairways_chip::program::{Accesses, LiveProgram, Supply};
use fairways_chip::{Profilers, Settings, SimulatedProgram, Slices, preset};
use fairways_tracer::Launch;
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 5;

fn main() {
    let command: Vec<OsString> =
        std::env::args_os().skip(1).filter(|word| word != "--bench").collect();
    if command.is_empty() {
        eprintln!("live: expected a command, such as: -- gzip -9 -c FILE; nothing is measured");
        return;
    }
    println!("chip,round,references,l1_misses,seconds,reader_cpu_seconds,ns_per_reference");
    for (name, by_address) in
        [("skylake:sets=1024:ways=16:l1=32/8:l2=none", true), ("skylake", false)]
    {
        let settings = Settings::new(preset::parse(name).expect("a chip"));
        for round in 1..=ROUNDS {
            let (before, start) = (cpu_time(), Instant::now());
            let program = program(&command, by_address);
            let mut profilers = Profilers::new(&[settings], &program, Slices::ALL).expect("a chip");
            loop {
                match profilers.step() {
                    Supply::More => {}
                    Supply::Asleep => profilers.wait(Duration::from_millis(50)),
                    Supply::Ended => break,
                    Supply::Failed(why) => panic!("{why}"),
                }
            }
            let (cpu, seconds) = (cpu_time().saturating_sub(before), start.elapsed());
            let account = profilers.each()[0].account(1);
            let (references, misses) = (account.l1_references, account.l1_misses);
            let each = cpu.as_secs_f64() * 1e9 / references as f64;
            let (seconds, cpu) = (seconds.as_secs_f64(), cpu.as_secs_f64());
            println!("{name},{round},{references},{misses},{seconds:.3},{cpu:.3},{each:.2}");
        }
    }
}

fn program(command: &[OsString], by_address: bool) -> SimulatedProgram {
    let launch = Launch {
        command: command.to_vec(),
        l1: (64, 8),
        larger_l1s: Vec::new(),
        follow: false,
        passes: false,
        apart: true,
        quiet: true,
        qemu: None,
        environment: None,
    };
    let mut live = LiveProgram::new(launch);
    live.by_address = by_address;
    SimulatedProgram::new(Accesses::Live(Arc::new(live)), 0.5, 4.0)
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a clock")
}
