//! Whether the objective is met where some allocation can meet it. The paper has no number for
//! this: it is a target of this project.
//!
//! Services run in an open loop beside the batch program, and the policy decides at its default
//! interval, which is a window; a window counts if it has enough requests. Allocations and policies
//! are judged by the same windows.

use std::time::Duration;

use fairways_chip::{ChipError, Job};
use fairways_core::Policy;
use fairways_policy::locpart::ServiceClass;

use super::baseline::Baseline;
use super::setup::{
    LocpartBench, LocpartRun, TailBench, margin, published, steady, with_objective,
};
use crate::paper::Findings;

/// The default interval (§III-C).
const PERIOD: Duration = Duration::from_millis(500);

/// Requests that a window needs to count (decision Locpart 5).
const ENOUGH: u64 = 100;

/// An objective counts as met if it is met in this share of the windows.
const HELD_SHARE: f64 = 0.99;

/// The result of an allocation, fixed or by a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct AllocationOutcome {
    /// Windows that count, and those among them in which the objective was met.
    windows: usize,
    windows_met: usize,
    /// The batch program's instructions per second.
    pub(super) batch: f64,
    /// The service's ways, the mean over all windows.
    pub(super) ways: f64,
    /// How often the ways changed, and the service's class at the end.
    changes: usize,
    class: String,
}

impl AllocationOutcome {
    /// The result after the first `from` windows.
    fn new(run: &LocpartRun, slo: Duration, from: u32) -> Self {
        let from = from as usize;
        let service = &run.moments[0][from..];
        let enough = || service.iter().filter(|moment| moment.requests >= ENOUGH);
        fn holds(tail: Option<Duration>, slo: Duration) -> bool {
            tail.is_some_and(|tail| tail < slo)
        }
        let changes = run.moments[0][from - 1..].windows(2);
        Self {
            windows: enough().count(),
            windows_met: enough().filter(|moment| holds(moment.tail, slo)).count(),
            batch: run.instructions(1, from),
            ways: service.iter().map(|moment| f64::from(moment.ways)).sum::<f64>()
                / service.len() as f64,
            changes: changes.filter(|pair| pair[0].ways != pair[1].ways).count(),
            class: service.last().map_or_else(String::new, |moment| moment.class.to_string()),
        }
    }

    /// The share of windows that met the objective; not a number without windows that count.
    pub(super) fn share(&self) -> f64 {
        self.windows_met as f64 / self.windows as f64
    }

    fn holds(&self) -> bool {
        self.share() >= HELD_SHARE
    }
}

/// A service at a load, under every allocation and under both rules.
#[derive(Clone, Debug)]
pub(super) struct ObjectiveCase {
    pub(super) service: TailBench,
    pub(super) load: f64,
    /// By the service's ways, from 1 on, if tried; the batch program has the other ways.
    pub(super) fixed: Vec<AllocationOutcome>,
    pub(super) margin: AllocationOutcome,
    pub(super) published: AllocationOutcome,
    /// Under the margin rule, from the beginning on.
    settling: AllocationOutcome,
}

/// How many windows policies have to settle, and how many are judged after them.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// Windows to settle.
    pub settling: u32,
    /// Windows that are judged, for allocations and policies alike.
    pub judged: u32,
}

/// A service at a load beside the batch program.
struct CaseBench {
    bench: LocpartBench,
    job: Job,
    slo: Duration,
    windows: Windows,
}

impl CaseBench {
    fn new(bench: LocpartBench, service: &Baseline, load: f64, windows: Windows) -> Self {
        let slo = service.slo();
        let job = with_objective(&bench.service(service.which, steady(service.open(load))), slo);
        Self { bench, job, slo, windows }
    }

    fn count(&self) -> u32 {
        self.windows.settling + self.windows.judged
    }

    /// The results after the windows to settle, and from the beginning on.
    fn outcomes(&self, run: &LocpartRun) -> [AllocationOutcome; 2] {
        [self.windows.settling, 1].map(|from| AllocationOutcome::new(run, self.slo, from))
    }

    fn under(&self, policy: &mut dyn Policy) -> Result<[AllocationOutcome; 2], ChipError> {
        let jobs = [self.job.clone(), self.bench.batch()];
        Ok(self.outcomes(&self.bench.run(&jobs, policy, PERIOD, self.count())?))
    }

    fn fixed(&self, ways: u32) -> Result<AllocationOutcome, ChipError> {
        let jobs = [(self.job.clone(), ways), (self.bench.batch(), self.bench.ways() - ways)];
        let [settled, _] = self.outcomes(&self.bench.fixed(&jobs, PERIOD, self.count())?);
        Ok(settled)
    }
}

impl ObjectiveCase {
    /// Tries allocations, and both rules.
    pub(super) fn run(
        bench: LocpartBench,
        service: &Baseline,
        load: f64,
        windows: Windows,
    ) -> Result<Self, ChipError> {
        let beside = CaseBench::new(bench, service, load, windows);
        let most = bench.ways() - 1;
        let mut fixed = vec![AllocationOutcome::default(); most as usize];
        // Tails fall as ways grow (Figure 1): bisection finds the fewest ways that meet the
        // objective.
        fixed[most as usize - 1] = beside.fixed(most)?;
        let (mut too_few, mut enough) = (0, most);
        while fixed[most as usize - 1].holds() && enough - too_few > 1 {
            let ways = u32::midpoint(too_few, enough);
            let kept = beside.fixed(ways)?;
            *(if kept.holds() { &mut enough } else { &mut too_few }) = ways;
            fixed[ways as usize - 1] = kept;
        }
        let (margin, published) = rayon::join(
            || beside.under(&mut margin(PERIOD)),
            || beside.under(&mut published(PERIOD)),
        );
        let ([margin, settling], [published, _]) = (margin?, published?);
        Ok(Self { service: service.which, load, fixed, margin, published, settling })
    }

    /// The fewest ways that meet the objective, with their result.
    pub(super) fn fewest(&self) -> Option<(u32, &AllocationOutcome)> {
        (1..).zip(&self.fixed).find(|(_, kept)| kept.holds())
    }
}

const ITEM: &str = "Objective";

fn named(case: &ObjectiveCase) -> String {
    format!("{} at {:.0} %", case.service.name(), 100.0 * case.load)
}

/// Which cases allocations can meet, and whether the margin rule recognises those that none can.
pub(super) fn allocations(cases: &[ObjectiveCase], findings: &mut Findings) {
    let none = || cases.iter().filter(|case| case.fewest().is_none());
    let recognised =
        none().filter(|case| case.margin.class == ServiceClass::Unattainable.name()).count();
    let reachable = (cases.len() - none().count()) as f64;
    findings.add_beside(ITEM, "cases that some allocation can hold", "count", Some(reachable));
    let out_of_reach = Some(none().count() as f64);
    findings.add_beside(ITEM, "cases that none can", "count", out_of_reach);
    let recognised = Some(recognised as f64);
    findings.add_beside(ITEM, "cases that none can: said so", "count", recognised);
    for case in cases {
        let name = named(case);
        let row = format!("{name}, fewest ways that hold it");
        let fewest = case.fewest().map(|(ways, _)| f64::from(ways));
        findings.add_beside(ITEM, &row, "ways", fewest);
        let row = format!("{name}, windows that hold, the best allocation");
        let best = case.fixed.iter().map(AllocationOutcome::share).fold(0.0, f64::max);
        findings.add_beside(ITEM, &row, "percent", Some(100.0 * best));
    }
}

/// How often the margin rule meets objectives that some allocation can meet.
pub(super) fn margin_rule(cases: &[ObjectiveCase], findings: &mut Findings) {
    let attainable = || cases.iter().filter(|case| case.fewest().is_some());
    let met = attainable().filter(|case| case.margin.holds()).count();
    let case = "cases that some allocation can hold: held";
    findings.add_beside(ITEM, case, "count", Some(met as f64));
    let windows = |count: fn(&AllocationOutcome) -> usize| {
        attainable().map(|case| count(&case.margin)).sum::<usize>()
    };
    let share =
        100.0 * windows(|kept| kept.windows_met) as f64 / windows(|kept| kept.windows) as f64;
    let case = "windows that hold of all, where some allocation can hold it";
    findings.add_beside(ITEM, case, "percent", Some(share).filter(|share| share.is_finite()));
}

/// The results of each case under both rules.
pub(super) fn rules(cases: &[ObjectiveCase], findings: &mut Findings) {
    for case in cases {
        let name = named(case);
        for (rule, kept) in [("margin", &case.margin), ("published", &case.published)] {
            let row = format!("{name}, windows that hold, {rule}");
            findings.add_beside(ITEM, &row, "percent", Some(100.0 * kept.share()));
            let row = format!("{name}, ways in the mean, {rule}");
            findings.add_beside(ITEM, &row, "ways", Some(kept.ways));
            let row = format!("{name}, changes of ways, {rule}");
            findings.add_beside(ITEM, &row, "count", Some(kept.changes as f64));
            let row = format!("{name}, mcf's speed over that with the fewest, {rule}");
            let batch = case.fewest().map(|(_, best)| kept.batch / best.batch);
            findings.add_beside(ITEM, &row, "ratio", batch);
        }
        let row = format!("{name}, windows that hold, margin, from the beginning on");
        findings.add_beside(ITEM, &row, "percent", Some(100.0 * case.settling.share()));
        let row = format!("{name}, what the policy says");
        findings.add_text_beside(ITEM, &row, &case.margin.class);
    }
}
