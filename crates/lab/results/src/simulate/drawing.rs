//! The comparison as a drawing.

use fairways_experiments::{DrawnMix, DrawnPlan};
use fairways_profiles::{Mix, ProgramCatalog};

use super::{ComparedMixes, Results};

/// Each mix with the plans of its policies, to be drawn.
#[must_use]
pub fn drawn(compared: &ComparedMixes<'_>) -> Vec<DrawnMix> {
    let catalog = compared.programs;
    match &compared.results {
        Results::Scored(results) => {
            let mixes = results.iter().map(|(mix, compared)| {
                let plans = compared.outcomes.iter().map(|outcome| DrawnPlan {
                    policy: outcome.policy.to_owned(),
                    plans: Some(outcome.plans.clone()),
                    unfairness: outcome.metrics.unfairness,
                    slowdowns: outcome.slowdowns.clone(),
                });
                drawn_mix(catalog, mix, plans.collect())
            });
            mixes.collect()
        }
        Results::Live(results) => {
            let mixes = results.iter().map(|(mix, compared)| {
                let plans = compared.outcomes.iter().map(|outcome| DrawnPlan {
                    policy: outcome.policy.to_owned(),
                    plans: None,
                    unfairness: outcome.metrics.unfairness,
                    slowdowns: outcome.slowdowns.clone(),
                });
                drawn_mix(catalog, mix, plans.collect())
            });
            mixes.collect()
        }
    }
}

fn drawn_mix(catalog: &ProgramCatalog, mix: &Mix, plans: Vec<DrawnPlan>) -> DrawnMix {
    let programs = catalog.names_of(mix).into_iter().map(str::to_owned).collect();
    DrawnMix { name: mix.name.clone(), programs, plans }
}
