//! Locpart's ways when the load steps, comes in bursts or falls silent, or the objective changes.

use std::time::Duration;

use fairways_chip::service::{RequestLoad, Stage};
use fairways_chip::{ChipError, Job};
use fairways_core::{Policy, Time};
use rayon::prelude::*;

use super::baseline::Baseline;
use super::setup::{
    LocpartBench, LocpartRun, TailBench, at_ms, margin, objective, published, steady,
    with_objective,
};
use crate::paper::figures::Line;

/// A period, which is a step: the default interval (§III-C).
const STEP: Duration = Duration::from_millis(500);
const STEPS: u32 = 120;

/// A scenario under one rule.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) run: LocpartRun,
    /// The objective at each step, in ms.
    pub(super) slo: Vec<f64>,
}

impl Timeline {
    /// The service's ways, and the batch program's, over seconds.
    pub(super) fn ways(&self) -> Vec<Line> {
        let of = |job, name: &str| Line {
            name: name.to_owned(),
            points: self.run.points(job, |moment| Some(f64::from(moment.ways))),
        };
        vec![of(0, "ways of silo"), of(1, "ways of mcf")]
    }

    /// The service's tail in each window with enough requests, and its objective: ms over seconds.
    pub(super) fn tails(&self) -> Vec<Line> {
        let times = self.run.points(0, |_| Some(0.0));
        let slo = times.iter().zip(&self.slo).map(|(&(at, _), &slo)| (at, slo));
        vec![
            Line {
                name: "tail, at most 10 ms".to_owned(),
                points: self.run.points(0, |moment: &crate::executed::ProgramStep| {
                    let tail = moment.tail.filter(|_| moment.requests >= 100)?;
                    Some((1e3 * tail.as_secs_f64()).min(10.0))
                }),
            },
            Line { name: "objective".to_owned(), points: slo.collect() },
        ]
    }
}

/// Runs silo through all scenarios.
pub(super) fn run(bench: LocpartBench, silo: &Baseline) -> Result<Vec<Timeline>, ChipError> {
    let stage = |share, seconds| Stage {
        load: silo.open(share),
        length: Some(Duration::from_secs(seconds)),
    };
    let slo = silo.slo();
    let job = |loads| with_objective(&bench.service(TailBench::Silo, loads), slo);
    let RequestLoad::Poisson { per_second } = silo.open(0.45) else { return Ok(Vec::new()) };
    let bursts =
        RequestLoad::Bursty { per_second, times: 2.0, share: 0.2, length: Duration::from_secs(2) };
    let slos = [1.25, 0.85, 2.0].map(|times| slo.mul_f64(times));
    let changes = Job {
        wishes: vec![(at_ms(20_000), objective(slos[1])), (at_ms(40_000), objective(slos[2]))],
        ..with_objective(&bench.service(TailBench::Silo, steady(silo.open(0.5))), slos[0])
    };
    let steps = vec![stage(0.4, 20), stage(0.6, 20), stage(0.4, 20)];
    let silence = vec![stage(0.5, 20), stage(0.0, 20), stage(0.5, 20)];
    let cases: [(&str, &str, Job, bool); 6] = [
        (
            "published-steady",
            "A steady load, the published rule",
            job(steady(silo.open(0.5))),
            true,
        ),
        ("steady", "A steady load, the margin rule", job(steady(silo.open(0.5))), false),
        ("step", "40 %, 60 % and 40 % of what silo can answer", job(steps), false),
        ("bursts", "Twice the load in bursts of two seconds", job(steady(bursts)), false),
        ("silence", "No requests from 20 to 40 s", job(silence), false),
        ("objective", "Objectives of 2.5, 1.7 and 4 ms", changes, false),
    ];
    cases
        .par_iter()
        .map(|(name, title, job, is_published)| {
            let mut policy: Box<dyn Policy> =
                if *is_published { Box::new(published(STEP)) } else { Box::new(margin(STEP)) };
            let run = bench.run(&[job.clone(), bench.batch()], policy.as_mut(), STEP, STEPS)?;
            fn ms(slo: Duration) -> f64 {
                1e3 * slo.as_secs_f64()
            }
            Ok(Timeline {
                name,
                title,
                run,
                slo: (0..STEPS)
                    .map(|step| {
                        let at = Time::ZERO.after(STEP * step);
                        let wish = job.wishes.iter().rev().find(|(from, _)| *from <= at);
                        let wish = wish.map_or(job.wish, |(_, wish)| *wish);
                        wish.objective.map_or(f64::NAN, |objective| ms(objective.slo))
                    })
                    .collect(),
            })
        })
        .collect()
}
