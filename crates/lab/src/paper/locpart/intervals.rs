//! Figure 6: how the interval changes a service's throughput under Locpart.

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_chip::service::Stage;
use rayon::prelude::*;

use super::baseline::Baseline;
use super::performance::Span;
use super::setup::{Bench, asked, published};
use crate::paper::Findings;

/// From that of the evaluation (§IV-A) over the default (§III-C) to a hundred times the first; the paper's are in an
/// image only.
pub(super) const INTERVALS_MS: [u64; 7] = [50, 100, 200, 500, 1000, 2000, 5000];

/// Of a service, requests a second by interval over those with the first.
pub(super) type Curve = (&'static str, Vec<f64>);

/// Runs a service beside the batch program with every interval, from the beginning on: what a long one costs
/// is that it takes long to divide the cache.
pub(super) fn run(bench: Bench, service: &Baseline, span: Span) -> Result<Curve, ChipError> {
    let job = bench.service(service.name, vec![Stage::SATURATED]);
    let jobs = [asked(&job, service.slo(service.closed_tail)), bench.batch()];
    let rate = |ms: &u64| {
        let mut policy = published(Duration::from_millis(*ms));
        Ok(bench.run(&jobs, &mut policy, span.step, span.steps)?.rate(0, 0))
    };
    let rates: Vec<f64> = INTERVALS_MS.par_iter().map(rate).collect::<Result<_, ChipError>>()?;
    Ok((service.name, rates.iter().map(|rate| rate / rates[0]).collect()))
}

pub(super) fn findings(curves: &[Curve], findings: &mut Findings) {
    const ITEM: &str = "Figure 6";
    for (name, curve) in curves {
        let last = curve.last().copied().unwrap_or(f64::NAN);
        match *name {
            "sphinx" => {
                findings.add(ITEM, "sphinx, performance at the longest interval over 50 ms", last)
            }
            "xapian" => findings.add(ITEM, "xapian, the same", last),
            _ => findings.add_beside(ITEM, &format!("{name}, the same"), "ratio", Some(last)),
        }
    }
}
