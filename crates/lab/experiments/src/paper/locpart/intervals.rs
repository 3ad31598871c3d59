//! Figure 6: a service's throughput under Locpart, by the interval.

use std::time::Duration;

use fairways_chip::ChipError;
use rayon::prelude::*;

use super::baseline::Baseline;
use super::claims;
use super::setup::{Scale, TailBench, published, with_objective};
use crate::paper::Findings;

/// From the interval of the evaluation (§IV-A) over the default (§III-C) to a hundred times the
/// first; the paper's are in an image only.
pub(super) const INTERVALS_MS: [u64; 7] = [50, 100, 200, 500, 1000, 2000, 5000];

/// A service, and its throughput by interval over that with the first.
pub(super) type Curve = (TailBench, Vec<f64>);

/// Runs a service beside the batch program with every interval, from the beginning on: the cost of
/// a long interval is the time until the cache is divided.
pub(super) fn run(service: &Baseline, scale: Scale, slo: Duration) -> Result<Curve, ChipError> {
    let Scale { bench, step, steps, .. } = scale;
    let jobs = [with_objective(&bench.saturated(service.which), slo), bench.batch()];
    let speed = |ms: &u64| {
        let mut policy = published(Duration::from_millis(*ms));
        Ok(bench.run(&jobs, &mut policy, step, steps)?.instructions(0, 0))
    };
    let speeds: Vec<f64> = INTERVALS_MS.par_iter().map(speed).collect::<Result<_, ChipError>>()?;
    Ok((service.which, speeds.iter().map(|speed| speed / speeds[0]).collect()))
}

fn last(curve: &[f64]) -> f64 {
    curve.last().copied().unwrap_or(f64::NAN)
}

const ITEM: &str = "Figure 6";

pub(super) fn findings(curves: &[Curve], findings: &mut Findings) {
    for (service, curve) in curves {
        let last = last(curve);
        match service {
            TailBench::Sphinx => findings.add(claims::SPHINX_LONG_INTERVAL, last),
            TailBench::Xapian => findings.add(claims::XAPIAN_LONG_INTERVAL, last),
            TailBench::Masstree | TailBench::Silo | TailBench::ImgDnn => {
                let case = format!("{}, the same", service.name());
                findings.add_beside(ITEM, &case, "ratio", Some(last));
            }
        }
    }
}

/// The same with an objective that every request misses: the most that an interval can cost.
pub(super) fn missed(
    service: &Baseline,
    scale: Scale,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let (service, curve) = run(service, scale, Duration::from_nanos(1))?;
    let (name, seconds) = (service.name(), (scale.step * scale.steps).as_secs());
    let case =
        format!("{name}, the same, with an objective that every request misses, in {seconds} s");
    findings.add_beside(ITEM, &case, "ratio", Some(last(&curve)));
    Ok(())
}
