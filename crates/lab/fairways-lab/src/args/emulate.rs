//! The flags of the emulator.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};
use fairways_chip::service::Stage;
use fairways_chip::{Geometry, Job};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{at_most, real, time, whole};
use fairways_core::Llc;
use fairways_emulated::Fault;
use fairways_emulator::{Pace, Settings, Starter};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use super::chip::{loads, required};
use super::lists::pairs;
use super::{ChipPreset, How, MOST_WAYS, Pairs, TimeScale};
use crate::emulate::{self, Emulation};
use fairways_simulation::Names;
use fairways_simulation::catalog::ProfileSource;
use fairways_simulation::chip::{ChipMachine, World, platform_of, processor_of, throttle_of};

/// Reads a platform by its name.
fn platform() -> impl TypedValueParser<Value = Platform> {
    let names: PossibleValuesParser = Platform::all().map(|platform| platform.name).into();
    names.try_map(|name| Platform::named(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// Reads a version of Linux.
fn kernel() -> impl TypedValueParser<Value = Kernel> {
    let names: PossibleValuesParser = Kernel::all().map(|kernel| kernel.name).into();
    names.try_map(|name| Kernel::named(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// The most classes that x86 kernels long had room for (`closid_free_map`, an int).
const MOST_CLOS: u32 = 32;

/// Mount a simulated machine that looks like /sys/fs/resctrl
///
/// Examples:
///   fairways-lab emulate --machine chip:xeon-e5 --programs mlr:8M,mload:60M /tmp/resctrl
///   fairways-lab emulate --machine chip:xeon-d --platform zen --programs mlr:500K /tmp/resctrl
///   fairways-lab emulate --machine chip:skylake --clock lockstep --programs mlr:8M /tmp/resctrl
///
/// Each program has a process of its name, a placeholder, whose id can be written
/// to `tasks`. If you shrink a group's mask, its programs miss more; if you end a
/// placeholder, its program ends. The emulator runs until it is interrupted or
/// unmounted (docs/emulator.md).
///
/// MB values limit memory bandwidth as they do on the platform (--platform); SMBA
/// values have no effect.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Emulate {
    /// Where to mount it: an empty directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The machine: a chip that executes programs, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: ChipPreset,

    /// Programs to run: mlr:8M, mload:60M, lookbusy, or names of profiles (docs/chip.md)
    ///
    /// A program named after a profile follows the miss curve of the profile.
    #[arg(long, value_name = "A,B,C")]
    pub(crate) programs: Option<Names>,

    /// Profiles of programs: skylake, broadwell or small (real programs), synthetic, or a CSV file
    ///
    /// skylake, broadwell and small are the real programs of the corpus, measured on 11 ways of 2.5
    /// MB, 20 ways of 2.25 MB and 32 ways of 48 KB. A file that has such a name needs ./ before it.
    #[arg(long, value_name = "PROFILES", default_value = "skylake",
        value_hint = ValueHint::FilePath)]
    pub(crate) profiles: ProfileSource,

    /// Let programs take turns on the CPUs, each this long [default: 200ms, or no turns]
    ///
    /// Without turns, each program has a CPU to itself. The default is 200ms if there are more
    /// programs than CPUs, otherwise no turns.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) quantum: Option<Duration>,

    /// When requests arrive at services: 1400 (a second), closed:8, or bursty (docs/chip.md)
    /// [default: always]
    ///
    /// A load is a rate per second (1400), closed:CLIENTS, closed:CLIENTS:THINK,
    /// bursty:RATE:TIMES:SHARE%:LENGTH, or stages of these (1400@10s+2800@5s).
    #[arg(long, value_name = "PROGRAM=LOAD,...", value_parser = pairs("PROGRAM=LOAD", loads))]
    pub(crate) loads: Option<Pairs<Vec<Stage>>>,

    /// Instructions after which a program and its placeholder end [default: no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX))]
    pub(crate) instructions: Option<u64>,

    #[command(flatten)]
    pub(crate) how: How,

    /// Seed for where pages lie and what programs do; the same seed gives the same results
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Run everything in this fraction of the time that clients see: 0.1, a tenth [default: 1]
    ///
    /// Caches still take their time to fill: the policies for which the scale is too small are
    /// named (docs/chip.md).
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) time_scale: Option<TimeScale>,

    /// The platform whose rules and files to show, with the machine's ways and CPUs [default: as
    /// the machine]
    #[arg(long, value_name = "NAME", value_parser = platform())]
    pub(crate) platform: Option<Platform>,

    /// Classes of service [default: the platform's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, MOST_CLOS))]
    pub(crate) clos: Option<u32>,

    /// The fewest ways in a mask [default: the platform's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: Option<u32>,

    /// The version of Linux whose files and texts to show
    #[arg(long, value_name = "VERSION", default_value = "7.2", value_parser = kernel())]
    pub(crate) kernel: Kernel,

    /// Mount options of resctrl: cdp, cdpl2, mba_MBps, debug
    #[arg(long, short = 'o', value_name = "A,B", default_value = "")]
    pub(crate) options: String,

    /// How the machine's clock advances
    #[arg(long, value_name = "HOW", default_value = "paced")]
    pub(crate) clock: Pacing,

    /// Run the clock at most this many times as fast as real time; a slow simulation slows it
    #[arg(long, value_name = "X", default_value = "1", allow_negative_numbers = true,
        value_parser = real(1e-6, 1e6))]
    pub(crate) pace: f64,

    /// The control socket [default: DIR.sock]
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,

    /// A fault to inject, as OPERATION:PATTERN=WHAT: write:*/schemata=EBUSY,
    /// read:*/llc_occupancy=Unavailable@3, write:web/tasks=vanish, read:*=slow:200ms; may be given
    /// more than once (docs/emulator.md)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<Fault>,

    /// Write the files that the machine would have in /proc and /sys to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) host_files: Option<PathBuf>,

    /// Let other users use the files too
    #[arg(long)]
    pub(crate) allow_other: bool,

    /// Unmount what an emulator that has ended left mounted there
    #[arg(long)]
    pub(crate) replace: bool,

    /// Print one JSON object instead of a table, once it is mounted (docs/emulator.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// How an emulator's clock advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pacing {
    /// With real time, as far as the simulation keeps up
    Paced,
    /// Only when a client advances it
    Lockstep,
}

/// The program that runs, however it is called and wherever it was moved (proc(5)).
const THIS: &str = "/proc/self/exe";

impl Emulate {
    /// Runs the command; everything is checked before anything is mounted.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (is_json, is_quiet) = (self.json, self.quiet);
        emulate::run(self.checked()?, is_json, is_quiet, out)
    }

    /// The emulator; reads the files and checks every flag.
    fn checked(self) -> Result<Emulation, BadInput> {
        let mut world = self.world()?;
        world.find_all_least_scales();
        if !self.quiet {
            world.warn_of_time_scale();
        }
        let least_time_scales = world.least_scales();
        let World { mut settings, names, jobs, .. } = world;
        let instructions = self.instructions;
        let jobs = jobs.into_iter().map(|job| Job { instructions, ..job });
        let geometry = settings.chip;
        let platform = self.platform(&geometry)?;
        settings.chip.throttle = throttle_of(&platform);
        settings.nodes = platform.nodes_per_known_cache();
        let machine = ChipMachine::new(settings, names.into_iter().zip(jobs));
        let machine = machine.map_err(|why| BadInput(format!("--programs: {why}")))?;
        let starter = |verb: &str| {
            Some(Starter { program: PathBuf::from(THIS), arguments: vec![verb.into()] })
        };
        Ok(Emulation {
            dir: self.dir,
            machine: format!("chip:{}", self.machine.name),
            processor: processor_of(&geometry),
            least_time_scales,
            settings: Settings {
                placeholders: starter("placeholder"),
                guardian: starter("guardian"),
                pace: match self.clock {
                    Pacing::Paced => Pace::Real(self.pace),
                    Pacing::Lockstep => Pace::Lockstep,
                },
                options: self.options,
                socket: self.socket,
                allow_other: self.allow_other,
                replace: self.replace,
                faults: self.fault,
                ..Settings::new(platform, Box::new(machine))
            },
            host_files: self.host_files,
        })
    }

    /// The programs, on a chip that takes any mask: the platform's rules limit masks.
    fn world(&self) -> Result<World, BadInput> {
        let mut geometry = self.machine.geometry;
        let any = Llc::with_ways(geometry.llc.ways);
        geometry.llc = Llc { contiguous: geometry.llc.contiguous, ..any };
        let TimeScale(time_scale) = self.time_scale.unwrap_or(TimeScale::ONE);
        let settings = self.how.settings(geometry, self.seed)?;
        let settings = fairways_chip::Settings { time_scale, ..settings };
        let profiles = self.profiles.programs(None)?;
        let programs = required(self.programs.as_ref())?;
        let mut world = World::new(&self.machine.name, settings, profiles.table(), programs)?;
        world.take_turns(self.quantum, None, false)?;
        if let Some(Pairs(loads)) = &self.loads {
            world.load(loads)?;
        }
        world.check_room()?;
        Ok(world)
    }

    /// The platform whose rules apply: the requested one, or the machine's kind.
    fn platform(&self, chip: &Geometry) -> Result<Platform, BadInput> {
        let base = match &self.platform {
            Some(platform) => platform.clone(),
            None if self.machine.name.starts_with("skylake") => Platform::skylake(),
            None => Platform::broadwell(),
        };
        let mut platform = platform_of(chip, base).with_kernel(self.kernel.clone());
        if let Some(clos) = self.clos {
            platform = platform.with_closids(clos);
        }
        if let Some(bits) = self.min_bits {
            let bits = at_most(bits, "--min-bits", chip.llc.ways.get())?;
            let cache = platform.l3.as_mut().or(platform.l2.as_mut());
            let cache = cache.ok_or_else(|| {
                BadInput(format!("--min-bits: {} has no masks for the cache", platform.name))
            })?;
            cache.min_cbm_bits = bits;
        }
        Ok(platform)
    }
}
