//! What a claim is about: a result of an experiment, or its input.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Claim;

/// The claims that are neither outcomes nor parameters, with the reason of each.
const COUNTS: &str = include_str!("../../claims/counts.csv");

/// How `why` begins for a claim about one of the paper's parameters.
const PARAMETER: &str = "exact: parameter";

/// What a claim is about. Only outcomes judge a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimKind {
    /// An effect that the experiment shows, or does not.
    Outcome,
    /// A parameter of the paper, or an input of the experiment: it is read back.
    Parameter,
    /// True by arithmetic, by construction, or by the profiles themselves.
    Definition,
    /// A model, or a reading of the paper, was chosen by it.
    Calibration,
}

impl ClaimKind {
    /// All kinds, in the order in which they are reported.
    pub const ALL: [Self; 4] =
        [Self::Outcome, Self::Parameter, Self::Definition, Self::Calibration];

    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Parameter => "parameter",
            Self::Definition => "definition",
            Self::Calibration => "calibration",
        }
    }

    /// The kind of a claim of a paper (such as `lfoc`).
    #[must_use]
    pub fn of_claim(paper: &str, claim: &Claim) -> Self {
        let key = (paper.to_owned(), claim.item.clone(), claim.case.clone());
        match NAMED_CLAIMS.get(&key) {
            Some((counts, _)) => *counts,
            None if claim.why.starts_with(PARAMETER) => Self::Parameter,
            None => Self::Outcome,
        }
    }
}

type Key = (String, String, String);

static NAMED_CLAIMS: LazyLock<HashMap<Key, (ClaimKind, String)>> = LazyLock::new(|| {
    let rows = csv::Reader::from_reader(COUNTS.as_bytes()).into_deserialize();
    let rows =
        rows.map(|row: Result<NamedClaim, csv::Error>| row.expect("the file of this project"));
    rows.map(|of| ((of.paper, of.item, of.case), (of.counts_as, of.why))).collect()
});

#[derive(Deserialize)]
struct NamedClaim {
    paper: String,
    item: String,
    case: String,
    counts_as: ClaimKind,
    why: String,
}

#[cfg(test)]
mod tests {
    use super::super::{BANDWIDTH, CACHE_FAIR, CASC, DCAT, FAIRWAYS, LFOC, LOCPART, claims};
    use super::*;

    #[test]
    fn every_row_that_is_named_is_a_claim_and_has_a_reason() {
        let papers = [
            ("lfoc", LFOC),
            ("dcat", DCAT),
            ("casc", CASC),
            ("cache-fair", CACHE_FAIR),
            ("locpart", LOCPART),
            ("bandwidth", BANDWIDTH),
            ("fairways", FAIRWAYS),
        ];
        let mut found = 0;
        for (paper, text) in papers {
            for claim in claims(text).unwrap() {
                let key = (paper.to_owned(), claim.item.clone(), claim.case.clone());
                if let Some((_, why)) = NAMED_CLAIMS.get(&key) {
                    assert!(!why.is_empty() && !claim.why.starts_with(PARAMETER), "{key:?}");
                    found += 1;
                }
            }
        }
        assert_eq!(found, NAMED_CLAIMS.len(), "a row of counts.csv is no claim");
    }
}
