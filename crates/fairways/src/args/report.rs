//! The flags of `report`.

use std::path::PathBuf;

use fairways_report::Options;

/// Show results as one page of HTML that needs nothing besides itself
///
/// Takes what `simulate`, `optimum`, `run`, `paper` and `profile` print with --json, journals of `run --journal`
/// (their finished parts are read first), and profiles as CSV; what a file is is told by what it holds. Each file is a
/// section of the page: policies side by side, who may fill which ways, slowdowns, misses by ways, and the
/// numbers as tables (docs/report.md).
#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// Results; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the page here; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,

    /// The title of the page [default: Fairways, and what the first file holds]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

impl From<Report> for Options {
    fn from(Report { files, out, title }: Report) -> Self {
        Self { files, out, title }
    }
}
