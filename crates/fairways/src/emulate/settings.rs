//! From flags to an emulator, checked.

use std::path::PathBuf;

use fairways_chip::{Geometry, Job};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::at_most;
use fairways_emulator::hardware::{platform_of, throttle_of};
use fairways_emulator::{ChipMachine, Pace, Settings, Starter};
use fairways_resctrl::platform::Platform;

use crate::args::{self, ChipFlags, Emulate, Pacing, TimeScale};
use crate::chip::World;

/// An emulator that can be started.
pub(super) struct Checked {
    pub(super) settings: Settings,
    pub(super) preset: String,
    pub(super) platform: Platform,
    pub(super) geometry: Geometry,
    pub(super) clock: &'static str,
}

/// The program that runs, however it is called and wherever it was moved (proc(5)).
const THIS: &str = "/proc/self/exe";

impl Checked {
    pub(super) fn new(args: &Emulate) -> Result<Self, BadInput> {
        let preset = &args.machine;
        let scale = args.time_scale.unwrap_or(TimeScale::ONE);
        let World { mut settings, names, jobs, .. } =
            World::new(preset, &chip(args), scale, &world(args), false)?;
        let instructions = args.instructions;
        let jobs = jobs.into_iter().map(|job| Job { instructions, ..job });
        let geometry = settings.chip;
        let platform = platform(args, &geometry)?;
        settings.chip.throttle = throttle_of(&platform);
        let machine = ChipMachine::new(settings, names.into_iter().zip(jobs));
        let machine = machine.map_err(|why| BadInput(format!("--programs: {why}")))?;
        let starter = |verb: &str| {
            Some(Starter { program: PathBuf::from(THIS), arguments: vec![verb.into()] })
        };
        Ok(Self {
            settings: Settings {
                placeholders: starter("placeholder"),
                guardian: starter("guardian"),
                pace: match args.clock {
                    Pacing::Paced => Pace::Real(args.pace),
                    Pacing::Lockstep => Pace::Lockstep,
                },
                options: args.options.clone(),
                socket: args.socket.clone(),
                allow_other: args.allow_other,
                replace: args.replace,
                faults: args.fault.clone(),
                ..Settings::new(platform.clone(), Box::new(machine))
            },
            preset: format!("chip:{}", preset.name),
            platform,
            geometry,
            clock: match args.clock {
                Pacing::Paced => "paced",
                Pacing::Lockstep => "lockstep",
            },
        })
    }
}

/// The flags that other commands share with this one, and those that mean nothing here left out.
fn chip(args: &Emulate) -> ChipFlags {
    ChipFlags {
        programs: args.programs.clone(),
        quantum: args.quantum,
        loads: args.loads.clone(),
        how: args.how,
        ..ChipFlags::default()
    }
}

/// The profiles, for a chip that takes any mask: the platform's rules limit masks.
fn world(args: &Emulate) -> args::World {
    args::World { profiles: args.profiles.clone(), seed: args.seed, ..args::World::default() }
}

/// The platform whose rules apply: the requested one, or the machine's kind.
fn platform(args: &Emulate, chip: &Geometry) -> Result<Platform, BadInput> {
    let base = match &args.platform {
        Some(platform) => platform.clone(),
        None if args.machine.name.starts_with("skylake") => Platform::skylake(),
        None => Platform::broadwell(),
    };
    let mut platform = platform_of(chip, base).with_kernel(args.kernel.clone());
    if let Some(clos) = args.clos {
        platform = platform.with_closids(clos);
    }
    if let Some(bits) = args.min_bits {
        let bits = at_most(bits, "--min-bits", chip.llc.ways.get())?;
        let l3 = platform.l3.as_mut().ok_or_else(|| {
            BadInput(format!("--min-bits: {} has no masks for the cache", platform.name))
        })?;
        l3.min_cbm_bits = bits;
    }
    Ok(platform)
}
