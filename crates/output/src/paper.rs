//! Claims and findings, as a table and as JSON.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::table::{STYLE, fit};
use fairways_lab::paper::{Claim, ClaimKind, ClaimResult, MeasuredValue, Reproducibility};
use serde::Serialize;

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
}

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
            measured: row.measured.as_ref().map(Measured::of),
            low: Measured::read(low),
            high: Measured::read(high),
            kind: kind(*reproducible),
            counts_as: row.kind.name(),
            in_band: row.in_band(),
            by_seed: &row.by_seed,
            seeds_in_band: row.seeds_in_band(),
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

/// Writes a table for people.
///
/// # Errors
/// If it can't be written.
pub fn table(report: &PaperReport, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    let header = ["item", "case", "unit", "published", "band", "ours", "", "by seed", "counts as"];
    table.load_style(STYLE).set_header(header);
    for column in table.column_iter_mut().skip(3).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in &report.rows {
        let Claim { item, case, unit, published, low, high, .. } = &row.claim;
        let band = match (low.is_empty(), low == high) {
            (true, _) => String::new(),
            (_, true) => low.clone(),
            _ => format!("{low} to {high}"),
        };
        let ours = match &row.measured {
            None => "-".to_owned(),
            Some(MeasuredValue::Text(text)) => text.clone(),
            Some(MeasuredValue::Number(number)) => digits(*number),
        };
        let verdict = match row.in_band() {
            None => "",
            Some(true) => "within",
            Some(false) => "MISSES",
        };
        let counts = match (row.in_band(), row.kind) {
            (None, _) | (_, ClaimKind::Outcome) => "",
            (_, counts) => counts.name(),
        };
        let by_seed = by_seed(row);
        table.add_row([item, case, unit, published, &band, &ours, verdict, &by_seed, counts]);
    }
    writeln!(
        out,
        "{}\n\n{}\n",
        report.title,
        fit(table, &["unit", "counts as", "by seed", "band"])
    )?;
    let (within, judged) = tally(report, ClaimKind::Outcome);
    writeln!(out, "{within} of {judged} outcomes within their bands; {:.1} s", report.seconds)?;
    let beside = ClaimKind::ALL.into_iter().skip(1).map(|of| {
        let (within, judged) = tally(report, of);
        format!("{}: {within} of {judged}", of.name())
    });
    let open = report.rows.iter().filter(|row| row.in_band().is_none()).count();
    let beside = beside.collect::<Vec<_>>().join(", ");
    writeln!(out, "not counted as outcomes: {beside}; not judged: {open} rows")?;
    let turned = report.rows.iter().filter(|row| {
        row.seeds_in_band().is_some_and(|within| (1..row.by_seed.len()).contains(&within))
    });
    match turned.count() {
        0 => {}
        1 => writeln!(out, "1 verdict depends on the seed")?,
        turned => writeln!(out, "{turned} verdicts depend on the seed")?,
    }
    Ok(())
}

/// How many rows of this kind lie within their bands, and how many are judged.
fn tally(report: &PaperReport, of: ClaimKind) -> (usize, usize) {
    let verdicts = report.rows.iter().filter(|row| row.kind == of);
    let verdicts: Vec<bool> = verdicts.filter_map(ClaimResult::in_band).collect();
    (verdicts.iter().filter(|within| **within).count(), verdicts.len())
}

/// Writes a line for each paper.
///
/// # Errors
/// If they can't be written.
pub fn summary(reports: &[PaperReport], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["paper", "outcomes within", "of", "seconds"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for report in reports {
        let (within, judged) = tally(report, ClaimKind::Outcome);
        let seconds = format!("{:.0}", report.seconds);
        table.add_row([report.paper.to_owned(), within.to_string(), judged.to_string(), seconds]);
    }
    Ok(writeln!(out, "\n{table}")?)
}

/// The range of the values of single seeds, and how many of these lie within the band.
fn by_seed(row: &ClaimResult) -> String {
    let ends = row
        .by_seed
        .iter()
        .copied()
        .reduce(f64::min)
        .zip(row.by_seed.iter().copied().reduce(f64::max));
    let Some((least, most)) = ends else { return String::new() };
    let range =
        if least < most { format!("{} to {}", digits(least), digits(most)) } else { digits(least) };
    match row.seeds_in_band() {
        Some(within) => format!("{range}; {within} of {}", row.by_seed.len()),
        None => range,
    }
}

/// A number with enough digits to differ from its neighbours.
fn digits(number: f64) -> String {
    if number.fract() == 0.0 || number.abs() >= 100.0 {
        format!("{number:.0}")
    } else if number.abs() >= 0.1 {
        format!("{number:.3}")
    } else {
        format!("{number:.5}")
    }
}
