//! How far a plan of `fairways` is from the exact optimum, and how it compares with LFOC+'s.

use std::time::{Duration, Instant};

use fairways_core::Policy;
use fairways_optimum::{Goal, Impossible, Problem, SharingKind, solve};
use fairways_policy::fairways::{Fairways, Objective, Parameters};
use fairways_policy::lfoc::{Lfoc, Parameters as Rules};
use fairways_profiles::{Mix, ProfileTable};
use thiserror::Error;

use crate::compare::{CompareError, ComparisonSettings, compare};

/// With more programs than this the exact method takes minutes where less fair plans are tolerated:
/// there neither tolerates any.
const MOST_WEIGHED: usize = 10;

/// A plan of `fairways` beside the optimum's and LFOC+'s.
#[derive(Clone, Copy, Debug)]
pub struct OptimumGap {
    /// How much worse its value is than the optimum's, as a ratio; 1 at best. Where the optimum is
    /// not proven, the ratio is to the bound on it. Where the policy tolerates less fair plans, the
    /// value is over STP, unless memory has a limit or the optimum is not proven.
    pub ratio: f64,
    /// By how much it exceeds the least unfairness or largest slowdown, as a ratio, or falls short
    /// of the highest STP.
    pub over_least: f64,
    /// Its unfairness over that without partitioning.
    pub over_stock: f64,
    /// Its STP over LFOC+'s.
    pub stp_over_rules: f64,
    /// Whether the optimum is proven.
    pub is_proven: bool,
}

/// Why there is no gap.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GapError {
    /// Memory can't serve the mix under a policy.
    #[error(transparent)]
    Policy(#[from] CompareError),
    /// There is no optimum, or none was found in time.
    #[error(transparent)]
    Optimum(#[from] Impossible),
}

/// How far `fairways` with an objective is from the optimum of the same goal on a mix. The exact
/// method may take `patience`; without a limit, mixes have at most
/// [`Problem::most_programs`](fairways_optimum::Problem::most_programs).
///
/// # Errors
/// If memory can't serve the mix, or no optimum is found.
pub fn optimum_gap(
    table: &ProfileTable,
    mix: &Mix,
    settings: &ComparisonSettings,
    objective: Objective,
    patience: Option<Duration>,
) -> Result<OptimumGap, GapError> {
    let mut parameters = Parameters { objective, ..Parameters::default() };
    if mix.programs.len() > MOST_WEIGHED {
        parameters.fairness_tolerance_percent = 0;
    }
    let tolerance = f64::from(parameters.fairness_tolerance_percent) / 100.0;
    let ours = Fairways::new(parameters);
    let policies: [Box<dyn Policy>; 2] = [Box::new(ours), Box::new(Lfoc::new(Rules::plus()))];
    let found = compare(table, mix, settings, policies)?;
    let [ours, rules] = &found.outcomes[..] else { unreachable!("two policies were compared") };
    let largest = ours.slowdowns.iter().copied().fold(0.0, f64::max);
    let goal = match objective {
        Objective::Unfairness => Goal::Unfairness,
        // Wishes of importance are not known to the exact method.
        Objective::Stp | Objective::Weighted => Goal::Stp,
        Objective::MaxSlowdown => Goal::MaxSlowdown,
    };
    let problem = Problem {
        bandwidth: settings.bandwidth,
        tolerance,
        ..Problem::new(table, &mix.programs, settings.llc, SharingKind::Clustering, goal)
    };
    let deadline = patience.map(|patience| Instant::now() + patience);
    let best = solve(&problem, deadline, |_, _| {})?;
    let over_least = match objective {
        Objective::Unfairness => ours.metrics.unfairness / best.bound,
        Objective::Stp | Objective::Weighted => best.bound / ours.metrics.stp,
        Objective::MaxSlowdown => largest / best.bound,
    };
    let is_weighed = tolerance > 0.0
        && matches!(objective, Objective::Unfairness | Objective::MaxSlowdown)
        && settings.bandwidth.is_none()
        && best.is_proven;
    let faster = best.metrics.stp / ours.metrics.stp;
    let ratio = if is_weighed { over_least * best.bound / best.value * faster } else { over_least };
    let stp_over_rules = ours.metrics.stp / rules.metrics.stp;
    let over_stock = ours.metrics.unfairness / found.stock.unfairness;
    Ok(OptimumGap { ratio, over_least, over_stock, stp_over_rules, is_proven: best.is_proven })
}
