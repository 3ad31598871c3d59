//! The comparison as a drawing.

use fairways_lab::{DrawnMix, DrawnPlan};

use super::{ComparedMixes, Results};

/// Each mix with the plans of its policies, to be drawn.
#[must_use]
pub fn drawn(compared: &ComparedMixes<'_>) -> Vec<DrawnMix> {
    let catalog = compared.programs;
    let mix = |mix: &fairways_profiles::Mix, plans| DrawnMix {
        name: mix.name.clone(),
        programs: catalog.names_of(mix).into_iter().map(str::to_owned).collect(),
        plans,
    };
    match &compared.results {
        Results::Scored(results) => {
            let plans = results.iter().map(|(of, compared)| {
                let plans = compared.outcomes.iter().map(|outcome| DrawnPlan {
                    policy: outcome.policy.to_owned(),
                    partition: Some(outcome.partition.clone()),
                    unfairness: outcome.metrics.unfairness,
                    slowdowns: outcome.slowdowns.clone(),
                });
                mix(of, plans.collect())
            });
            plans.collect()
        }
        Results::Live(results) => {
            let plans = results.iter().map(|(of, compared)| {
                let plans = compared.outcomes.iter().map(|outcome| DrawnPlan {
                    policy: outcome.policy.to_owned(),
                    partition: None,
                    unfairness: outcome.metrics.unfairness,
                    slowdowns: outcome.slowdowns.clone(),
                });
                mix(of, plans.collect())
            });
            plans.collect()
        }
    }
}
