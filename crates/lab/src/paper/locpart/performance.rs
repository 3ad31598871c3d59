//! Figures 4 and 5: throughput beside the batch program, uncontrolled and under Locpart, over that by itself.
//!
//! Services run in a closed loop, saturated, so that their rate says how fast they are (decision Locpart 3).

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_chip::service::Stage;
use fairways_core::Policy;
use fairways_policy::stock::Stock;
use rayon::prelude::*;

use super::baseline::Baseline;
use super::setup::{Bench, INTERVAL, Run, asked, margin, published};
use crate::paper::Findings;
use crate::paper::turns::mean;

/// A service beside the batch program, each as a share of what it does by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) service: f64,
    pub(super) batch: f64,
}

impl Shares {
    /// The performance of both (decision Locpart 4).
    fn global(self) -> f64 {
        f64::midpoint(self.service, self.batch)
    }
}

/// One service in each scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed {
    pub(super) name: &'static str,
    pub(super) uncontrolled: Shares,
    pub(super) published: Shares,
    pub(super) margin: Shares,
    /// Ways of the service in the end, under both rules.
    ways: [u32; 2],
}

/// How long: steps, of which the first ones are to warm up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) step: Duration,
    pub(super) steps: u32,
}

/// Steps that are not counted.
const WARM: usize = 2;

/// Runs a service in every scenario.
pub(super) fn mix(bench: Bench, service: &Baseline, span: Span) -> Result<Mixed, ChipError> {
    let Span { step, steps } = span;
    let all = bench.ways();
    let (job, batch) = (bench.service(service.name, vec![Stage::SATURATED]), bench.batch());
    let job = asked(&job, service.slo(service.closed_tail));
    let together =
        |policy: &mut dyn Policy| bench.run(&[job.clone(), batch.clone()], policy, step, steps);
    let scenario = |index: usize| match index {
        0 => bench.fixed(&[(job.clone(), all)], step, steps),
        1 => bench.fixed(&[(batch.clone(), all)], step, steps),
        2 => together(&mut Stock::default()),
        3 => together(&mut published(INTERVAL)),
        _ => together(&mut margin(INTERVAL)),
    };
    let runs: Vec<Run> = (0..5).into_par_iter().map(scenario).collect::<Result<_, ChipError>>()?;
    let (alone, batch_alone) = (runs[0].rate(0, WARM), runs[1].instructions(0, WARM));
    let shares = |run: &Run| Shares {
        service: run.rate(0, WARM) / alone,
        batch: run.instructions(1, WARM) / batch_alone,
    };
    let last = |run: &Run| run.moments[0].last().map_or(0, |moment| moment.ways);
    Ok(Mixed {
        name: service.name,
        uncontrolled: shares(&runs[2]),
        published: shares(&runs[3]),
        margin: shares(&runs[4]),
        ways: [last(&runs[3]), last(&runs[4])],
    })
}

fn loss(share: f64) -> f64 {
    100.0 * (1.0 - share)
}

/// So many of each service beside as many batch programs: how many ran is not told.
const COPIES: usize = 4;

/// What is lost uncontrolled if there are several of each.
pub(super) fn copies(
    bench: Bench,
    services: &[Baseline],
    span: Span,
    findings: &mut Findings,
) -> Result<(), ChipError> {
    let Span { step, steps } = span;
    let batch = bench.batch();
    let alone = bench.fixed(&[(batch.clone(), bench.ways())], step, steps)?;
    let each = |service: &Baseline| {
        let job = bench.service(service.name, vec![Stage::SATURATED]);
        let one = bench.fixed(&[(job.clone(), bench.ways())], step, steps)?;
        let jobs = [vec![job; COPIES], vec![batch.clone(); COPIES]].concat();
        let run = bench.run(&jobs, &mut Stock::default(), step, steps)?;
        let count = COPIES as f64;
        let rates: f64 = (0..COPIES).map(|job| run.rate(job, WARM)).sum();
        let speeds: f64 = (COPIES..2 * COPIES).map(|job| run.instructions(job, WARM)).sum();
        Ok(Shares {
            service: rates / count / one.rate(0, WARM),
            batch: speeds / count / alone.instructions(0, WARM),
        })
    };
    let fast = services.par_iter().filter(|service| service.name != "sphinx");
    let shares: Vec<Shares> = fast.map(each).collect::<Result<_, ChipError>>()?;
    let mean_of = |of: &dyn Fn(&Shares) -> f64| mean(&shares.iter().map(of).collect::<Vec<f64>>());
    let mut beside = |item: &str, what: &str, value| {
        let case = format!("{what}, four of each service but sphinx and four of mcf");
        findings.add_beside(item, &case, "percent", Some(value));
    };
    beside("Figure 4", "mean loss uncontrolled", mean_of(&|shares| loss(shares.service)));
    beside("Figure 4", "mcf's mean loss uncontrolled", mean_of(&|shares| loss(shares.batch)));
    beside("Figure 5", "global loss uncontrolled", mean_of(&|shares| loss(shares.global())));
    Ok(())
}

/// The same service at the chip's own size, to see what making it smaller changes.
pub(super) fn beside(mixed: &Mixed, findings: &mut Findings) {
    for (what, shares) in [("uncontrolled", mixed.uncontrolled), ("with Locpart", mixed.published)]
    {
        let case = format!("{}, loss {what}, at its own size", mixed.name);
        findings.add_beside("Figure 4", &case, "percent", Some(loss(shares.service)));
    }
}

pub(super) fn findings(mixes: &[Mixed], findings: &mut Findings) {
    const ITEM: &str = "Figure 4";
    let of = |name: &str| mixes.iter().find(|mixed| mixed.name == name);
    let uncontrolled = |mixed: &Mixed| loss(mixed.uncontrolled.service);
    let locpart = |mixed: &Mixed| loss(mixed.published.service);
    let case = "img-dnn, loss uncontrolled (least of five)";
    findings.add_if(ITEM, case, of("img-dnn").map(uncontrolled));
    let case = "sphinx, loss uncontrolled (most of five)";
    findings.add_if(ITEM, case, of("sphinx").map(uncontrolled));
    let losses = || mixes.iter().map(|mixed| (uncontrolled(mixed), mixed.name));
    let by_loss = |a: &(f64, &str), b: &(f64, &str)| a.0.total_cmp(&b.0);
    let (least, most) = (losses().min_by(by_loss), losses().max_by(by_loss));
    let is_so =
        least.map(|one| one.1) == Some("img-dnn") && most.map(|one| one.1) == Some("sphinx");
    let case = "least-hurt service is img-dnn; most-hurt is sphinx";
    findings.add(ITEM, case, f64::from(u8::from(is_so)));
    let case = "img-dnn, loss with Locpart (least)";
    findings.add_if(ITEM, case, of("img-dnn").map(locpart));
    findings.add_if(ITEM, "silo, loss with Locpart (most)", of("silo").map(locpart));
    let all = |of: &dyn Fn(&Mixed) -> f64| mean(&mixes.iter().map(of).collect::<Vec<f64>>());
    let (shared, divided) = (all(&uncontrolled), all(&locpart));
    findings.add(ITEM, "mean loss of five with Locpart", divided);
    let less = mixes.iter().filter(|mixed| locpart(mixed) < uncontrolled(mixed)).count();
    findings.add(ITEM, "services where Locpart loses less than uncontrolled", less as f64);
    findings.add(ITEM, "Locpart mean loss over uncontrolled mean loss", divided / shared);
    findings.add_beside(ITEM, "mean loss of five uncontrolled", "percent", Some(shared));

    const GLOBAL: &str = "Figure 5";
    let uncontrolled = all(&|mixed| loss(mixed.uncontrolled.global()));
    let locpart = all(&|mixed| loss(mixed.published.global()));
    findings.add(GLOBAL, "global loss uncontrolled", uncontrolled);
    findings.add(GLOBAL, "global loss with Locpart", locpart);
    findings.add(GLOBAL, "global loss, Locpart over uncontrolled", locpart / uncontrolled);
    let margin = all(&|mixed| loss(mixed.margin.global()));
    findings.add_beside(GLOBAL, "global loss with the margin rule", "percent", Some(margin));
    for mixed in mixes {
        let mut beside = |what: &str, unit, value| {
            let case = format!("{}, {what}", mixed.name);
            findings.add_beside(ITEM, &case, unit, Some(value));
        };
        beside("loss uncontrolled", "percent", loss(mixed.uncontrolled.service));
        beside("loss with Locpart", "percent", loss(mixed.published.service));
        beside("loss with the margin rule", "percent", loss(mixed.margin.service));
        beside("mcf's loss uncontrolled", "percent", loss(mixed.uncontrolled.batch));
        beside("mcf's loss with Locpart", "percent", loss(mixed.published.batch));
        beside("mcf's loss with the margin rule", "percent", loss(mixed.margin.batch));
        beside("ways in the end", "ways", f64::from(mixed.ways[0]));
        beside("ways in the end, the margin rule", "ways", f64::from(mixed.ways[1]));
    }
}
