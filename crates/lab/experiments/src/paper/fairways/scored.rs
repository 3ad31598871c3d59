//! The results of policies on mixes, and the report about them.

use fairways_profiles::FairnessMetrics;

use crate::best_static::OPTIMUM;
use crate::paper::Findings;
use crate::paper::figures::{Bars, FigureError, bars};
use crate::paper::published::FigureFolder;

/// The policy that is evaluated, and the one that it starts from.
pub(super) const OURS: &str = "fairways";
pub(super) const RULES: &str = "lfoc-plus";

/// The results of policies on a mix.
#[derive(Clone, Debug)]
pub(super) struct MixScores {
    pub(super) mix: String,
    /// By policy: its name, and its unfairness and STP relative to stock.
    pub(super) over_stock: Vec<(&'static str, f64, f64)>,
}

impl MixScores {
    pub(super) fn new<'m>(
        mix: &str,
        stock: &FairnessMetrics,
        outcomes: impl Iterator<Item = (&'static str, &'m FairnessMetrics)>,
    ) -> Self {
        let over_stock = outcomes.map(|(policy, metrics)| {
            (policy, metrics.unfairness / stock.unfairness, metrics.stp / stock.stp)
        });
        Self { mix: mix.to_owned(), over_stock: over_stock.collect() }
    }

    /// A policy's unfairness and STP relative to stock.
    pub(super) fn result(&self, policy: &str) -> Option<(f64, f64)> {
        let found = self.over_stock.iter().find(|(name, ..)| *name == policy);
        found.map(|&(_, unfairness, stp)| (unfairness, stp))
    }
}

/// A smaller difference is due to rounding in the policies' integers, and is no loss.
const EQUAL: f64 = 1e-6;

/// Reports every policy's mean, and its losses.
pub(super) fn findings(item: &str, scored: &[MixScores], findings: &mut Findings) {
    let Some(first) = scored.first() else { return };
    findings.add_beside(item, "mixes", "mixes", Some(scored.len() as f64));
    for &(policy, ..) in &first.over_stock {
        let of: Vec<(f64, f64)> = scored.iter().filter_map(|mix| mix.result(policy)).collect();
        let (unfairness, stp): (Vec<f64>, Vec<f64>) = of.into_iter().unzip();
        let over_best =
            scored.iter().filter_map(|mix| Some((mix.result(policy)?, mix.result(OPTIMUM)?)));
        let over_best: Vec<f64> = over_best.map(|(ours, best)| ours.0 / best.0).collect();
        let losses = unfairness.iter().filter(|&&over_stock| over_stock > 1.0 + EQUAL).count();
        for (case, unit, value) in [
            ("mean unfairness over stock", "ratio", mean(&unfairness)),
            ("mean STP over stock", "ratio", mean(&stp)),
            ("mean unfairness over the optimum", "ratio", mean(&over_best)),
            (
                "worst mix, unfairness over stock",
                "ratio",
                unfairness.iter().copied().reduce(f64::max),
            ),
            ("mixes less fair than stock", "mixes", Some(losses as f64)),
        ] {
            findings.add_beside(item, &format!("{policy}, {case}"), unit, value);
        }
        let by_loss = scored.iter().filter_map(|mix| Some((mix.result(policy)?.0, &mix.mix)));
        if let Some((_, worst)) = by_loss.max_by(|one, other| one.0.total_cmp(&other.0)) {
            findings.add_text_beside(item, &format!("{policy}, worst mix"), worst.as_str());
        }
    }
    let pairs = scored.iter().filter_map(|mix| Some((mix.result(OURS)?, mix.result(RULES)?)));
    let pairs: Vec<((f64, f64), (f64, f64))> = pairs.collect();
    let less_fair = pairs.iter().filter(|(ours, rules)| ours.0 > rules.0 * (1.0 + EQUAL)).count();
    let slower = pairs.iter().filter(|(ours, rules)| ours.1 < rules.1 * (1.0 - EQUAL)).count();
    let case = "fairways, mixes less fair than under lfoc-plus";
    findings.add_beside(item, case, "mixes", Some(less_fair as f64));
    let case = "fairways, mixes with a lower STP than under lfoc-plus";
    findings.add_beside(item, case, "mixes", Some(slower as f64));
}

/// The mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The results of each policy on each mix, by experiment.
#[derive(Clone, Debug)]
pub struct ScoreFigures(pub(super) Vec<(String, Vec<MixScores>)>);

impl ScoreFigures {
    /// Draws the means by experiment into a folder, as `unfairness-11-ways.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        for (name, scored) in &self.0 {
            let Some(first) = scored.first() else { continue };
            let policies: Vec<&str> = first.over_stock.iter().map(|(policy, ..)| *policy).collect();
            for (what, part) in [("unfairness", 0), ("STP", 1)] {
                let heights = policies.iter().map(|policy| {
                    let of = scored.iter().filter_map(|mix| mix.result(policy));
                    let of: Vec<f64> = of.map(|of| <[f64; 2]>::from(of)[part]).collect();
                    mean(&of).unwrap_or(0.0)
                });
                let plot = Bars {
                    labels: policies.iter().map(|&policy| policy.to_owned()).collect(),
                    series: vec![("mean".into(), heights.collect())],
                    stacked: false,
                };
                let file = folder.svg(&format!("{}-{name}", what.to_lowercase()));
                bars(file, &format!("{what} over stock, {name}"), ["policy", what], &plot)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{MeasuredValue, rows};

    fn mix(ours: f64, rules: f64) -> MixScores {
        let over_stock = vec![(OURS, ours, 1.0), (RULES, rules, 1.1), (OPTIMUM, 0.5, 1.0)];
        MixScores { mix: "m".into(), over_stock }
    }

    /// Two mixes: on one of them a policy is worse than no partitioning, on the other worse than
    /// LFOC+.
    #[test]
    fn losses_are_reported() {
        let mut found = Findings::default();
        findings("F", &[mix(1.5, 2.0), mix(0.5, 0.4)], &mut found);
        let rows = rows("none", Vec::new(), found, Findings::default());
        for (case, expected) in [
            ("mixes", 2.0),
            ("fairways, mean unfairness over stock", 1.0),
            ("fairways, mean unfairness over the optimum", 2.0),
            ("fairways, worst mix, unfairness over stock", 1.5),
            ("fairways, mixes less fair than stock", 1.0),
            ("lfoc-plus, mixes less fair than stock", 1.0),
            ("fairways, mixes less fair than under lfoc-plus", 1.0),
            ("fairways, mixes with a lower STP than under lfoc-plus", 2.0),
        ] {
            let row = rows.iter().find(|row| row.claim.case == case).unwrap();
            let value = row.models.as_ref().map(|found| &found.value);
            assert_eq!(value, Some(&MeasuredValue::Number(expected)), "{case}");
        }
    }
}
