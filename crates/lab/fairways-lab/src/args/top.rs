//! The flags of `top`.

use std::io::Write;
use std::path::PathBuf;

use fairways_command_kit::BadInput;
use fairways_experiments::blame::memory_latency_of;
use fairways_top::{MakeMachine, Target};
use fairways_verbs::args::TopFlags;

use super::{Machine, SimulatedFlags};
use crate::run::Stepped;

/// Watch programs and their ways in the terminal
///
/// Examples:
///   fairways-lab top --machine chip:xeon-d --programs mlr:8M,mload:60M --time-scale 0.04
///   fairways-lab top --emulated /tmp/resctrl
///   fairways-lab top --journal run.journal --speed 10
///
/// Shows a simulated machine, an emulator or a journal. Each program is a row: its
/// class, its ways, its last sample, and whether it meets its objective. Below is the
/// reason for the last decision. Press ? for the keys.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Top {
    /// Watch an emulator, by its mount or its control socket; for classes and reasons, use
    /// `fairways top`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["journal", "machine"])]
    emulated: Option<PathBuf>,

    /// Run a simulated machine, with the flags of `fairways-lab run`: model (the analytic model),
    /// or a chip that executes programs, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE", conflicts_with = "journal")]
    machine: Option<Machine>,

    #[command(flatten)]
    flags: TopFlags,

    #[command(flatten)]
    of: SimulatedFlags,
}

impl Top {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { emulated, machine, flags, of } = self;
        let watch = match (flags.journal(memory_latency_of), machine, emulated) {
            (Some(journal), ..) => journal,
            (None, Some(machine), _) => {
                let make: MakeMachine =
                    Box::new(move |stop| Ok(Box::new(Stepped::new(of.simulated(&machine)?, stop))));
                Target::Machine { make, kill: fairways_tracer::kill_all }
            }
            (None, None, Some(dir)) => Target::Emulator(dir),
            (None, None, None) => {
                let what = "expected --machine MACHINE, --emulated DIR or --journal FILE \
                            (`fairways-lab run --journal FILE` writes one)";
                return Err(BadInput(what.to_owned()).into());
            }
        };
        fairways_top::run(flags.options(watch), out)
    }
}
