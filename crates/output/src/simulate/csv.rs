//! The comparison as CSV; docs/simulate.md describes it.

use std::io::Write;

use super::{ComparedMixes, Results};
use crate::tidy::{PolicyScore, TidyWriter};

/// Writes a row for each program of each mix under each policy.
///
/// # Errors
/// If it can't be written.
pub fn write(compared: &ComparedMixes<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let ComparedMixes { programs: catalog, results, .. } = compared;
    let mut rows = TidyWriter::new(out);
    match results {
        Results::Scored(results) => {
            for (mix, compared) in results {
                let programs = catalog.names_of(mix);
                for of in &compared.outcomes {
                    let (metrics, slowdowns) = (&of.metrics, &*of.slowdowns);
                    let result =
                        PolicyScore { mix: &mix.name, policy: of.policy, metrics, slowdowns };
                    rows.write(result, &programs, Some(&of.partition), &[])?;
                }
            }
        }
        Results::Live(results) => {
            for (mix, compared) in results {
                let programs = catalog.names_of(mix);
                for of in &compared.outcomes {
                    let (metrics, slowdowns) = (&of.metrics, &*of.slowdowns);
                    let result =
                        PolicyScore { mix: &mix.name, policy: of.policy, metrics, slowdowns };
                    rows.write(result, &programs, None, &[])?;
                }
            }
        }
    }
    Ok(())
}
