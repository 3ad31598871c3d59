//! The flags of `explain`.

use std::path::PathBuf;

use fairways_command_kit::input::whole;
use fairways_record::explain;

/// Show the latest decisions with their reasons
///
/// Examples:
///   fairways explain
///   fairways explain web -n 3
///   fairways explain --journal run.journal
///
/// For a running daemon, or for a journal that `fairways run --journal` wrote, it
/// shows what happened, what the policy measured, how it classified the programs,
/// and what it did.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Explain {
    /// Show only this program: when its class changed, or when it got other ways, CPUs or turns
    #[arg(value_name = "PROGRAM")]
    pub program: Option<String>,

    /// Control socket of the daemon [default: /run/fairways/fairways.sock]
    #[arg(long, value_name = "SOCKET", conflicts_with = "journal")]
    pub control: Option<PathBuf>,

    /// Read a journal instead of asking a daemon; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Number of decisions to show; the last 256 are available
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "10",
        allow_negative_numbers = true,
        value_parser = whole(1, explain::MOST)
    )]
    pub last: usize,

    /// Print one JSON object instead of text (docs/explain.md)
    #[arg(long)]
    pub json: bool,
}

impl From<Explain> for explain::Options {
    fn from(Explain { program, control, journal, last, json }: Explain) -> Self {
        Self { program, control, journal, last, json }
    }
}
