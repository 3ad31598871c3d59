//! What `paper NAME --json` prints: a paper's claims, and what comes out here.

use fairways_lab::paper::Counts;
use fairways_lab::report::{Block, Cell, Column, Fact, Part, Section, Table};
use serde::Deserialize;

/// The object.
#[derive(Debug, Deserialize)]
pub(super) struct Results {
    paper: String,
    seconds: Option<f64>,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    item: String,
    case: String,
    unit: String,
    published: String,
    measured: Option<Value>,
    low: Option<Value>,
    high: Option<Value>,
    kind: Kind,
    in_band: Option<bool>,
    /// Results of earlier versions do not say it.
    #[serde(default = "outcome")]
    counts_as: Counts,
    #[serde(default)]
    by_seed: Vec<f64>,
    seeds_in_band: Option<usize>,
}

const fn outcome() -> Counts {
    Counts::Outcome
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Words(String),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Yes,
    Shape,
    No,
    Calibration,
}

impl Kind {
    fn said(self) -> &'static str {
        match self {
            Self::Yes => "value",
            Self::Shape => "shape",
            Self::No => "their machine",
            Self::Calibration => "calibrated",
        }
    }
}

impl Value {
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

const LEGEND: &str = "Bands were set before anything was measured. “Value” is held to the published number, “shape” to a \
                      sign, an order or a wide band; what is of the authors' machine, or was tuned to, is not judged.";

/// Shows it.
pub(super) fn section(results: Results) -> Result<Section, String> {
    let Results { paper, seconds, rows } = results;
    if rows.is_empty() {
        return Err("expected rows of claims, found none".into());
    }
    let count = |of: Option<bool>| rows.iter().filter(|row| row.in_band == of).count();
    let tally = |counts: Counts| {
        let of = |verdict: bool| {
            rows.iter()
                .filter(|row| row.counts_as == counts && row.in_band == Some(verdict))
                .count()
        };
        (of(true), of(true) + of(false))
    };
    let (within, judged) = tally(Counts::Outcome);
    let unjudged = count(None);
    let absent = rows.iter().filter(|row| row.measured.is_none()).count();
    let mut facts = vec![
        Fact::number("outcomes within their bands", within, "").note(format!("of {judged}")),
        Fact::number("not judged", unjudged, ""),
        Fact::number("without a value here", absent, "").note("not run, or there is no such thing"),
    ];
    for counts in Counts::ALL.into_iter().skip(1) {
        let (within, judged) = tally(counts);
        if judged > 0 {
            let note = format!("of {judged}, which say nothing of the system");
            facts.push(Fact::number(counts.name(), within, "").note(note));
        }
    }
    facts.extend(seconds.map(|seconds| Fact::number("took", seconds, "s")));
    let mut blocks = vec![Block::Words(LEGEND.into())];
    let missing: Vec<&Row> = rows.iter().filter(|row| row.in_band == Some(false)).collect();
    if !missing.is_empty() {
        blocks.push(Block::Table(table("What misses its band", &missing)));
    }
    let all: Vec<&Row> = rows.iter().collect();
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

/// What was measured with several seeds; `None` if nothing was.
fn by_seed(rows: &[Row]) -> Option<Table> {
    let most = rows.iter().map(|row| row.by_seed.len()).max().filter(|most| *most > 0)?;
    let mut columns = vec![Column::words("claim"), Column::prose("of what")];
    columns.extend((1..=most).map(|seed| Column::numbers(&format!("seed {seed}"), "")));
    columns.push(Column::words("within the band"));
    let row = |row: &Row| {
        let mut cells = vec![Cell::words(&row.item), Cell::words(&row.case)];
        cells.extend((0..most).map(|seed| Cell::short(row.by_seed.get(seed).copied())));
        cells.push(match row.seeds_in_band {
            Some(within) => Cell::words(format!("{within} of {}", row.by_seed.len())),
            None => Cell::nothing(),
        });
        cells
    };
    let rows = rows.iter().filter(|row| !row.by_seed.is_empty()).map(row).collect();
    Some(Table { caption: "With one seed each".into(), columns, rows, folded: true })
}

fn table(caption: &str, rows: &[&Row]) -> Table {
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
        Column::words("held to"),
        Column::words("counts as"),
    ];
    let row = |row: &&Row| {
        vec![
            Cell::words(&row.item),
            Cell::words(&row.case),
            Cell::words(&row.published),
            Value::cell(row.measured.as_ref()),
            Value::cell(row.low.as_ref()),
            Value::cell(row.high.as_ref()),
            place(row).map_or_else(Cell::nothing, Cell::beside_band),
            Cell::holds(row.in_band),
            Cell::words(&row.unit),
            Cell::words(row.kind.said()),
            Cell::words(row.counts_as.name()),
        ]
    };
    let rows = rows.iter().map(row).collect();
    Table { caption: caption.into(), columns, rows, folded: false }
}

/// Where ours lies: 0 at the lower end of the band, 1 at the upper one.
fn place(row: &Row) -> Option<f64> {
    let of = |value: &Option<Value>| value.as_ref().and_then(Value::number);
    let (ours, low, high) = (of(&row.measured)?, of(&row.low)?, of(&row.high)?);
    row.in_band?;
    if high > low {
        return Some((ours - low) / (high - low));
    }
    // A band of one value.
    Some(if row.in_band == Some(true) {
        0.5
    } else if ours < low {
        -1.0
    } else {
        2.0
    })
}
