//! The flags of `report`.

use std::io::Write;

use fairways_page::{Recogniser, report};
use fairways_verbs::args::ReportFlags;

use super::no_latency;

/// Show journals as one self-contained page of HTML
///
/// Examples:
///   fairways report run.journal
///   fairways report --out page.html /var/log/fairways/run.journal
///   fairways report --title 'Tuesday' before.journal after.journal
///
/// Reads journals from `run --journal` (finished parts first). Each becomes a section
/// of the page: the ways of each program over time, what each lost to its neighbours,
/// the plans, and the numbers as tables (docs/report.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JournalReport {
    #[command(flatten)]
    flags: ReportFlags,
}

impl JournalReport {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let recogniser = Recogniser {
            expected: "a journal; results of simulations are for fairways-lab report",
            latency: no_latency,
            other: |_, _| Ok(None),
        };
        report(&self.flags.into(), &recogniser, out)
    }
}
