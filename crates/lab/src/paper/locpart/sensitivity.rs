//! Figure 1: what each number of ways does to each program by itself.

use std::time::Duration;

use fairways_chip::{ChipError, Job};
use rayon::prelude::*;

use super::baseline::{Baseline, LOAD};
use super::setup::{Bench, steady};
use crate::paper::Findings;

/// Of each service the 99th percentile in ms, and of the batch program its speed over that with all ways, by ways.
#[derive(Clone, Debug)]
pub(super) struct Sensitivity {
    pub(super) tails: Vec<(&'static str, Vec<f64>)>,
    pub(super) batch: Vec<f64>,
}

/// What counts as no shorter than with fewer ways (claims/locpart.csv).
const NOISE: f64 = 1.05;

impl Sensitivity {
    /// Runs each with every number of ways.
    pub(super) fn run(
        bench: Bench,
        services: &[(Baseline, u32)],
        batch: Duration,
    ) -> Result<Self, ChipError> {
        let each = |of: &(dyn Fn(u32) -> Result<f64, ChipError> + Sync)| {
            (1..=bench.ways()).into_par_iter().map(of).collect::<Result<Vec<f64>, ChipError>>()
        };
        let tails = services.iter().map(|(service, requests)| {
            let job = bench.service(service.name, steady(service.open(LOAD)));
            let span = service.span(*requests, LOAD);
            let tail = |ways| {
                let run = bench.fixed(&[(job.clone(), ways)], span, 2)?;
                let tail = run.moments[0][1].tail.map_or(f64::NAN, |tail| tail.as_secs_f64());
                Ok(1e3 * tail)
            };
            Ok((service.name, each(&tail)?))
        });
        let tails = tails.collect::<Result<Vec<_>, ChipError>>()?;
        let job: Job = bench.batch();
        let speed = |ways| Ok(bench.fixed(&[(job.clone(), ways)], batch, 2)?.instructions(0, 1));
        let speeds = each(&speed)?;
        let all = speeds.last().copied().unwrap_or(1.0);
        Ok(Self { tails, batch: speeds.into_iter().map(|speed| speed / all).collect() })
    }

    pub(super) fn findings(&self, findings: &mut Findings) {
        const ITEM: &str = "Figure 1";
        let rises =
            |tails: &[f64]| tails.windows(2).filter(|pair| pair[1] > NOISE * pair[0]).count();
        let worst = self.tails.iter().map(|(_, tails)| rises(tails)).max().unwrap_or(0);
        let case =
            "tail latency falls as ways grow, five services (violations over 20 ways, 5 % noise)";
        findings.add(ITEM, case, worst as f64);
        findings.add(ITEM, "mcf performance at 1 way over 20 ways", self.batch[0]);
        for (name, tails) in &self.tails {
            let last = tails.len() - 1;
            if *name == "silo" {
                findings.add("Figure 1(d)", "silo p99 with all ways", tails[last]);
            }
            let case = format!("{name}, p99 with 1 way over that with all");
            findings.add_beside(ITEM, &case, "ratio", Some(tails[0] / tails[last]));
        }
        let tail = |name: &str| {
            let found = self.tails.iter().find(|(other, _)| *other == name);
            found.and_then(|(_, tails)| tails.last().copied()).unwrap_or(f64::NAN)
        };
        findings.add("§IV-B", "sphinx tail", tail("sphinx") / 1e3);
        findings.add("§IV-B", "xapian tail", tail("xapian"));
    }
}
