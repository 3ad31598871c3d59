//! The flags of `report`.

use std::path::PathBuf;

use fairways_page::ReportOptions;

/// The files of a report, and its page.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportFlags {
    /// Files to show, a section each; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Write the page to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,

    /// The title of the page [default: Fairways and the kind of the first file]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

impl From<ReportFlags> for ReportOptions {
    fn from(ReportFlags { files, out, title }: ReportFlags) -> Self {
        Self { files, out, title }
    }
}
