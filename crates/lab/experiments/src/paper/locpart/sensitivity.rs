//! Figure 1: each program alone with each number of ways.

use std::time::Duration;

use fairways_chip::{ChipError, Job};
use rayon::prelude::*;

use super::baseline::{Baseline, LOAD};
use super::claims;
use super::setup::{LocpartBench, Scale, TailBench};
use crate::paper::Findings;

/// By ways, the 99th percentile of each service in ms, and the speed of the batch program over that
/// with all ways.
#[derive(Clone, Debug)]
pub(super) struct Sensitivity {
    pub(super) tails: Vec<(TailBench, Vec<f64>)>,
    pub(super) batch: Vec<f64>,
    /// Sphinx with all ways: the load, the 99th percentile in seconds, and the number of its
    /// requests.
    loads: Vec<(f64, f64, u64)>,
}

/// The loads for sphinx's tail.
const LOADS: [f64; 4] = [0.3, 0.4, 0.5, LOAD];

/// A tail rises only if it exceeds the one before by this factor (claims/locpart.csv).
const NOISE: f64 = 1.05;

const ITEM: &str = "Figure 1";

/// The speed of the batch program by ways, over that with all.
pub(super) fn batch_speeds(bench: LocpartBench, span: Duration) -> Result<Vec<f64>, ChipError> {
    let job: Job = bench.batch();
    let speed = |ways| Ok(bench.fixed(&[(job.clone(), ways)], span, 2)?.instructions(0, 1));
    let speeds = (1..=bench.ways()).into_par_iter().map(speed);
    let speeds: Vec<f64> = speeds.collect::<Result<_, ChipError>>()?;
    let all = speeds.last().copied().unwrap_or(1.0);
    Ok(speeds.into_iter().map(|speed| speed / all).collect())
}

pub(super) fn batch_findings(speeds: &[f64], findings: &mut Findings) {
    findings.add(claims::MCF_WITH_1_WAY, speeds[0]);
}

impl Sensitivity {
    /// Runs each program with every number of ways.
    pub(super) fn run(
        bench: LocpartBench,
        services: &[(Baseline, Scale)],
        batch: Duration,
    ) -> Result<Self, ChipError> {
        let by_ways = |(service, scale): &(Baseline, Scale)| {
            let tails = (1..=bench.ways())
                .into_par_iter()
                .map(|ways| Ok(1e3 * service.tail(*scale, ways, LOAD)?.0.as_secs_f64()));
            Ok((service.which, tails.collect::<Result<Vec<f64>, ChipError>>()?))
        };
        let tails = services.par_iter().map(by_ways).collect::<Result<Vec<_>, ChipError>>()?;
        let batch = batch_speeds(bench, batch)?;
        let mut sphinx = services.iter().filter(|(service, _)| service.which == TailBench::Sphinx);
        let loads = sphinx.next().map_or(Ok(Vec::new()), |(service, scale)| {
            LOADS
                .par_iter()
                .map(|&load| {
                    let (tail, requests) = service.tail(*scale, bench.ways(), load)?;
                    Ok((load, tail.as_secs_f64(), requests))
                })
                .collect::<Result<Vec<_>, ChipError>>()
        })?;
        Ok(Self { tails, batch, loads })
    }

    pub(super) fn findings(&self, findings: &mut Findings) {
        fn rises(tails: &[f64]) -> usize {
            tails.windows(2).filter(|pair| pair[1] > NOISE * pair[0]).count()
        }
        let worst = self.tails.iter().map(|(_, tails)| rises(tails)).max().unwrap_or(0);
        findings.add(claims::RISING_TAILS, worst as f64);
        batch_findings(&self.batch, findings);
        for (service, tails) in &self.tails {
            let last = tails.len() - 1;
            if *service == TailBench::Silo {
                findings.add(claims::SILO_P99, tails[last]);
            }
            let case = format!("{}, p99 with 1 way over that with all", service.name());
            findings.add_beside(ITEM, &case, "ratio", Some(tails[0] / tails[last]));
        }
        let tail = |service| {
            let found = self.tails.iter().find(|(other, _)| *other == service);
            found.and_then(|(_, tails)| tails.last().copied()).unwrap_or(f64::NAN)
        };
        findings.add(claims::SPHINX_TAIL, tail(TailBench::Sphinx) / 1e3);
        findings.add(claims::XAPIAN_TAIL, tail(TailBench::Xapian));
        for &(load, seconds, requests) in &self.loads {
            let case = format!("sphinx tail at {:.0} % of what it can answer", 100.0 * load);
            findings.add_beside("§IV-B", &case, "s", Some(seconds));
            let case = format!("{case}, requests that it is of");
            findings.add_beside("§IV-B", &case, "count", Some(requests as f64));
        }
    }
}
