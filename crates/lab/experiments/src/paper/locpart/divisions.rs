//! The effect of every division of the cache on global performance. It shows whether the cache can
//! cause a loss in Figure 5.

use fairways_chip::ChipError;
use rayon::prelude::*;

use super::baseline::Baseline;
use super::performance::{Shares, loss};
use super::setup::{LocpartRun, Scale};
use crate::paper::Findings;
use crate::paper::turns::mean;

/// Steps that are not counted.
const WARM: usize = 1;

/// The least and the greatest global loss of each service and the batch program, in percent, over
/// all divisions.
pub(super) fn run(services: &[(Baseline, Scale)]) -> Result<Vec<[f64; 2]>, ChipError> {
    services.par_iter().map(|(service, scale)| ends(service, *scale)).collect()
}

fn ends(service: &Baseline, scale: Scale) -> Result<[f64; 2], ChipError> {
    let Scale { bench, step, steps, .. } = scale;
    let (job, batch, all) = (bench.saturated(service.which), bench.batch(), bench.ways());
    let runs: Vec<LocpartRun> = (0..=all)
        .into_par_iter()
        .map(|ways| match ways {
            0 => bench.fixed(&[(batch.clone(), all)], step, steps),
            ways if ways == all => bench.fixed(&[(job.clone(), all)], step, steps),
            ways => {
                let jobs = [(job.clone(), ways), (batch.clone(), all - ways)];
                bench.fixed(&jobs, step, steps)
            }
        })
        .collect::<Result<_, ChipError>>()?;
    let alone = (runs[all as usize].instructions(0, WARM), runs[0].instructions(0, WARM));
    let losses = runs[1..all as usize].iter().map(|run| {
        let service = run.instructions(0, WARM) / alone.0;
        loss(Shares { service, batch: run.instructions(1, WARM) / alone.1 }.global())
    });
    let losses: Vec<f64> = losses.collect();
    let most = losses.iter().copied().fold(f64::MIN, f64::max);
    Ok([losses.iter().copied().fold(f64::MAX, f64::min), most])
}

/// Adds the findings; `numbers` says how many programs of each kind ran.
pub(super) fn findings(numbers: &str, ends: &[[f64; 2]], findings: &mut Findings) {
    for (which, place) in [("least", 0), ("greatest", 1)] {
        let all: Vec<f64> = ends.iter().map(|ends| ends[place]).collect();
        let case = format!("{numbers}, global loss, the {which} of any division, mean of five");
        findings.add_beside("Figure 5", &case, "percent", Some(mean(&all)));
    }
}
