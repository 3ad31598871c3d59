//! From flags to an emulator, checked.

use std::path::PathBuf;

use fairways_chip::{Geometry, Job};
use fairways_emulator::hardware::platform_of;
use fairways_emulator::{ChipMachine, Fault, Pace, Settings, Starter};
use fairways_resctrl::platform::{Kernel, Platform};

use crate::BadInput;
use crate::args::{Emulate, Machine, Pacing};
use crate::chip::World;
use crate::world::{number, real};

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
        let for_policies = [
            ("--baselines", args.world.baselines.is_some()),
            ("--objectives", args.chip.objectives.is_some()),
            ("--best-effort", args.chip.best_effort.is_some()),
        ];
        if let Some((flag, _)) = for_policies.iter().find(|(_, given)| *given) {
            return Err(BadInput(format!(
                "{flag}: expected a policy with it, and there is none here"
            )));
        }
        let World { settings, names, jobs, .. } =
            World::new(preset, &args.chip, args.time_scale.as_ref(), &args.world, false)?;
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

/// Whose rules hold: those that were asked for, or of the machine's kind.
fn platform(args: &Emulate, preset: &str, chip: &Geometry) -> Result<Platform, BadInput> {
    let kernel = Kernel::named(&args.kernel).ok_or_else(|| {
        let known = Kernel::all().map(|kernel| kernel.name).join(", ");
        BadInput(format!("--kernel: expected one of {known}, found {:?}", args.kernel))
    })?;
    let base = match &args.platform {
        Some(name) => Platform::named(name).ok_or_else(|| {
            let known = Platform::all().map(|platform| platform.name).join(", ");
            BadInput(format!("--platform: expected one of {known}, found {name:?}"))
        })?,
        None if preset.starts_with("skylake") => Platform::skylake(),
        None => Platform::broadwell().with_closids(chip.llc.clos),
    };
    let mut platform = platform_of(chip, base).with_kernel(kernel);
    if let Some(l3) = platform.l3.as_mut().filter(|_| args.platform.is_none()) {
        l3.min_cbm_bits = chip.llc.min_bits;
    }
    Ok(platform)
}
