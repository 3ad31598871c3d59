//! Claims and findings as JSON.

use std::io::Write;

use fairways_experiments::paper::{
    Claim, ClaimResult, Ground, GroundResult, MeasuredValue, Reproducibility,
};
use serde::Serialize;

use super::PaperReport;

#[derive(Serialize)]
struct Json<'a> {
    paper: &'a str,
    seconds: f64,
    rows: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    item: &'a str,
    case: &'a str,
    unit: &'a str,
    published: &'a str,
    measured: Option<Measured<'a>>,
    low: Option<Measured<'a>>,
    high: Option<Measured<'a>>,
    kind: &'static str,
    /// What it counts as: `outcome`, `parameter`, `definition` or `calibration`.
    counts_as: &'static str,
    in_band: Option<bool>,
    /// The values of single seeds, if it was measured with several.
    by_seed: &'a [f64],
    /// How many of them lie in the band.
    seeds_in_band: Option<usize>,
    /// The same on the corpus, if it has a part in the row.
    corpus: Option<JsonGround<'a>>,
}

#[derive(Serialize)]
struct JsonGround<'a> {
    measured: Measured<'a>,
    in_band: Option<bool>,
    by_seed: &'a [f64],
    seeds_in_band: Option<usize>,
    /// Whether models take part too.
    partial: bool,
}

/// A number if it is one.
#[derive(Serialize)]
#[serde(untagged)]
enum Measured<'a> {
    Number(f64),
    Text(&'a str),
}

impl<'a> Measured<'a> {
    fn of(value: &'a MeasuredValue) -> Self {
        match value {
            MeasuredValue::Number(number) => Self::Number(*number),
            MeasuredValue::Text(text) => Self::Text(text),
        }
    }

    fn read(text: &'a str) -> Option<Self> {
        let number = text.parse().map(Self::Number);
        (!text.is_empty()).then(|| number.unwrap_or(Self::Text(text)))
    }
}

fn kind(kind: Reproducibility) -> &'static str {
    match kind {
        Reproducibility::Yes => "yes",
        Reproducibility::Shape => "shape",
        Reproducibility::No => "no",
        Reproducibility::Calibration => "calibration",
    }
}

impl<'a> JsonRow<'a> {
    fn of(row: &'a ClaimResult) -> Self {
        let Claim { item, case, unit, published, low, high, reproducible, .. } = &row.claim;
        Self {
            item,
            case,
            unit,
            published,
            measured: row.models.as_ref().map(|found| Measured::of(&found.value)),
            low: Measured::read(low),
            high: Measured::read(high),
            kind: kind(*reproducible),
            counts_as: row.kind.name(),
            in_band: row.in_band(Ground::Models),
            by_seed: row.models.as_ref().map_or(&[], |found| &found.by_seed),
            seeds_in_band: row.seeds_in_band(Ground::Models),
            corpus: row.corpus.as_ref().map(|GroundResult { value, by_seed, is_partial }| {
                JsonGround {
                    partial: *is_partial,
                    measured: Measured::of(value),
                    in_band: row.in_band(Ground::Corpus),
                    by_seed,
                    seeds_in_band: row.seeds_in_band(Ground::Corpus),
                }
            }),
        }
    }
}

/// Writes one object and a newline.
///
/// # Errors
/// If it can't be written.
pub fn json(report: &PaperReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows = report.rows.iter().map(JsonRow::of).collect();
    let json = Json { paper: report.paper, seconds: report.seconds, rows };
    serde_json::to_writer(&mut *out, &json)?;
    Ok(writeln!(out)?)
}
