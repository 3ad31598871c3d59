//! An emulator for a test, with a chip behind it.

#![allow(clippy::unwrap_used, dead_code)]

#[path = "../../../emulator/tests/common/mod.rs"]
mod emulator;

use fairways_chip::program::parse;
use fairways_chip::{Job, Phase, Settings as Simulated, preset};
use fairways_emulator::{Hardware, Pace, Settings};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::{ChipMachine, platform_of};

pub(crate) use emulator::{Mounted, can_mount, mounted};

/// A chip of four cores and 12 ways of 64 KB, on which these programs run.
pub(crate) fn chip(programs: &[&str]) -> (Platform, Box<dyn Hardware>) {
    let geometry = preset::parse("xeon-d:cores=4:sets=1024").unwrap();
    let machine = ChipMachine::new(
        Simulated::new(geometry),
        programs.iter().map(|text| {
            let phases = parse(text, |_| None).unwrap().into_iter();
            let phases =
                phases.map(|(program, length)| Phase { program: program.map(Into::into), length });
            ((*text).to_owned(), Job { phases: phases.collect(), ..Job::default() })
        }),
    )
    .unwrap();
    (platform_of(&geometry, Platform::broadwell()), Box::new(machine))
}

/// In lockstep, with these programs.
pub(crate) fn lockstep(programs: &[&str]) -> Mounted {
    let (platform, hardware) = chip(programs);
    mounted(Settings { pace: Pace::Lockstep, ..Settings::new(platform, hardware) })
}
