//! The truth: each neighbour is taken away in turn.

use fairways_chip::{ChipError, Settings};
use fairways_core::Policy;
use fairways_policy::by_name;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::mixes::{MixOnChip, PROTOCOL};
use crate::executed::{ChipProtocol, Mixed, SoloRun, measure_alone};

/// What is true of a program of a mix, under a policy: a row of a table.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct VictimTruth {
    /// The mix, by the seed of the draw and its number.
    pub seed: u64,
    /// From 0.
    pub mix: usize,
    /// The policy.
    pub policy: String,
    /// The program's place in the mix.
    pub victim: usize,
    /// What it is called.
    pub program: String,
    /// Its cycles per instruction alone.
    pub alone_cpi: f64,
    /// Its slowdown, against running alone with the whole cache.
    pub slowdown: f64,
    /// The same where the bus is unlimited: what the cache does.
    pub by_cache: f64,
    /// By how much its slowdown falls when each program of the mix is taken away, in order, with
    /// spaces between; 0 for itself.
    pub caused: String,
}

impl VictimTruth {
    /// By how much its slowdown falls when each program is taken away.
    #[must_use]
    pub fn caused(&self) -> Vec<f64> {
        self.caused.split(' ').filter_map(|number| number.parse().ok()).collect()
    }
}

/// The truth about a mix under each of these policies: it runs as it is, on an unlimited bus, and
/// without each program in turn.
///
/// # Errors
/// If the chip has too few cores: [`ChipError`].
///
/// # Panics
/// If no policy has such a name.
pub fn truth(mix: &MixOnChip, policies: &[&str]) -> Result<Vec<VictimTruth>, ChipError> {
    let mut free = mix.settings;
    free.chip.bandwidth_mbps = f64::INFINITY;
    let (here, unlimited) = (mixed(mix, mix.settings)?, mixed(mix, free)?);
    let rows = policies.iter().map(|policy| {
        let together = here.slowdowns(None, made(policy).as_mut())?;
        let by_cache = unlimited.slowdowns(None, made(policy).as_mut())?;
        let without = (0..mix.jobs.len()).into_par_iter();
        let without = without.map(|gone| here.slowdowns(Some(gone), made(policy).as_mut()));
        let without = without.collect::<Result<Vec<Vec<f64>>, ChipError>>()?;
        let rows = mix.programs.iter().enumerate().map(|(victim, program)| {
            let (slowdown, by_cache) = (together[victim], by_cache[victim]);
            let caused = without.iter().enumerate().map(|(gone, left)| {
                let falls = if gone == victim { 0.0 } else { slowdown - left[victim] };
                format!("{falls:.4}")
            });
            VictimTruth {
                seed: mix.seed,
                mix: mix.number,
                policy: (*policy).to_owned(),
                victim,
                program: program.clone(),
                alone_cpi: rounded(1.0 / here.alone[victim].rate.ipc),
                slowdown: rounded(slowdown),
                by_cache: rounded(by_cache),
                caused: caused.collect::<Vec<String>>().join(" "),
            }
        });
        Ok(rows.collect())
    });
    Ok(rows.collect::<Result<Vec<Vec<VictimTruth>>, ChipError>>()?.concat())
}

/// The mix on a chip, with each program alone.
fn mixed(mix: &MixOnChip, settings: Settings) -> Result<Mixed<'_>, ChipError> {
    let ways = settings.chip.llc.ways.get();
    let ChipProtocol { warm_up, span, .. } = PROTOCOL;
    let alone = mix.jobs.par_iter().map(|job| measure_alone(settings, job, ways, warm_up, span));
    let alone = alone.collect::<Result<Vec<SoloRun>, ChipError>>()?;
    Ok(Mixed { settings, jobs: &mix.jobs, alone, protocol: &PROTOCOL })
}

fn made(policy: &str) -> Box<dyn Policy> {
    by_name(policy).expect("a policy's name")
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
