//! Figure 6: policies' decisions, scored by the static model.

use fairways_core::Policy;
use fairways_policy::by_name;
use fairways_profiles::{Mix, ProfileTable};
use rayon::prelude::*;

use super::memory::MOST_LIMITED;
use super::{Setting, UnservedMix, claims};
use crate::best_static::{BestStatic, OPTIMUM};
use crate::compare::{ComparisonSettings, compare};
use crate::paper::Findings;

/// The policies that are scored.
pub(super) const POLICIES: [&str; 5] = ["dunn", "kpart", "lfoc", "lfoc-plus", OPTIMUM];

/// A mix, and the results of the policies on it, relative to no partitioning.
#[derive(Clone, Debug)]
pub struct ScoredMix {
    /// The mix's name.
    pub mix: String,
    /// By policy: its name, and its unfairness and STP over those of stock.
    pub policies: Vec<(&'static str, f64, f64)>,
}

impl ScoredMix {
    /// A policy's unfairness and STP over those of stock.
    pub(super) fn over_stock(&self, policy: &str) -> (f64, f64) {
        let found = self.policies.iter().find(|(name, ..)| *name == policy);
        found.map_or((f64::NAN, f64::NAN), |&(_, unfairness, stp)| (unfairness, stp))
    }
}

/// Scores the policies on each mix; `done` is called after each.
///
/// # Errors
/// If memory can't serve a mix.
pub(super) fn score(
    table: &ProfileTable,
    mixes: &[Mix],
    setting: &Setting,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<ScoredMix>, UnservedMix> {
    let Setting { llc, machine, .. } = *setting;
    let bandwidth = machine.bandwidth;
    let settings = ComparisonSettings { llc, bandwidth, wishes: Vec::new() };
    mixes
        .par_iter()
        .map(|mix| {
            let mut policies: Vec<Box<dyn Policy>> =
                POLICIES.iter().filter_map(|name| by_name(name)).collect();
            if bandwidth.is_none() || mix.programs.len() <= MOST_LIMITED {
                policies.push(Box::new(BestStatic::new(
                    table,
                    &mix.programs,
                    llc,
                    bandwidth,
                    &[],
                )?));
            }
            let found = compare(table, mix, &settings, policies)?;
            let policies = found.outcomes.iter().map(|outcome| {
                let metrics = &outcome.metrics;
                let unfairness = metrics.unfairness / found.stock.unfairness;
                (outcome.policy, unfairness, metrics.stp / found.stock.stp)
            });
            let scored = ScoredMix { mix: mix.name.clone(), policies: policies.collect() };
            done();
            Ok(scored)
        })
        .collect()
}

pub(super) fn findings(scored: &[ScoredMix], findings: &mut Findings) {
    const ITEM: &str = "Figure 6";
    let unfairness = |policy| scored.iter().map(move |mix| mix.over_stock(policy).0);
    let stp = |policy| scored.iter().map(move |mix| mix.over_stock(policy).1);
    fn least(values: impl Iterator<Item = f64>) -> f64 {
        values.fold(f64::INFINITY, f64::min)
    }
    fn most(values: impl Iterator<Item = f64>) -> f64 {
        values.fold(0.0, f64::max)
    }
    // Mixes without a best partition do not count in a comparison with it.
    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values
            .filter(|value| !value.is_nan())
            .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        sum / f64::from(count)
    }
    let share = |holds: fn(&ScoredMix) -> bool| {
        100.0 * scored.iter().filter(|mix| holds(mix)).count() as f64 / scored.len() as f64
    };
    findings.add(claims::DUNN_BEST, least(unfairness("dunn")));
    findings.add(claims::DUNN_WORST, most(unfairness("dunn")));
    findings.add(claims::KPART_MEAN, mean(unfairness("kpart")));
    findings.add(claims::KPART_BEST_STP, most(stp("kpart")));
    findings.add(claims::LFOC_MEAN, mean(unfairness("lfoc")));
    findings.add(claims::LFOC_BEST, least(unfairness("lfoc")));
    findings.add(
        claims::STP_OVER_KPART,
        share(|mix| mix.over_stock("lfoc").1 >= mix.over_stock("kpart").1),
    );
    findings.add(
        claims::FAIRER_THAN_KPART,
        share(|mix| mix.over_stock("lfoc").0 < mix.over_stock("kpart").0),
    );
    // The larger gap of the two: the paper does not state which it means.
    let unfairness_gap = 100.0
        * (mean(unfairness("lfoc").zip(unfairness(OPTIMUM)).map(|(lfoc, best)| lfoc / best)) - 1.0);
    let stp_gap =
        -(100.0 * (mean(stp("lfoc").zip(stp(OPTIMUM)).map(|(lfoc, best)| lfoc / best)) - 1.0));
    findings.add(claims::LFOC_GAP, unfairness_gap.max(stp_gap));
    findings.add(
        claims::BEST_STATIC_BEATEN,
        scored
            .iter()
            .filter(|mix| {
                let best = mix.over_stock(OPTIMUM).0;
                mix.policies.iter().any(|(_, unfairness, _)| *unfairness < best * (1.0 - 1e-9))
            })
            .count() as f64,
    );
    findings.add_beside(
        ITEM,
        "LFOC against Best-Static, mean gap in unfairness",
        "percent",
        Some(unfairness_gap),
    );
    findings.add_beside(
        ITEM,
        "LFOC against Best-Static, mean gap in STP",
        "percent",
        Some(stp_gap),
    );
    findings.add_beside(ITEM, "KPart, mean STP over stock", "ratio", Some(mean(stp("kpart"))));
    findings.add_beside(ITEM, "LFOC, mean STP over stock", "ratio", Some(mean(stp("lfoc"))));
    findings.add_beside(
        ITEM,
        "LFOC+, mean unfairness over stock",
        "ratio",
        Some(mean(unfairness("lfoc-plus"))),
    );
    findings.add_beside(ITEM, "LFOC+, mean STP over stock", "ratio", Some(mean(stp("lfoc-plus"))));
    findings.add_beside(
        ITEM,
        "Best-Static, mean unfairness over stock",
        "ratio",
        Some(mean(unfairness(OPTIMUM))),
    );
}
