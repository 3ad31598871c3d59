//! The flags of `emulated`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::emulate::answers;
use clap::{Subcommand, ValueEnum};
use fairways_command_kit::input::time;
use fairways_emulated::Fault;
use fairways_emulated::Request;

/// Query and control a running emulator
///
/// Examples:
///   fairways-lab emulated /tmp/resctrl status
///   fairways-lab emulated /tmp/resctrl counters mlr:8M
///   fairways-lab emulated /tmp/resctrl fault 'write:*/schemata=EBUSY@1'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
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
    /// Show its clock, and how many times as fast as real time it runs
    Status,
    /// Advance the clock at once, by 500ms, 2s; a paced clock continues from there
    Advance {
        /// How far
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
    /// List the armed faults
    Faults,
    /// Disarm a fault, or all
    Clear {
        /// Its number, as `faults` shows it
        id: Option<u64>,
    },
    /// List the programs, their processes and classes
    Programs,
    /// Show the counters of programs
    Counters {
        /// Programs, by name or process id [default: all]
        programs: Vec<String>,
    },
    /// Show how soon services have answered since they started
    Latencies {
        /// Services, by name or process id [default: all]
        programs: Vec<String>,
    },
    /// Take a CPU online or offline
    Cpu {
        /// Its number
        cpu: u32,
        /// Its new state
        state: OnOff,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// Online
    On,
    /// Offline
    Off,
}

impl Emulated {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        answers::run(&self.dir, &self.asked.into(), self.json, out)
    }
}

impl From<Asked> for Request {
    fn from(asked: Asked) -> Self {
        fn all_or(programs: Vec<String>) -> Option<Vec<String>> {
            (!programs.is_empty()).then_some(programs)
        }
        match asked {
            Asked::Status => Self::Status {},
            Asked::Advance { time, until_exit } => Self::Advance {
                by_ns: Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
                to_ns: None,
                about_ns: None,
                until_exit,
                until: Vec::new(),
            },
            Asked::Fault { fault } => Self::Arm { fault },
            Asked::Faults => Self::Faults {},
            Asked::Clear { id } => Self::Clear { id },
            Asked::Programs => Self::Programs {},
            Asked::Counters { programs } => Self::Counters { programs: all_or(programs) },
            Asked::Latencies { programs } => Self::Latencies { programs: all_or(programs) },
            Asked::Cpu { cpu, state } => Self::Cpu { cpu, online: state == OnOff::On },
        }
    }
}
