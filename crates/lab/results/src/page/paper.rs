//! The JSON of `paper NAME --json`: a paper's claims, and the results here.

use std::iter::once;

use fairways_experiments::paper::ClaimKind;
use fairways_page::{Block, Cell, Column, Fact, Part, Section, Table};
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
    /// `None` where real programs have no part, or were not run.
    corpus: Option<CorpusValue>,
}

/// What came out with the corpus' programs.
#[derive(Debug, Deserialize)]
struct CorpusValue {
    measured: ClaimValue,
    in_band: Option<bool>,
    #[serde(default)]
    by_seed: Vec<f64>,
    seeds_in_band: Option<usize>,
    partial: bool,
}

impl ClaimRow {
    /// The corpus' value, if that is what counts: no models take part in it.
    fn counted_corpus(&self) -> Option<&CorpusValue> {
        self.corpus.as_ref().filter(|corpus| !corpus.partial)
    }

    fn counted(&self) -> Option<&ClaimValue> {
        self.counted_corpus().map_or(self.measured.as_ref(), |corpus| Some(&corpus.measured))
    }

    fn is_in_band(&self) -> Option<bool> {
        self.counted_corpus().map_or(self.in_band, |corpus| corpus.in_band)
    }

    /// The values that count, with one seed each, and how many of these are in the band.
    fn counted_by_seed(&self) -> (&[f64], Option<usize>) {
        match self.counted_corpus() {
            Some(corpus) => (&corpus.by_seed, corpus.seeds_in_band),
            None => (&self.by_seed, self.seeds_in_band),
        }
    }

    /// The ground whose value counts, where there are two.
    fn counts_with(&self) -> Cell {
        match &self.corpus {
            None => Cell::nothing(),
            Some(corpus) => Cell::words(if corpus.partial { "models" } else { "real programs" }),
        }
    }
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

const GROUNDS: &str = "“Ours” is the value that counts: that of real programs, or of models where the paper's programs \
     do not all live on; both stand beside it.";

/// How many rows of this kind are within their bands, of how many that were judged.
fn tally(kind: ClaimKind, rows: &[ClaimRow]) -> (usize, usize) {
    let verdicts = rows.iter().filter(|row| row.counts_as == kind).filter_map(ClaimRow::is_in_band);
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
    let unjudged = rows.iter().filter(|row| row.is_in_band().is_none()).count();
    let absent = rows.iter().filter(|row| row.counted().is_none()).count();
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
    if rows.iter().any(|row| row.corpus.is_some()) {
        blocks.push(Block::Words(GROUNDS.into()));
    }
    let missing: Vec<&ClaimRow> =
        rows.iter().filter(|row| row.is_in_band() == Some(false)).collect();
    if !missing.is_empty() {
        blocks.push(Block::Table(table("What misses its band", &missing)));
    }
    let all: Vec<&ClaimRow> = rows.iter().collect();
    blocks.push(Block::Table(table("Every row", &all)));
    blocks.extend(by_seed(&rows).map(Block::Table));
    Ok(Section {
        heading: format!("The paper {paper}, repeated"),
        kind: format!("fairways-lab paper {paper}"),
        headline: format!("{within} of {judged} outcomes lie within their bands."),
        facts,
        parts: vec![Part { blocks, ..Part::default() }],
        ..Section::default()
    })
}

/// The results by seed; `None` if no claim has any.
fn by_seed(rows: &[ClaimRow]) -> Option<Table> {
    let most = rows.iter().map(|row| row.counted_by_seed().0.len()).max();
    let most = most.filter(|most| *most > 0)?;
    let mut columns = vec![Column::words("claim"), Column::prose("of what")];
    columns.extend((1..=most).map(|seed| Column::numbers(&format!("seed {seed}"), "")));
    columns.push(Column::words("within the band"));
    fn row(row: &ClaimRow, most: usize) -> Vec<Cell> {
        let (by_seed, seeds_in_band) = row.counted_by_seed();
        let mut cells = vec![Cell::words(&row.item), Cell::words(&row.case)];
        cells.extend((0..most).map(|seed| Cell::short(by_seed.get(seed).copied())));
        cells.push(match seeds_in_band {
            Some(within) => Cell::words(format!("{within} of {}", by_seed.len())),
            None => Cell::nothing(),
        });
        cells
    }
    let several = rows.iter().filter(|row| !row.counted_by_seed().0.is_empty());
    let rows = several.map(|claim| row(claim, most)).collect();
    Some(Table { caption: "With one seed each".into(), columns, rows, folded: true })
}

fn table(caption: &str, rows: &[&ClaimRow]) -> Table {
    let has_corpus = rows.iter().any(|row| row.corpus.is_some());
    let mut columns = vec![
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
    if has_corpus {
        let both = ["models", "real programs"].map(|ground| Column::numbers(ground, ""));
        let _ = columns.splice(4..4, once(Column::words("counts with")).chain(both));
    }
    let rows = rows
        .iter()
        .map(|row: &&ClaimRow| {
            let mut cells = vec![
                Cell::words(&row.item),
                Cell::words(&row.case),
                Cell::words(&row.published),
                ClaimValue::cell(row.counted()),
                ClaimValue::cell(row.low.as_ref()),
                ClaimValue::cell(row.high.as_ref()),
                position_in_band(row).map_or_else(Cell::nothing, Cell::beside_band),
                Cell::holds(row.is_in_band()),
                Cell::words(&row.unit),
                Cell::words(row.kind.name()),
                Cell::words(row.counts_as.name()),
            ];
            if has_corpus {
                let real = row.corpus.as_ref().map(|corpus| &corpus.measured);
                let both = [row.measured.as_ref(), real].map(ClaimValue::cell);
                let _ = cells.splice(4..4, once(row.counts_with()).chain(both));
            }
            cells
        })
        .collect();
    Table { caption: caption.into(), columns, rows, folded: false }
}

/// The position of the result: 0 at the lower end of the band, 1 at the upper end.
fn position_in_band(row: &ClaimRow) -> Option<f64> {
    fn number(value: Option<&ClaimValue>) -> Option<f64> {
        value.and_then(ClaimValue::number)
    }
    let (low, high) = (number(row.low.as_ref())?, number(row.high.as_ref())?);
    let ours = number(row.counted())?;
    let in_band = row.is_in_band()?;
    if high > low {
        return Some((ours - low) / (high - low));
    }
    // The band is a single value.
    Some(if in_band {
        0.5
    } else if ours < low {
        -1.0
    } else {
        2.0
    })
}
