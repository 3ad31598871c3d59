//! The flags of the emulator.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, ValueEnum};
use fairways_chip::service::Stage;
use fairways_command_kit::input::{real, time, whole};
use fairways_emulator::Fault;
use fairways_resctrl::platform::{Kernel, Platform};

use super::chip::loads;
use super::lists::pairs;
use super::{ChipPreset, How, MOST_WAYS, Names, Pairs, TimeScale};

/// One of the platforms, by its name.
fn platform() -> impl TypedValueParser<Value = Platform> {
    let names: PossibleValuesParser = Platform::all().map(|platform| platform.name).into();
    names.try_map(|name| Platform::named(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// One of the versions of Linux.
fn kernel() -> impl TypedValueParser<Value = Kernel> {
    let names: PossibleValuesParser = Kernel::all().map(|kernel| kernel.name).into();
    names.try_map(|name| Kernel::named(&name).ok_or_else(|| format!("there is no {name:?}")))
}

/// As many as x86 kernels long had room for (`closid_free_map`, an int).
const MOST_CLOS: u32 = 32;

/// Mount a filesystem that looks like /sys/fs/resctrl, with a simulated machine behind it
///
/// Each program has a process of its name, a placeholder, whose id `tasks` takes. Shrink a group's mask, and its programs miss more;
/// end a placeholder, and its program ends. Runs until it is interrupted or unmounted (docs/emulator.md).
///
/// The chip has no throttle for memory bandwidth: MB values are accepted and shown, and change nothing.
///
/// Example: fairways emulate --machine chip:xeon-e5 --programs mlr:8M,mload:60M,lookbusy /tmp/resctrl
#[derive(Debug, clap::Args)]
pub(crate) struct Emulate {
    /// An empty directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The machine: a chip that executes programs (chip:xeon-e5, say; docs/chip.md)
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: ChipPreset,

    /// Programs: mlr:8M, mload:60M, lookbusy, and more (docs/chip.md), or names of profiles, whose
    /// miss curves they then follow
    #[arg(long, value_name = "A,B,C")]
    pub(crate) programs: Option<Names>,

    /// Profiles of programs, as CSV; the embedded ones without it
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Let programs take turns on the CPUs, each for so long at a time; without it each has a CPU to
    /// itself [default: 200ms where there are more programs than CPUs]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) quantum: Option<Duration>,

    /// When requests come to services: so many a second (1400), closed:CLIENTS, closed:CLIENTS:THINK,
    /// bursty:RATE:TIMES:SHARE%:LENGTH, or stages of these (1400@10s+2800@5s); without a load, always
    /// (docs/chip.md)
    #[arg(long, value_name = "PROGRAM=LOAD,...", value_parser = pairs("PROGRAM=LOAD", loads))]
    pub(crate) loads: Option<Pairs<Vec<Stage>>>,

    /// Instructions after which a program, and its placeholder, end [default: never]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, u64::MAX))]
    pub(crate) instructions: Option<u64>,

    #[command(flatten)]
    pub(crate) how: How,

    /// Draws where pages are and what programs do; the same seed gives the same
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Everything that clients know takes so much less time on the chip: 0.1, a tenth [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) time_scale: Option<TimeScale>,

    /// Whose rules and files, with the machine's ways and CPUs [default: the machine's kind]
    #[arg(long, value_name = "NAME", value_parser = platform())]
    pub(crate) platform: Option<Platform>,

    /// Classes of service [default: the platform's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, MOST_CLOS))]
    pub(crate) clos: Option<u32>,

    /// The fewest ways in a mask [default: the platform's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: Option<u32>,

    /// Of which version of Linux the files and their text are
    #[arg(long, value_name = "VERSION", default_value = "7.2", value_parser = kernel())]
    pub(crate) kernel: Kernel,

    /// Options to mount resctrl with: cdp, cdpl2, mba_MBps, debug
    #[arg(long, short = 'o', value_name = "A,B", default_value = "")]
    pub(crate) options: String,

    /// Whose pace the machine's clock goes at
    #[arg(long, value_name = "HOW", default_value = "paced")]
    pub(crate) clock: Pacing,

    /// How many times real time the clock goes at most; it is slower where the simulation is
    #[arg(long, value_name = "X", default_value = "1", allow_negative_numbers = true,
        value_parser = real(1e-6, 1e6))]
    pub(crate) pace: f64,

    /// The control socket [default: DIR.sock]
    #[arg(long, value_name = "FILE")]
    pub(crate) socket: Option<PathBuf>,

    /// Something that goes wrong, as OPERATION:PATTERN=WHAT: write:*/schemata=EBUSY,
    /// read:*/llc_occupancy=Unavailable@3, write:web/tasks=vanish, read:*=slow:200ms; may be given
    /// more than once (docs/emulator.md)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<Fault>,

    /// Write what /proc and /sys would tell of the machine to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) host_files: Option<PathBuf>,

    /// Let other users use the files, too
    #[arg(long)]
    pub(crate) allow_other: bool,

    /// Take away what an emulator that is gone left mounted there
    #[arg(long)]
    pub(crate) replace: bool,

    /// Print one JSON object once it is mounted, instead of a table (docs/emulator.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// Whose pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pacing {
    /// Real time's, as far as the simulation comes along
    Paced,
    /// It stands still until a client lets time pass
    Lockstep,
}

/// Ask an emulator that runs, beside its files
///
/// Example: fairways emulated /tmp/resctrl counters mlr:8M
#[derive(Debug, clap::Args)]
pub(crate) struct Emulated {
    /// Where it is mounted, or its control socket
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    #[command(subcommand)]
    pub(crate) asked: Asked,

    /// Print one JSON object instead of a table (docs/emulator.md)
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Asked {
    /// How it is: its clock, and how many times real time it goes
    Status,
    /// Let time pass at once: 500ms, 2s. A clock that is paced goes on from there
    Advance {
        /// How long
        #[arg(value_parser = time)]
        time: Duration,
        /// Stop as soon as a program ends
        #[arg(long)]
        until_exit: bool,
    },
    /// Arm a fault, such as write:*/schemata=EBUSY@1
    Fault {
        /// The fault
        fault: Fault,
    },
    /// The faults that are armed
    Faults,
    /// Disarm a fault, or all
    Clear {
        /// Its number, as `faults` shows it
        id: Option<u64>,
    },
    /// The programs, their processes and classes
    Programs,
    /// What counters of programs have counted
    Counters {
        /// Programs, by name or process id [default: all]
        programs: Vec<String>,
    },
    /// How soon services have answered since they started
    Latencies {
        /// Services, by name or process id [default: all]
        programs: Vec<String>,
    },
    /// Put a CPU on line, or take it off
    Cpu {
        /// Its number
        cpu: u32,
        /// What it is to be
        state: OnOff,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// On line
    On,
    /// Off line
    Off,
}
