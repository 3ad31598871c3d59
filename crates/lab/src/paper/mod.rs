//! A paper's claims, row by row, beside what comes out here.
//!
//! The claims and the bands within which a value counts as theirs are data (`claims/`), set before
//! anything was measured.

pub mod cache_fair;
pub mod casc;
mod counts;
pub mod dcat;
mod figures;
pub mod lfoc;
pub mod locpart;
mod turns;

use serde::Deserialize;

pub use counts::Counts;
pub use figures::{Bars, FigureError, Line, bars, lines};

/// The claims of LFOC's paper.
pub const LFOC: &str = include_str!("../../claims/lfoc.csv");

/// The claims of dCat's paper.
pub const DCAT: &str = include_str!("../../claims/dcat.csv");

/// The claims of CASC's paper.
pub const CASC: &str = include_str!("../../claims/casc.csv");

/// The claims of Locpart's paper.
pub const LOCPART: &str = include_str!("../../claims/locpart.csv");

/// The claims of cache-fair's paper.
pub const CACHE_FAIR: &str = include_str!("../../claims/cache-fair.csv");

/// A claim: what, where, and the band within which a value counts as the same.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Claim {
    /// Section, figure or table.
    pub item: String,
    /// What of it.
    pub case: String,
    /// The value's unit.
    pub unit: String,
    /// As printed; empty where the paper has an image only.
    pub published: String,
    /// The band's ends; empty if there is none.
    pub low: String,
    /// The largest value within the band.
    pub high: String,
    /// What can be expected of it.
    pub reproducible: Kind,
    /// Why the band is what it is.
    pub why: String,
}

impl Claim {
    /// Whether a value lies in the band; `None` if there is none.
    fn holds(&self, value: &Value) -> Option<bool> {
        let Self { low, high, reproducible, .. } = self;
        if matches!(reproducible, Kind::No | Kind::Calibration) || low.is_empty() {
            return None;
        }
        Some(match value {
            Value::Text(text) => text == low,
            Value::Number(number) => {
                let (low, high): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
                // Published values have few digits; a band's ends belong to it.
                let slack = 1e-9 * high.abs();
                (low - slack..=high + slack).contains(number)
            }
        })
    }
}

/// What can be expected of a claim on other hardware, with other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The value.
    Yes,
    /// Sign, order, or a wide band.
    Shape,
    /// Nothing: a figure of the authors' machine, or one that they do not have.
    No,
    /// Nothing: what was measured with was made from it.
    Calibration,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number in the claim's unit.
    Number(f64),
    /// Several numbers.
    Text(String),
}

/// A claim, and what came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The claim.
    pub claim: Claim,
    /// What it counts as.
    pub counts: Counts,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Value>,
    /// The same by seed, in the claim's unit, where it was measured with several.
    pub by_seed: Vec<f64>,
}

impl Row {
    /// Whether what was measured lies in the band; `None` if nothing was, or there is no band.
    #[must_use]
    pub fn in_band(&self) -> Option<bool> {
        self.claim.holds(self.measured.as_ref()?)
    }

    /// With how many of the seeds it lies in the band; `None` if there is no band, or it was not measured by seed.
    #[must_use]
    pub fn seeds_in_band(&self) -> Option<usize> {
        self.in_band().filter(|_| !self.by_seed.is_empty())?;
        let within = |value: &&f64| self.claim.holds(&Value::Number(**value)) == Some(true);
        Some(self.by_seed.iter().filter(within).count())
    }
}

/// What was measured of a paper: by item and case.
#[derive(Clone, Debug, Default)]
pub struct Findings(Vec<Finding>);

/// A value that was measured, and its unit where no claim says it.
#[derive(Clone, Debug)]
struct Finding {
    item: String,
    case: String,
    unit: String,
    value: Value,
    by_seed: Vec<f64>,
}

impl Findings {
    fn push(&mut self, item: &str, case: &str, unit: &str, value: Value) {
        let (item, case, unit) = (item.to_owned(), case.to_owned(), unit.to_owned());
        self.0.push(Finding { item, case, unit, value, by_seed: Vec::new() });
    }

    /// Notes beside each number what it is with one seed each. What not every one of them has stays as it is.
    fn note_seeds(&mut self, seeds: &[Self]) {
        for finding in &mut self.0 {
            let same =
                |other: &&Finding| (&other.item, &other.case) == (&finding.item, &finding.case);
            let number = |one: &Self| match one.0.iter().find(same)?.value {
                Value::Number(number) => Some(number),
                Value::Text(_) => None,
            };
            if let Some(values) = seeds.iter().map(number).collect() {
                finding.by_seed = values;
            }
        }
    }

    fn add(&mut self, item: &str, case: &str, value: f64) {
        self.push(item, case, "", Value::Number(value));
    }

    fn add_text(&mut self, item: &str, case: &str, value: impl Into<String>) {
        self.push(item, case, "", Value::Text(value.into()));
    }

    /// What the paper has no value of.
    fn add_beside(&mut self, item: &str, case: &str, unit: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.push(item, case, unit, Value::Number(value));
        }
    }

    /// What came out on another ground, which is named behind each case; a claim's unit is that of
    /// its paper.
    fn add_ground<'f>(
        &mut self,
        claims: &[Claim],
        found: impl IntoIterator<Item = &'f Finding>,
        ground: &str,
    ) {
        for finding in found {
            let is_same =
                |claim: &&Claim| (&claim.item, &claim.case) == (&finding.item, &finding.case);
            let claim = claims.iter().find(is_same);
            let unit = claim.map_or(&finding.unit, |claim| &claim.unit);
            let case = format!("{}, {ground}", finding.case);
            self.push(&finding.item, &case, unit, finding.value.clone());
        }
    }

    fn add_if(&mut self, item: &str, case: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(item, case, value);
        }
    }
}

/// The claims of a file such as [`LFOC`], in order.
///
/// # Errors
/// If it is not one.
pub fn claims(text: &str) -> Result<Vec<Claim>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}

/// Every claim of a paper (`lfoc`) with what was measured of it, and after them what was measured besides.
#[must_use]
pub fn rows(paper: &str, claims: Vec<Claim>, Findings(mut findings): Findings) -> Vec<Row> {
    let mut rows: Vec<Row> = claims
        .into_iter()
        .map(|claim| {
            let same = |found: &Finding| found.item == claim.item && found.case == claim.case;
            let found = findings.iter().position(same).map(|place| findings.remove(place));
            let (measured, by_seed) =
                found.map_or((None, Vec::new()), |found| (Some(found.value), found.by_seed));
            Row { counts: Counts::of(paper, &claim), claim, measured, by_seed }
        })
        .collect();
    rows.extend(findings.into_iter().map(|Finding { item, case, unit, value, by_seed }| Row {
        claim: Claim {
            item,
            case,
            unit,
            published: String::new(),
            low: String::new(),
            high: String::new(),
            reproducible: Kind::No,
            why: String::new(),
        },
        counts: Counts::Outcome,
        measured: Some(value),
        by_seed,
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verdict of one seed may be another's, and text has no seeds.
    #[test]
    fn each_seed_is_held_to_the_band() {
        let claimed = claims(
            "item,case,unit,published,low,high,reproducible,why\n\
             F,a,percent,5,4,6,shape,w\nF,b,text,x,x,x,yes,w\nF,c,percent,5,,,no,w\n",
        );
        let one = |a: f64| {
            let mut findings = Findings::default();
            findings.add("F", "a", a);
            findings.add_text("F", "b", "x");
            findings.add("F", "c", a);
            findings
        };
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), one(7.0), one(6.0)]);
        let rows = rows("none", claimed.unwrap(), findings);
        assert_eq!(rows[0].by_seed, [5.0, 7.0, 6.0]);
        assert_eq!((rows[0].in_band(), rows[0].seeds_in_band()), (Some(true), Some(2)));
        assert_eq!((rows[1].in_band(), rows[1].seeds_in_band()), (Some(true), None));
        assert_eq!((rows[2].by_seed.len(), rows[2].seeds_in_band()), (3, None));
        // What one of the seeds does not tell has none.
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), Findings::default()]);
        assert!(findings.0.iter().all(|finding| finding.by_seed.is_empty()));
    }
}
