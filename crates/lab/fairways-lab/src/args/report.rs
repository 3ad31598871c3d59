//! The flags of `report`.

use std::path::PathBuf;

use fairways_report::Options;

/// Show results as one self-contained page of HTML
///
/// Examples:
///   fairways report results.json run.journal
///   fairways simulate --json | fairways report --out page.html -
///   fairways report --title 'Tuesday' run.journal
///
/// Reads JSON from `simulate`, `optimum`, `run`, `paper` and `profile`, journals from
/// `run --journal` (finished parts first), and profiles as CSV, and finds out by
/// itself which a file is. Each file becomes a section of the page: policies side by
/// side, the ways that each program may fill, slowdowns, misses by number of ways, and
/// the numbers as tables (docs/report.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Report {
    /// Files of results; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the page to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,

    /// The title of the page [default: Fairways and the kind of the first file]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

impl From<Report> for Options {
    fn from(Report { files, out, title }: Report) -> Self {
        Self { files, out, title }
    }
}
