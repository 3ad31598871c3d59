//! The flags of `top`.

use std::io::Write;
use std::path::PathBuf;

use fairways_top::Target;
use fairways_verbs::args::TopFlags;

use super::no_latency;

/// Watch programs and their ways in the terminal
///
/// Examples:
///   fairways top
///   fairways top --control /tmp/fairways.sock --once
///   fairways top --journal run.journal --speed 10
///
/// Shows a running daemon or a journal. Each program is a row: its class, its ways,
/// its last sample, and whether it meets its objective. Below is the reason for the
/// last decision. Press ? for the keys. `fairways status` prints the same state of a
/// daemon once.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HostTop {
    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with = "journal")]
    control: Option<PathBuf>,

    #[command(flatten)]
    flags: TopFlags,
}

impl HostTop {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { control, flags } = self;
        let watch = flags.journal(no_latency).unwrap_or(Target::Daemon(control));
        fairways_top::run(flags.options(watch), out)
    }
}
