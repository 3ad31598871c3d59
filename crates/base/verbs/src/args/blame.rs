//! The flags of `blame`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fairways_command_kit::input::time;
use fairways_record::blame::{self, BlameReport, JournalSpan, KnownLatency};

/// The journal of a `blame`, the time that counts, and the form of its answer.
#[derive(Clone, Debug, clap::Args)]
pub struct BlameFlags {
    /// Read a journal that `run --journal` wrote; its finished parts (FILE.0, ...) are read first
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Count losses from this time on the machine's clock on; what happens before shows how often
    /// programs miss [default: the beginning of a journal]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Duration>,

    /// Count a journal's losses until this time [default: its end]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Duration>,

    /// Print one JSON object instead of tables (docs/blame.md)
    #[arg(long)]
    pub json: bool,
}

impl BlameFlags {
    /// What programs lost by a journal; `latency` knows the machines of simulations.
    ///
    /// # Errors
    /// If the journal can't be read, or has nothing in that time.
    pub fn of_journal(&self, journal: &Path, latency: KnownLatency) -> anyhow::Result<BlameReport> {
        let span = JournalSpan { since: self.since, until: self.until };
        blame::of_journal(journal, span, latency)
    }
}
