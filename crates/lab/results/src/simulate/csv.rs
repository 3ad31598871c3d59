//! The comparison as CSV; docs/simulate.md describes it.

use std::io::Write;

use fairways_experiments::{LiveOutcome, OPTIMUM, PolicyOutcome};
use fairways_profiles::Mix;

use super::{ComparedMixes, Results};
use crate::tidy::{PolicyScore, Proof, TidyWriter};

/// Writes a row for each program of each mix under each policy.
///
/// # Errors
/// If it can't be written.
pub fn write(compared: &ComparedMixes<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedMixes { programs: catalog, results, is_settled, .. } = compared;
    let mut rows = TidyWriter::new(out);
    match results {
        Results::Scored(results) => {
            for (mix, compared) in results {
                for of in &compared.outcomes {
                    let score = scored(mix, of, *is_settled);
                    rows.write(score, &catalog.names_of(mix), &of.plans, &[])?;
                }
            }
        }
        Results::Live(results) => {
            for (mix, compared) in results {
                for of in &compared.outcomes {
                    rows.write(live(mix, of), &catalog.names_of(mix), &[], &[])?;
                }
            }
        }
    }
    Ok(())
}

fn scored<'a>(mix: &'a Mix, of: &'a PolicyOutcome, is_settled: bool) -> PolicyScore<'a> {
    let PolicyOutcome { policy, metrics, slowdowns, .. } = of;
    // Its search has no time limit. Over time, others may give levels of bandwidth that it does not
    // search.
    let bound = metrics.unfairness;
    let proof = (*policy == OPTIMUM && !is_settled).then_some(Proof { is_complete: true, bound });
    PolicyScore { mix: &mix.name, policy, metrics, slowdowns, proof }
}

fn live<'a>(mix: &'a Mix, of: &'a LiveOutcome) -> PolicyScore<'a> {
    let LiveOutcome { policy, metrics, slowdowns, .. } = of;
    // The search scores plans; it does not bound what they do over time.
    PolicyScore { mix: &mix.name, policy, metrics, slowdowns, proof: None }
}
