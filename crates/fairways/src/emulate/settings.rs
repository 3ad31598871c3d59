//! From flags to an emulator, checked.

use std::path::PathBuf;

use fairways_chip::{Geometry, Job};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, real};
use fairways_emulator::hardware::platform_of;
use fairways_emulator::{ChipMachine, Fault, Pace, Settings, Starter};
use fairways_resctrl::platform::{Kernel, Platform};

use crate::args::{self, ChipFlags, Emulate, How, Machine, Model, Pacing};
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
        let Machine::Chip(preset) = &args.machine else {
            return Err(BadInput("--machine: expected chip: and a preset, found model".to_owned()));
        };
        let World { settings, names, jobs, .. } =
            World::new(preset, &chip(args), args.time_scale.as_ref(), &world(args), false)?;
        let instructions = args.instructions.as_ref();
        let instructions =
            instructions.map(|text| number(text, "--instructions", 1, u64::MAX)).transpose()?;
        let jobs = jobs.into_iter().map(|job| Job { instructions, ..job });
        let geometry = settings.chip;
        let platform = platform(args, preset, &geometry)?;
        let machine = ChipMachine::new(settings, names.into_iter().zip(jobs));
        let machine = machine.map_err(|why| BadInput(format!("--programs: {why}")))?;
        let faults = args
            .fault
            .iter()
            .map(|text| text.parse::<Fault>().map_err(|why| BadInput(format!("--fault: {why}"))));
        let pace = real(&args.pace, "--pace", 1e-6, 1e6)?;
        let starter = |verb: &str| {
            Some(Starter { program: PathBuf::from(THIS), arguments: vec![verb.into()] })
        };
        Ok(Self {
            settings: Settings {
                placeholders: starter("placeholder"),
                guardian: starter("guardian"),
                pace: match args.clock {
                    Pacing::Paced => Pace::Real(pace),
                    Pacing::Lockstep => Pace::Lockstep,
                },
                options: args.options.clone(),
                socket: args.socket.clone(),
                allow_other: args.allow_other,
                replace: args.replace,
                faults: faults.collect::<Result<_, _>>()?,
                ..Settings::new(platform.clone(), Box::new(machine))
            },
            preset: format!("chip:{preset}"),
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
    let How { set_sampling, pages, placement } = &args.how;
    ChipFlags {
        programs: args.programs.clone(),
        profile_time: String::new(),
        quantum: args.quantum.clone(),
        scheduling_class: None,
        best_effort: None,
        loads: args.loads.clone(),
        objectives: None,
        how: How { set_sampling: set_sampling.clone(), pages: *pages, placement: *placement },
    }
}

fn world(args: &Emulate) -> args::World {
    args::World {
        profiles: args.profiles.clone(),
        phases: None,
        ways: None,
        // What the files allow is the platform's; the chip takes any mask.
        clos: "16".to_owned(),
        min_bits: "1".to_owned(),
        llc_mb: "27.5".to_owned(),
        bandwidth_mbps: None,
        bandwidth_model: Model::Simple,
        baselines: None,
        seed: args.seed.clone(),
    }
}

/// Whose rules hold: those that were asked for, or of the machine's kind.
fn platform(args: &Emulate, preset: &str, chip: &Geometry) -> Result<Platform, BadInput> {
    let kernel = Kernel::named(&args.kernel)
        .ok_or_else(|| BadInput(format!("--kernel: there is no {:?}", args.kernel)))?;
    let base = match &args.platform {
        Some(name) => Platform::named(name)
            .ok_or_else(|| BadInput(format!("--platform: there is no {name:?}")))?,
        None if preset.starts_with("skylake") => Platform::skylake(),
        None => Platform::broadwell(),
    };
    let mut platform = platform_of(chip, base).with_kernel(kernel);
    if let Some(clos) = &args.clos {
        platform = platform.with_closids(number(clos, "--clos", 1, MOST_CLOS)?);
    }
    if let Some(bits) = &args.min_bits {
        let bits = number(bits, "--min-bits", 1, chip.llc.ways.get())?;
        let l3 = platform.l3.as_mut().ok_or_else(|| {
            BadInput(format!("--min-bits: {} has no masks for the cache", platform.name))
        })?;
        l3.min_cbm_bits = bits;
    }
    Ok(platform)
}

/// As many as x86 kernels long had room for (`closid_free_map`, an int).
const MOST_CLOS: u32 = 32;
