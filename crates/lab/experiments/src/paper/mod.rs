//! Papers' claims, row by row, with the results here.
//!
//! The claims, and the bands within which a value agrees with them, are data (`claims/`), set
//! before anything was measured.

pub mod bandwidth;
pub mod cache_fair;
pub mod casc;
mod claim_kind;
mod claim_name;
pub mod dcat;
pub mod fairways;
mod figures;
mod findings;
pub mod full_bus;
mod ground;
pub mod lfoc;
pub mod locpart;
mod programs;
mod published;
mod results;
mod turns;

use serde::Deserialize;

pub use claim_kind::ClaimKind;
use claim_name::ClaimName;
pub use figures::{Bars, FigureError, Line, bars, lines};
use findings::Finding;
pub use findings::Findings;
pub use ground::Ground;
pub use published::{FigureFile, FigureFolder};
pub use results::{ClaimResult, GroundResult, rows};

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

/// What others measured of memory bandwidth ([`bandwidth`]).
pub const BANDWIDTH: &str = include_str!("../../claims/bandwidth.csv");

/// A claim, and the band of values that agree with it.
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
    /// Which part of it can be reproduced here.
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

/// Which part of a claim can be reproduced on other hardware, with other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reproducibility {
    /// The value.
    Yes,
    /// The sign, the order, or a wide band.
    Shape,
    /// Nothing: the number depends on the authors' machine, or they do not have it.
    No,
    /// Nothing: it was used to make the tool that measures.
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

/// The claims of a file such as [`LFOC`], in order.
///
/// # Errors
/// If the text is not such a file.
pub fn claims(text: &str) -> Result<Vec<Claim>, csv::Error> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect()
}
