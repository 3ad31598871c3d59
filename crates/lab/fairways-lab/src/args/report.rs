//! The flags of `report`.

use std::io::Write;

use fairways_page::report;
use fairways_results::page::RECOGNISER;
use fairways_verbs::args::ReportFlags;

/// Show results as one self-contained page of HTML
///
/// Examples:
///   fairways-lab report results.json run.journal
///   fairways-lab simulate --json | fairways-lab report --out page.html -
///   fairways-lab report --title 'Tuesday' run.journal
///
/// Reads JSON from `simulate`, `optimum`, `run`, `paper` and `profile`, journals from
/// `run --journal` (finished parts first), and profiles as CSV, and finds out by
/// itself which a file is. Each file becomes a section of the page: policies side by
/// side, the ways that each program may fill, slowdowns, misses by number of ways, and
/// the numbers as tables (docs/report.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Report {
    #[command(flatten)]
    flags: ReportFlags,
}

impl Report {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        report(&self.flags.into(), &RECOGNISER, out)
    }
}
