//! Papers' claims, row by row, beside the results here.
//!
//! The claims and the bands within which a value counts as theirs are data (`claims/`), set before
//! anything was measured.

pub mod bandwidth;
pub mod cache_fair;
pub mod casc;
mod claim_kind;
pub mod dcat;
pub mod fairways;
mod figures;
mod ground;
pub mod lfoc;
pub mod locpart;
mod programs;
mod turns;

use serde::Deserialize;

pub use claim_kind::ClaimKind;
pub use figures::{Bars, FigureError, Line, bars, lines};
pub use ground::Ground;

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

/// The aims of the policy `fairways` ([`fairways`]).
pub const FAIRWAYS: &str = include_str!("../../claims/fairways.csv");

/// What was measured of memory bandwidth ([`bandwidth`]).
pub const BANDWIDTH: &str = include_str!("../../claims/bandwidth.csv");

/// A claim, and the band within which a value counts as the same.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Claim {
    /// Section, figure or table.
    pub item: String,
    /// The case within the item.
    pub case: String,
    /// The value's unit.
    pub unit: String,
    /// The value as printed; empty where the paper has an image only.
    pub published: String,
    /// The smallest value within the band; empty if there is no band.
    pub low: String,
    /// The largest value within the band.
    pub high: String,
    /// What can be reproduced here.
    pub reproducible: Reproducibility,
    /// The reason for the band.
    pub why: String,
}

impl Claim {
    /// Whether a value lies in the band; `None` if there is none.
    fn holds(&self, value: &MeasuredValue) -> Option<bool> {
        let Self { low, high, reproducible, .. } = self;
        if matches!(reproducible, Reproducibility::No | Reproducibility::Calibration)
            || low.is_empty()
        {
            return None;
        }
        Some(match value {
            MeasuredValue::Text(text) => text == low,
            MeasuredValue::Number(number) => {
                let (low, high): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
                // Published values have few digits; a band's ends belong to it.
                let slack = 1e-9 * high.abs();
                (low - slack..=high + slack).contains(number)
            }
        })
    }
}

/// What can be reproduced of a claim on other hardware, with other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reproducibility {
    /// The value.
    Yes,
    /// Sign, order, or a wide band.
    Shape,
    /// Nothing: the number depends on the authors' machine, or they do not have it.
    No,
    /// Nothing: the tool of the measurement was made from it.
    Calibration,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub enum MeasuredValue {
    /// A number in the claim's unit.
    Number(f64),
    /// Several numbers, or words.
    Text(String),
}

/// A claim, and the measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// The claim.
    pub claim: Claim,
    /// The claim's kind.
    pub kind: ClaimKind,
    /// The measured value; `None` if there is none.
    pub measured: Option<MeasuredValue>,
    /// The values by seed, in the claim's unit, where it was measured with several.
    pub by_seed: Vec<f64>,
}

impl ClaimResult {
    /// Whether the measured value lies in the band; `None` without a value or a band.
    #[must_use]
    pub fn in_band(&self) -> Option<bool> {
        self.claim.holds(self.measured.as_ref()?)
    }

    /// The number of seeds whose values lie in the band; `None` without a band, or without values
    /// by seed.
    #[must_use]
    pub fn seeds_in_band(&self) -> Option<usize> {
        self.in_band().filter(|_| !self.by_seed.is_empty())?;
        Some(
            self.by_seed
                .iter()
                .filter(|value| self.claim.holds(&MeasuredValue::Number(**value)) == Some(true))
                .count(),
        )
    }
}

/// The measured values of a paper, by item and case.
#[derive(Clone, Debug, Default)]
pub struct Findings(Vec<Finding>);

/// A measured value, and its unit if no claim states it.
#[derive(Clone, Debug)]
struct Finding {
    item: String,
    case: String,
    unit: String,
    value: MeasuredValue,
    by_seed: Vec<f64>,
}

impl Findings {
    fn push(&mut self, item: &str, case: &str, unit: &str, value: MeasuredValue) {
        let (item, case, unit) = (item.to_owned(), case.to_owned(), unit.to_owned());
        self.0.push(Finding { item, case, unit, value, by_seed: Vec::new() });
    }

    /// Notes the values of several seeds beside each number. A number that some seed lacks stays as
    /// it is.
    fn note_seeds(&mut self, seeds: &[Self]) {
        for finding in &mut self.0 {
            if let Some(values) = seeds
                .iter()
                .map(|one| {
                    match one
                        .0
                        .iter()
                        .find(|other| (&other.item, &other.case) == (&finding.item, &finding.case))?
                        .value
                    {
                        MeasuredValue::Number(number) => Some(number),
                        MeasuredValue::Text(_) => None,
                    }
                })
                .collect()
            {
                finding.by_seed = values;
            }
        }
    }

    fn add(&mut self, item: &str, case: &str, value: f64) {
        self.push(item, case, "", MeasuredValue::Number(value));
    }

    fn add_text(&mut self, item: &str, case: &str, value: impl Into<String>) {
        self.push(item, case, "", MeasuredValue::Text(value.into()));
    }

    /// Adds a value for which the paper has none.
    fn add_beside(&mut self, item: &str, case: &str, unit: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.push(item, case, unit, MeasuredValue::Number(value));
        }
    }

    /// Adds values from another ground, whose name follows each case; a claim's unit is that of its
    /// paper.
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
/// If the text is not such a file.
pub fn claims(text: &str) -> Result<Vec<Claim>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}

/// Every claim of a paper (such as `lfoc`) with its measured value, and then the other measured
/// values.
#[must_use]
pub fn rows(paper: &str, claims: Vec<Claim>, Findings(mut findings): Findings) -> Vec<ClaimResult> {
    let mut rows: Vec<ClaimResult> = claims
        .into_iter()
        .map(|claim| {
            let same = |found: &Finding| found.item == claim.item && found.case == claim.case;
            let found = findings.iter().position(same).map(|place| findings.remove(place));
            let (measured, by_seed) =
                found.map_or((None, Vec::new()), |found| (Some(found.value), found.by_seed));
            ClaimResult { kind: ClaimKind::of_claim(paper, &claim), claim, measured, by_seed }
        })
        .collect();
    rows.extend(findings.into_iter().map(|Finding { item, case, unit, value, by_seed }| {
        ClaimResult {
            claim: Claim {
                item,
                case,
                unit,
                published: String::new(),
                low: String::new(),
                high: String::new(),
                reproducible: Reproducibility::No,
                why: String::new(),
            },
            kind: ClaimKind::Outcome,
            measured: Some(value),
            by_seed,
        }
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each seed has its own verdict, and text has no seeds.
    #[test]
    fn each_seed_is_held_to_the_band() {
        let claimed = claims(
            "item,case,unit,published,low,high,reproducible,why\n\
             F,a,percent,5,4,6,shape,w\nF,b,text,x,x,x,yes,w\nF,c,percent,5,,,no,w\n",
        );
        fn one(a: f64) -> Findings {
            let mut findings = Findings::default();
            findings.add("F", "a", a);
            findings.add_text("F", "b", "x");
            findings.add("F", "c", a);
            findings
        }
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), one(7.0), one(6.0)]);
        let rows = rows("none", claimed.unwrap(), findings);
        assert_eq!(rows[0].by_seed, [5.0, 7.0, 6.0]);
        assert_eq!((rows[0].in_band(), rows[0].seeds_in_band()), (Some(true), Some(2)));
        assert_eq!((rows[1].in_band(), rows[1].seeds_in_band()), (Some(true), None));
        assert_eq!((rows[2].by_seed.len(), rows[2].seeds_in_band()), (3, None));
        // A value that one of the seeds lacks has no values by seed.
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), Findings::default()]);
        assert!(findings.0.iter().all(|finding| finding.by_seed.is_empty()));
    }
}
