//! The values that a paper's experiments measure.

use super::{Claim, ClaimName, MeasuredValue};

/// The measured values of a paper, by item and case.
#[derive(Clone, Debug, Default)]
pub struct Findings(pub(super) Vec<Finding>);

/// A measured value, and its unit if no claim states it.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) item: String,
    pub(super) case: String,
    pub(super) unit: String,
    pub(super) value: MeasuredValue,
    pub(super) by_seed: Vec<f64>,
    /// Whether models take part, or programs that replace ones that do not live on.
    pub(super) is_partial: bool,
}

impl Findings {
    fn push(&mut self, item: &str, case: &str, unit: &str, value: MeasuredValue) {
        let (item, case, unit) = (item.to_owned(), case.to_owned(), unit.to_owned());
        self.0.push(Finding { item, case, unit, value, by_seed: Vec::new(), is_partial: false });
    }

    /// Adds the values of several seeds to each number. A number that is missing with some seed
    /// stays as it is.
    pub(super) fn note_seeds(&mut self, seeds: &[Self]) {
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

    /// Adds the value of a claim.
    pub(super) fn add(&mut self, claim: ClaimName, value: f64) {
        self.push(claim.item, claim.case, "", MeasuredValue::Number(value));
    }

    /// Adds the text of a claim.
    pub(super) fn add_text(&mut self, claim: ClaimName, value: impl Into<String>) {
        self.push(claim.item, claim.case, "", MeasuredValue::Text(value.into()));
    }

    /// Adds the value of a claim, if there is one.
    pub(super) fn add_if(&mut self, claim: ClaimName, value: Option<f64>) {
        if let Some(value) = value {
            self.add(claim, value);
        }
    }

    /// Adds a value for which the paper has none.
    pub(super) fn add_beside(&mut self, item: &str, case: &str, unit: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.push(item, case, unit, MeasuredValue::Number(value));
        }
    }

    /// Adds a text for which the paper has none.
    pub(super) fn add_text_beside(&mut self, item: &str, case: &str, value: impl Into<String>) {
        self.push(item, case, "", MeasuredValue::Text(value.into()));
    }

    /// Adds values from another ground, whose name follows each case; a claim's unit is that of its
    /// paper.
    pub(super) fn add_ground<'f>(
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

    /// Marks the values on the corpus in which models take part too.
    pub(super) fn mark_partial(&mut self, is_partial: impl Fn(&Finding) -> bool) {
        for finding in &mut self.0 {
            finding.is_partial = is_partial(finding);
        }
    }
}
