//! Claims and findings, as a table and as JSON.

mod json;
mod table;

use fairways_experiments::paper::{ClaimKind, ClaimResult};

pub use json::json;
pub use table::{summary, table};

/// A paper's claims and the measured values.
#[derive(Debug)]
pub struct PaperReport {
    /// The name by which the command knows the paper.
    pub paper: &'static str,
    /// Its title.
    pub title: &'static str,
    /// How long its experiments took, in seconds.
    pub seconds: f64,
    /// Its claims.
    pub rows: Vec<ClaimResult>,
    /// Whether it ran on the corpus too.
    pub has_corpus: bool,
}

/// How many rows of this kind lie within their bands, and how many are judged.
fn tally(
    report: &PaperReport,
    of: ClaimKind,
    in_band: impl Fn(&ClaimResult) -> Option<bool>,
) -> (usize, usize) {
    let rows = report.rows.iter().filter(|row| row.kind == of);
    let verdicts: Vec<bool> = rows.filter_map(in_band).collect();
    (verdicts.iter().filter(|within| **within).count(), verdicts.len())
}
