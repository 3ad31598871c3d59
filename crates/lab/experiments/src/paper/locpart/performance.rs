//! Figures 4 and 5: throughput beside the batch program, uncontrolled and under Locpart, over that
//! alone.
//!
//! Services run in a closed loop, saturated, so that their rate shows their speed (decision Locpart
//! 3).

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_core::Policy;
use fairways_policy::stock::Stock;
use rayon::prelude::*;

use super::baseline::{Baseline, saturate};
use super::claims;
use super::setup::{INTERVAL, LocpartRun, Scale, TailBench, margin, published, with_objective};
use crate::paper::Findings;
use crate::paper::turns::mean;

/// A service beside the batch program, each as a share of its speed alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) service: f64,
    pub(super) batch: f64,
}

impl Shares {
    /// The speeds in a run, over those alone.
    fn over(run: &LocpartRun, alone: Self) -> Self {
        Self {
            service: run.instructions(0, WARM) / alone.service,
            batch: run.instructions(1, WARM) / alone.batch,
        }
    }

    /// The performance of both (decision Locpart 4).
    pub(super) fn global(self) -> f64 {
        f64::midpoint(self.service, self.batch)
    }
}

/// The results of both rules with one objective.
#[derive(Clone, Copy, Debug)]
pub(super) struct BothRules {
    pub(super) published: Shares,
    pub(super) margin: Shares,
    /// The service's ways at the end, under the published and the margin rule.
    ways: [u32; 2],
}

/// One service in each scenario.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServiceMix {
    pub(super) service: TailBench,
    /// Alone: instructions per second.
    alone: Shares,
    pub(super) uncontrolled: Shares,
    /// With the objective from Figure 1's tails, and with one from the tails of the closed loop
    /// (decision Locpart 7).
    pub(super) ruled: BothRules,
    pub(super) closed_loop: BothRules,
}

/// Steps that are not counted.
const WARM: usize = 2;

/// Runs every service in every scenario.
pub(super) fn run(services: &[(Baseline, Scale)]) -> Result<Vec<ServiceMix>, ChipError> {
    services.par_iter().map(|(service, scale)| mix(service, *scale)).collect()
}

/// Runs a service in every scenario.
pub(super) fn mix(service: &Baseline, scale: Scale) -> Result<ServiceMix, ChipError> {
    let Scale { bench, step, steps, .. } = scale;
    let (job, batch) = (bench.saturated(service.which), bench.batch());
    let (_, tail) = saturate(scale, service.which)?;
    let slos = [service.slo(), service.slo_of(tail)];
    let together = |policy: &mut dyn Policy, slo: Duration| {
        bench.run(&[with_objective(&job, slo), batch.clone()], policy, step, steps)
    };
    let runs: Vec<LocpartRun> = (0..7)
        .into_par_iter()
        .map(|index| match index {
            0 => bench.fixed(&[(job.clone(), bench.ways())], step, steps),
            1 => bench.fixed(&[(batch.clone(), bench.ways())], step, steps),
            2 => together(&mut Stock::default(), slos[0]),
            3 | 4 => together(&mut published(INTERVAL), slos[index - 3]),
            _ => together(&mut margin(INTERVAL), slos[index - 5]),
        })
        .collect::<Result<_, ChipError>>()?;
    let [alone, batch_alone] = [&runs[0], &runs[1]].map(|run| run.instructions(0, WARM));
    let alone = Shares { service: alone, batch: batch_alone };
    fn last(run: &LocpartRun) -> u32 {
        run.moments[0].last().map_or(0, |moment| moment.ways)
    }
    let ruled = |published: &LocpartRun, margin: &LocpartRun| BothRules {
        published: Shares::over(published, alone),
        margin: Shares::over(margin, alone),
        ways: [last(published), last(margin)],
    };
    Ok(ServiceMix {
        service: service.which,
        alone,
        uncontrolled: Shares::over(&runs[2], alone),
        ruled: ruled(&runs[3], &runs[5]),
        closed_loop: ruled(&runs[4], &runs[6]),
    })
}

pub(super) fn loss(share: f64) -> f64 {
    100.0 * (1.0 - share)
}

fn mean_loss(mixes: &[ServiceMix], share: impl Fn(&ServiceMix) -> f64) -> f64 {
    loss(mean(&mixes.iter().map(share).collect::<Vec<f64>>()))
}

/// Rows of the same service at the chip's full size, to show the effect of scaling down.
pub(super) fn beside(mixed: &ServiceMix, findings: &mut Findings) {
    let shares = [("uncontrolled", mixed.uncontrolled), ("with Locpart", mixed.ruled.published)];
    for (what, shares) in shares {
        let case = format!("{}, loss {what}, at its own size", mixed.service.name());
        findings.add_beside("Figure 4", &case, "percent", Some(loss(shares.service)));
    }
}

/// The claims: one thread of the service and one batch program.
pub(super) fn claims(mixes: &[ServiceMix], findings: &mut Findings) {
    fn mix_of(service: TailBench, mixes: &[ServiceMix]) -> Option<&ServiceMix> {
        mixes.iter().find(|mixed| mixed.service == service)
    }
    fn uncontrolled(mixed: &ServiceMix) -> f64 {
        loss(mixed.uncontrolled.service)
    }
    fn locpart(mixed: &ServiceMix) -> f64 {
        loss(mixed.ruled.published.service)
    }
    findings
        .add_if(claims::IMG_DNN_UNCONTROLLED, mix_of(TailBench::ImgDnn, mixes).map(uncontrolled));
    findings
        .add_if(claims::SPHINX_UNCONTROLLED, mix_of(TailBench::Sphinx, mixes).map(uncontrolled));
    let losses = || mixes.iter().map(|mixed| (uncontrolled(mixed), mixed.service));
    fn by_loss(a: &(f64, TailBench), b: &(f64, TailBench)) -> std::cmp::Ordering {
        a.0.total_cmp(&b.0)
    }
    let (least, most) = (losses().min_by(by_loss), losses().max_by(by_loss));
    let is_so = least.map(|one| one.1) == Some(TailBench::ImgDnn)
        && most.map(|one| one.1) == Some(TailBench::Sphinx);
    findings.add(claims::LEAST_AND_MOST_HURT, f64::from(u8::from(is_so)));
    findings.add_if(claims::IMG_DNN_LOCPART, mix_of(TailBench::ImgDnn, mixes).map(locpart));
    findings.add_if(claims::SILO_LOCPART, mix_of(TailBench::Silo, mixes).map(locpart));
    let divided = mean_loss(mixes, |mixed| mixed.ruled.published.service);
    let shared = mean_loss(mixes, |mixed| mixed.uncontrolled.service);
    findings.add(claims::MEAN_LOCPART, divided);
    let less = mixes.iter().filter(|mixed| locpart(mixed) < uncontrolled(mixed)).count();
    findings.add(claims::SERVICES_HELPED, less as f64);
    findings.add(claims::MEAN_RATIO, divided / shared);

    let shared = mean_loss(mixes, |mixed| mixed.uncontrolled.global());
    let divided = mean_loss(mixes, |mixed| mixed.ruled.published.global());
    findings.add(claims::GLOBAL_UNCONTROLLED, shared);
    findings.add(claims::GLOBAL_LOCPART, divided);
    findings.add(claims::GLOBAL_RATIO, divided / shared);
}

/// A scenario's name, and a mix's result in it.
type Scenario = (&'static str, fn(&ServiceMix) -> Shares);

/// Rows beside the claims; `numbers` is how many of each ran (`one of each`).
pub(super) fn details(numbers: &str, mixes: &[ServiceMix], findings: &mut Findings) {
    let scenarios: [Scenario; 5] = [
        ("uncontrolled", |mixed| mixed.uncontrolled),
        ("with Locpart", |mixed| mixed.ruled.published),
        ("with the margin rule", |mixed| mixed.ruled.margin),
        ("with Locpart, objectives of the closed loop", |mixed| mixed.closed_loop.published),
        ("with the margin rule, objectives of the closed loop", |mixed| mixed.closed_loop.margin),
    ];
    for (what, shares) in scenarios {
        let case = format!("{numbers}, global loss {what}");
        let both = mean_loss(mixes, |mixed| shares(mixed).global());
        findings.add_beside("Figure 5", &case, "percent", Some(both));
        let case = format!("{numbers}, mean loss {what}");
        let services = mean_loss(mixes, |mixed| shares(mixed).service);
        findings.add_beside("Figure 4", &case, "percent", Some(services));
        let case = format!("{numbers}, mcf's mean loss {what}");
        let batch = mean_loss(mixes, |mixed| shares(mixed).batch);
        findings.add_beside("Figure 4", &case, "percent", Some(batch));
        for mixed in mixes {
            let Shares { service, batch } = shares(mixed);
            let case = format!("{numbers}, {}, loss {what}", mixed.service.name());
            findings.add_beside("Figure 4", &case, "percent", Some(loss(service)));
            let case = format!("{numbers}, {}, mcf's loss {what}", mixed.service.name());
            findings.add_beside("Figure 4", &case, "percent", Some(loss(batch)));
        }
    }
    for ServiceMix { service, ruled, closed_loop, .. } in mixes {
        let name = service.name();
        for (of_what, ruled) in [("", ruled), (", objectives of the closed loop", closed_loop)] {
            for (rule, ways) in ["", ", the margin rule"].into_iter().zip(ruled.ways) {
                let case = format!("{numbers}, {name}, ways in the end{rule}{of_what}");
                findings.add_beside("Figure 4", &case, "ways", Some(f64::from(ways)));
            }
        }
    }
}

/// The loss of `threads` of each, over as many times one of each alone.
pub(super) fn over_one(
    threads: u32,
    (one, several): (&[ServiceMix], &[ServiceMix]),
    findings: &mut Findings,
) {
    let scenarios: [Scenario; 2] = [
        ("uncontrolled", |mixed| mixed.uncontrolled),
        ("with Locpart", |mixed| mixed.ruled.published),
    ];
    for (what, shares) in scenarios {
        let over = |(one, several): (&ServiceMix, &ServiceMix)| {
            let (alone, each) = (several.alone, one.alone);
            let (count, shares) = (f64::from(threads), shares(several));
            Shares {
                service: shares.service * alone.service / (count * each.service),
                batch: shares.batch * alone.batch / (count * each.batch),
            }
        };
        let over: Vec<Shares> = one.iter().zip(several).map(over).collect();
        let mut beside = |item: &str, case: &str, share: fn(Shares) -> f64| {
            let loss = loss(mean(&over.iter().map(|&shares| share(shares)).collect::<Vec<f64>>()));
            let case = format!("four of each over four times one alone, {case} {what}");
            findings.add_beside(item, &case, "percent", Some(loss));
        };
        beside("Figure 5", "global loss", Shares::global);
        beside("Figure 4", "mean loss", |shares| shares.service);
        beside("Figure 4", "mcf's mean loss", |shares| shares.batch);
    }
}
