//! The JSON of `paper NAME --json`: a paper's claims, and the results here.

use fairways_lab::paper::ClaimKind;
use fairways_lab::report::{Block, Cell, Column, Fact, Part, Section, Table};
use serde::Deserialize;

/// The whole object.
#[derive(Debug, Deserialize)]
pub(super) struct PaperResults {
    paper: String,
    seconds: Option<f64>,
    rows: Vec<ClaimRow>,
}

#[derive(Debug, Deserialize)]
struct ClaimRow {
    item: String,
    case: String,
    unit: String,
    published: String,
    measured: Option<ClaimValue>,
    low: Option<ClaimValue>,
    high: Option<ClaimValue>,
    kind: BandKind,
    in_band: Option<bool>,
    /// Results of earlier versions lack it.
    #[serde(default = "outcome")]
    counts_as: ClaimKind,
    #[serde(default)]
    by_seed: Vec<f64>,
    seeds_in_band: Option<usize>,
}

const fn outcome() -> ClaimKind {
    ClaimKind::Outcome
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ClaimValue {
    Number(f64),
    Words(String),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BandKind {
    Yes,
    Shape,
    No,
    Calibration,
}

impl BandKind {
    fn name(self) -> &'static str {
        match self {
            Self::Yes => "value",
            Self::Shape => "shape",
            Self::No => "their machine",
            Self::Calibration => "calibrated",
        }
    }
}

impl ClaimValue {
    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Words(_) => None,
        }
    }

    fn cell(value: Option<&Self>) -> Cell {
        match value {
            Some(Self::Words(words)) => Cell::words(words.clone()),
            other => Cell::short(other.and_then(Self::number)),
        }
    }
}

const LEGEND: &str = "Bands were set before anything was measured. A “value” is compared with the published number, a \
     “shape” with a sign, an order or a wide band; results that depend on the authors' machine, or that were tuned to, are \
     not judged.";

/// How many rows of this kind are within their bands, of how many that were judged.
fn tally(kind: ClaimKind, rows: &[ClaimRow]) -> (usize, usize) {
    let verdicts = rows.iter().filter(|row| row.counts_as == kind).filter_map(|row| row.in_band);
    verdicts
        .fold((0, 0), |(within, judged), is_in_band| (within + usize::from(is_in_band), judged + 1))
}

/// Makes the section.
pub(super) fn section(results: PaperResults) -> Result<Section, String> {
    let PaperResults { paper, seconds, rows } = results;
    if rows.is_empty() {
        return Err("expected rows of claims, found none".into());
    }
    let (within, judged) = tally(ClaimKind::Outcome, &rows);
    let unjudged = rows.iter().filter(|row| row.in_band.is_none()).count();
    let absent = rows.iter().filter(|row| row.measured.is_none()).count();
    let mut facts = vec![
        Fact::number("outcomes within their bands", within, "").note(format!("of {judged}")),
        Fact::number("not judged", unjudged, ""),
        Fact::number("without a value here", absent, "").note("not run, or there is no such thing"),
    ];
    for counts in ClaimKind::ALL.into_iter().skip(1) {
        let (within, judged) = tally(counts, &rows);
        if judged > 0 {
            let note = format!("of {judged}, which say nothing of the system");
            facts.push(Fact::number(counts.name(), within, "").note(note));
        }
    }
    facts.extend(seconds.map(|seconds| Fact::number("took", seconds, "s")));
    let mut blocks = vec![Block::Words(LEGEND.into())];
    let missing: Vec<&ClaimRow> = rows.iter().filter(|row| row.in_band == Some(false)).collect();
    if !missing.is_empty() {
        blocks.push(Block::Table(table("What misses its band", &missing)));
    }
    let all: Vec<&ClaimRow> = rows.iter().collect();
    blocks.push(Block::Table(table("Every row", &all)));
    blocks.extend(by_seed(&rows).map(Block::Table));
    Ok(Section {
        heading: format!("The paper {paper}, repeated"),
        kind: format!("fairways paper {paper}"),
        headline: format!("{within} of {judged} outcomes lie within their bands."),
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    })
}

/// The results by seed; `None` if no claim has any.
fn by_seed(rows: &[ClaimRow]) -> Option<Table> {
    let most = rows.iter().map(|row| row.by_seed.len()).max().filter(|most| *most > 0)?;
    let mut columns = vec![Column::words("claim"), Column::prose("of what")];
    columns.extend((1..=most).map(|seed| Column::numbers(&format!("seed {seed}"), "")));
    columns.push(Column::words("within the band"));
    fn row(row: &ClaimRow, most: usize) -> Vec<Cell> {
        let mut cells = vec![Cell::words(&row.item), Cell::words(&row.case)];
        cells.extend((0..most).map(|seed| Cell::short(row.by_seed.get(seed).copied())));
        cells.push(match row.seeds_in_band {
            Some(within) => Cell::words(format!("{within} of {}", row.by_seed.len())),
            None => Cell::nothing(),
        });
        cells
    }
    let rows =
        rows.iter().filter(|row| !row.by_seed.is_empty()).map(|claim| row(claim, most)).collect();
    Some(Table { caption: "With one seed each".into(), columns, rows, folded: true })
}

fn table(caption: &str, rows: &[&ClaimRow]) -> Table {
    let columns = vec![
        Column::words("claim"),
        Column::prose("of what"),
        Column::numbers("published", ""),
        Column::numbers("ours", ""),
        Column::numbers("band from", ""),
        Column::numbers("to", ""),
        Column::words("beside the band"),
        Column::words("within"),
        Column::words("unit"),
        Column::words("compared with"),
        Column::words("counts as"),
    ];
    let rows = rows
        .iter()
        .map(|row: &&ClaimRow| {
            vec![
                Cell::words(&row.item),
                Cell::words(&row.case),
                Cell::words(&row.published),
                ClaimValue::cell(row.measured.as_ref()),
                ClaimValue::cell(row.low.as_ref()),
                ClaimValue::cell(row.high.as_ref()),
                position_in_band(row).map_or_else(Cell::nothing, Cell::beside_band),
                Cell::holds(row.in_band),
                Cell::words(&row.unit),
                Cell::words(row.kind.name()),
                Cell::words(row.counts_as.name()),
            ]
        })
        .collect();
    Table { caption: caption.into(), columns, rows, folded: false }
}

/// The position of the result: 0 at the lower end of the band, 1 at the upper end.
fn position_in_band(row: &ClaimRow) -> Option<f64> {
    fn number(value: &Option<ClaimValue>) -> Option<f64> {
        value.as_ref().and_then(ClaimValue::number)
    }
    let (ours, low, high) = (number(&row.measured)?, number(&row.low)?, number(&row.high)?);
    row.in_band?;
    if high > low {
        return Some((ours - low) / (high - low));
    }
    // The band is a single value.
    Some(if row.in_band == Some(true) {
        0.5
    } else if ours < low {
        -1.0
    } else {
        2.0
    })
}
