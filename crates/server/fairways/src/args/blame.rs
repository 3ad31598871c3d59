//! The flags of `blame`.

use std::io::Write;
use std::path::PathBuf;

use fairways_command_kit::BadInput;
use fairways_record::client;
use fairways_verbs::args::BlameFlags;

use super::no_latency;

/// Show which programs slow which others down, and by how much
///
/// Examples:
///   fairways blame
///   fairways blame --json
///   fairways blame --journal /var/log/fairways/run.journal --since 10m --until 15m --json
///
/// For each program, from its counters: how much slower it is than alone with the
/// whole cache, with an interval; what it loses to the cache and to the memory bus;
/// and which neighbours cause that. The interval is wide where a program was never
/// seen with more of the cache (docs/blame.md). Without a journal it asks the daemon
/// on this host, which reports the last 30 to 60 seconds.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HostBlame {
    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with = "journal")]
    control: Option<PathBuf>,

    #[command(flatten)]
    flags: BlameFlags,
}

impl HostBlame {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { control, flags } = self;
        if let Some(journal) = &flags.journal {
            return flags.of_journal(journal, no_latency)?.print(flags.json, out);
        }
        if flags.since.is_some() {
            let what = "--since: a daemon reports its last minute: expected --journal FILE with it";
            return Err(BadInput(what.to_owned()).into());
        }
        let reports = client::losses(control.as_deref(), false)?;
        reports.iter().try_for_each(|found| found.print(flags.json, out))
    }
}
