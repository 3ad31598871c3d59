//! The chip keeps the promises of every machine.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_chip::program::{Accesses, Pattern};
use fairways_chip::service::{RequestSizes, Requests};
use fairways_chip::{
    Chip, Job, Replacement, Scheduling, SchedulingClass, Settings, SimulatedProgram, StorePath,
    preset,
};
use fairways_conformance::{ProgramKind, Scale, Subject, TestProgram as Asked, check_all};
use fairways_core::{Llc, Machine, Ways};

/// Programs on a chip; sensitive ones are services.
struct Executing(Settings);

impl Executing {
    fn new() -> Self {
        let mut chip = preset::preset("skylake").unwrap();
        // Small, so that caches fill within a check.
        chip.sets = 1024;
        chip.l2 = None;
        chip.cores = 40;
        chip.llc = Llc { clos: 6, ..Llc::with_ways(Ways::new(11).unwrap()) };
        Self(Settings::new(chip))
    }
}

impl Subject for Executing {
    fn llc(&self) -> Llc {
        self.0.chip.llc
    }

    fn scale(&self) -> Scale {
        let time_scale = self.0.time_scale;
        let instructions = 40_000 * u64::from(time_scale);
        Scale { instructions, time: Duration::from_micros(20) * time_scale }
    }

    fn machine(&self, programs: &[Asked]) -> Box<dyn Machine + '_> {
        let jobs = programs.iter().map(|asked| {
            let pattern = match asked.kind {
                ProgramKind::Light => Pattern::Busy,
                ProgramKind::Streaming => Pattern::Sequential { lines: 1 << 16 },
                ProgramKind::Sensitive => Pattern::Random { lines: 1 << 13 },
            };
            let accesses = Accesses::Pattern(pattern);
            let mut program = SimulatedProgram::new(accesses, 0.5, 4.0);
            // A program that takes turns can't be a service.
            if asked.kind == ProgramKind::Sensitive && self.0.scheduler.is_none() {
                let sizes = RequestSizes::LogNormal(0.5);
                program.requests = Some(Requests { instructions: 2000.0, sizes });
            }
            let job = Job::new(program);
            let (at, instructions) = (asked.at(self.scale()), asked.instructions(self.scale()));
            Job { at, instructions, ..job }
        });
        Box::new(Chip::new(self.0, jobs).unwrap())
    }
}

#[test]
fn as_it_is() {
    check_all(&Executing::new());
}

#[test]
fn with_another_replacement_and_inclusive() {
    let Executing(mut settings) = Executing::new();
    settings.chip.replacement = Replacement::BitPlru;
    settings.chip.inclusive = true;
    check_all(&Executing(settings));
}

#[test]
fn with_hardware_threads_and_a_store_buffer() {
    let Executing(mut settings) = Executing::new();
    (settings.chip.cores, settings.chip.threads) = (10, 4);
    settings.chip.stores = StorePath::Through { buffer: 8 };
    settings.chip.inclusive = true;
    check_all(&Executing(settings));
}

#[test]
fn with_a_scheduler() {
    let Executing(mut settings) = Executing::new();
    let scheduling = Scheduling {
        quantum: Duration::from_micros(10),
        tick: Duration::from_micros(1),
        ..Scheduling::default()
    };
    use SchedulingClass::{FixedPriority, TimeSharing};
    for (cores, threads, system, class) in [
        (1, 1, false, FixedPriority),
        (2, 4, true, FixedPriority),
        (10, 1, false, FixedPriority),
        (1, 1, false, TimeSharing),
        (2, 4, true, TimeSharing),
    ] {
        settings.scheduler = Some(Scheduling { system, class, ..scheduling });
        (settings.chip.cores, settings.chip.threads) = (cores, threads);
        check_all(&Executing(settings));
    }
}

#[test]
fn scaled() {
    let Executing(settings) = Executing::new();
    check_all(&Executing(Settings { set_sampling: 8, time_scale: 10, ..settings }));
}
