//! The flags of `blame`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::time;
use fairways_experiments::blame::memory_latency_of;
use fairways_record::blame::{self, JournalSpan};
use fairways_record::client;

use super::{Machine, RunFlags};

/// Show which programs slow which others down, and by how much
///
/// Examples:
///   fairways blame
///   fairways blame --journal /var/log/fairways/run.journal --since 10m --until 15m --json
///   fairways blame --machine chip:xeon-d --programs mlr:8M,mload:60M --policy stock
///
/// For each program, from its counters: how much slower it is than alone with the
/// whole cache, with an interval; what it loses to the cache and to the memory bus;
/// and which neighbours cause that. The interval is wide where a program was never
/// seen with more of the cache (docs/blame.md). Without a journal or a machine it
/// asks the daemon on this host, which reports the last 30 to 60 seconds.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Blame {
    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["journal", "machine"])]
    pub(crate) control: Option<PathBuf>,

    /// Read a journal that `fairways run --journal` wrote; its finished parts (FILE.0, ...) are
    /// read first
    #[arg(long, value_name = "FILE", conflicts_with = "machine")]
    pub(crate) journal: Option<PathBuf>,

    /// Run a simulated machine, with the flags of `fairways run`: model (the analytic model), or a
    /// chip that executes programs, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<Machine>,

    /// Count losses from this time on the machine's clock on; what happens before shows how often
    /// programs miss [default: the beginning of a journal, half of a simulated run]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Duration>,

    /// Count a journal's losses until this time [default: its end]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<Duration>,

    /// Print one JSON object instead of tables (docs/blame.md)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) of: RunFlags,
}

impl Blame {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let found = match (&self.journal, &self.machine) {
            (Some(journal), _) => {
                let span = JournalSpan { since: self.since, until: self.until };
                blame::of_journal(journal, span, memory_latency_of)?
            }
            (None, Some(machine)) => {
                let run = self.of.simulated(machine)?;
                if self.since.is_some_and(|since| since >= run.duration) {
                    let what = "--since: expected a time before the end of the run (--duration)";
                    return Err(BadInput(what.to_owned()).into());
                }
                let since = self.since.unwrap_or(run.duration / 2);
                crate::run::blamed(run, since)?
            }
            (None, None) if self.since.is_some() => {
                let what = "--since: a daemon reports its last minute: expected --journal FILE or \
                            --machine MACHINE with it";
                return Err(BadInput(what.to_owned()).into());
            }
            (None, None) => {
                let reports = client::losses(self.control.as_deref(), false)?;
                return reports.iter().try_for_each(|found| found.print(self.json, out));
            }
        };
        found.print(self.json, out)
    }
}
