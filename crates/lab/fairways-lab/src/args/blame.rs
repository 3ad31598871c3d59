//! The flags of `blame`.

use std::io::Write;

use fairways_command_kit::BadInput;
use fairways_experiments::blame::memory_latency_of;
use fairways_verbs::args::BlameFlags;

use super::{Machine, SimulatedFlags};

/// Show which programs slow which others down, and by how much
///
/// Examples:
///   fairways-lab blame --machine chip:xeon-d --programs mlr:8M,mload:60M --time-scale 0.02
///   fairways-lab blame --journal run.journal
///   fairways-lab blame --journal run.journal --since 10s --until 20s --json
///
/// For each program, from its counters: how much slower it is than alone with the
/// whole cache, with an interval; what it loses to the cache and to the memory bus;
/// and which neighbours cause that. The interval is wide where a program was never
/// seen with more of the cache (docs/blame.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Blame {
    /// Run a simulated machine, with the flags of `fairways-lab run`: model (the analytic model),
    /// or a chip that executes programs, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE", conflicts_with = "journal")]
    machine: Option<Machine>,

    #[command(flatten)]
    flags: BlameFlags,

    #[command(flatten)]
    of: SimulatedFlags,
}

impl Blame {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { machine, flags, of } = self;
        let found = match (&flags.journal, &machine) {
            (Some(journal), _) => flags.of_journal(journal, memory_latency_of)?,
            (None, Some(machine)) => {
                let run = of.simulated(machine)?;
                if flags.since.is_some_and(|since| since >= run.duration) {
                    let what = "--since: expected a time before the end of the run (--duration)";
                    return Err(BadInput(what.to_owned()).into());
                }
                let since = flags.since.unwrap_or(run.duration / 2);
                crate::run::blamed(run, since)?
            }
            (None, None) => {
                let what = "expected --machine MACHINE or --journal FILE (`fairways-lab run \
                            --journal FILE` writes one)";
                return Err(BadInput(what.to_owned()).into());
            }
        };
        found.print(flags.json, out)
    }
}
