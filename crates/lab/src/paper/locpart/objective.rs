//! Whether the objective holds, where some allocation can hold it. No number of the paper's: a target of this project.
//!
//! Services run in an open loop beside the batch program, and the policy decides at its default interval, which is a
//! window; it counts if enough requests are answered in it. Allocations and policies are judged by the same windows.

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_core::Policy;
use rayon::prelude::*;

use super::baseline::Baseline;
use super::setup::{Bench, Run, asked, margin, published, steady};
use crate::paper::Findings;

/// The default interval (§III-C).
const PERIOD: Duration = Duration::from_millis(500);

/// Requests that a window needs to count (decision Locpart 5).
const ENOUGH: u64 = 100;

/// The share of windows in which an objective holds that is held.
const HELD: f64 = 0.99;

/// What came of an allocation, or of a policy's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// Windows that count, and those among them in which the objective held.
    windows: usize,
    held: usize,
    /// Of the batch program, instructions a second.
    pub(super) batch: f64,
    /// Of the service, in the mean over all windows.
    pub(super) ways: f64,
    /// How often they changed, and what the service was held to be in the end.
    changes: usize,
    class: &'static str,
}

impl Kept {
    /// After so many windows.
    fn of(run: &Run, slo: Duration, from: u32) -> Self {
        let from = from as usize;
        let service = &run.moments[0][from..];
        let enough = || service.iter().filter(|moment| moment.requests >= ENOUGH);
        let holds = |tail: Option<Duration>| tail.is_some_and(|tail| tail < slo);
        let changes = run.moments[0][from - 1..].windows(2);
        Self {
            windows: enough().count(),
            held: enough().filter(|moment| holds(moment.tail)).count(),
            batch: run.instructions(1, from),
            ways: service.iter().map(|moment| f64::from(moment.ways)).sum::<f64>()
                / service.len() as f64,
            changes: changes.filter(|pair| pair[0].ways != pair[1].ways).count(),
            class: service.last().map_or("", |moment| moment.class),
        }
    }

    /// Not a number where there are no windows that count.
    pub(super) fn share(&self) -> f64 {
        self.held as f64 / self.windows as f64
    }

    fn holds(&self) -> bool {
        self.share() >= HELD
    }
}

/// A service at a load, under every allocation and under both rules.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) load: f64,
    /// By the service's ways, from 1 on; the batch program has the rest.
    pub(super) fixed: Vec<Kept>,
    pub(super) margin: Kept,
    pub(super) published: Kept,
    /// Under the margin rule from the beginning on.
    settling: Kept,
}

/// How many windows policies have to settle, and how many are looked at after them.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// To settle.
    pub settling: u32,
    /// Looked at, of allocations and policies alike.
    pub judged: u32,
}

impl Case {
    /// Tries every allocation, and both rules.
    pub(super) fn run(
        bench: Bench,
        service: &Baseline,
        load: f64,
        Windows { settling, judged }: Windows,
    ) -> Result<Self, ChipError> {
        let slo = service.slo(service.open_tail);
        let job = asked(&bench.service(service.name, steady(service.open(load))), slo);
        let (batch, all) = (bench.batch(), bench.ways());
        let windows = settling + judged;
        let ruled = |policy: &mut dyn Policy| {
            bench.run(&[job.clone(), batch.clone()], policy, PERIOD, windows)
        };
        let run = |ways: u32| {
            if ways == 0 {
                return ruled(&mut margin(PERIOD));
            }
            if ways == all {
                return ruled(&mut published(PERIOD));
            }
            let jobs = [(job.clone(), ways), (batch.clone(), all - ways)];
            bench.fixed(&jobs, PERIOD, windows)
        };
        let each = |ways| {
            let run = run(ways)?;
            Ok((Kept::of(&run, slo, settling), Kept::of(&run, slo, 1)))
        };
        let mut kept: Vec<(Kept, Kept)> =
            (0..=all).into_par_iter().map(each).collect::<Result<_, ChipError>>()?;
        let (published, _) = kept.pop().unwrap_or_default();
        let (margin, settling) = kept.remove(0);
        let fixed = kept.into_iter().map(|(kept, _)| kept).collect();
        Ok(Self { name: service.name, load, fixed, margin, published, settling })
    }

    /// The fewest ways that hold the objective with, and what comes of them.
    pub(super) fn fewest(&self) -> Option<(u32, &Kept)> {
        (1..).zip(&self.fixed).find(|(_, kept)| kept.holds())
    }
}

pub(super) fn findings(cases: &[Case], findings: &mut Findings) {
    const ITEM: &str = "Objective";
    let attainable = || cases.iter().filter(|case| case.fewest().is_some());
    let held = attainable().filter(|case| case.margin.holds()).count();
    let said = |case: &&Case| case.margin.class == "unattainable";
    let none = || cases.iter().filter(|case| case.fewest().is_none());
    let mut text = |case: &str, found: String| findings.add_text(ITEM, case, found);
    text(
        "cases that some allocation can hold: held",
        format!("{held} of {}", attainable().count()),
    );
    text(
        "cases that none can: said so",
        format!("{} of {}", none().filter(said).count(), none().count()),
    );
    let windows =
        |of: &dyn Fn(&Kept) -> usize| attainable().map(|case| of(&case.margin)).sum::<usize>();
    let share = 100.0 * windows(&|kept| kept.held) as f64 / windows(&|kept| kept.windows) as f64;
    let case = "windows that hold of all, where some allocation can hold it";
    findings.add_beside(ITEM, case, "percent", Some(share).filter(|share| share.is_finite()));
    for case in cases {
        let name = format!("{} at {:.0} %", case.name, 100.0 * case.load);
        let mut beside = |what: &str, unit, value| {
            findings.add_beside(ITEM, &format!("{name}, {what}"), unit, value);
        };
        let fewest = case.fewest();
        beside("fewest ways that hold it", "ways", fewest.map(|(ways, _)| f64::from(ways)));
        let best = case.fixed.iter().map(Kept::share).fold(0.0, f64::max);
        beside("windows that hold, the best allocation", "percent", Some(100.0 * best));
        for (rule, kept) in [("margin", &case.margin), ("published", &case.published)] {
            beside(&format!("windows that hold, {rule}"), "percent", Some(100.0 * kept.share()));
            beside(&format!("ways in the mean, {rule}"), "ways", Some(kept.ways));
            beside(&format!("changes of ways, {rule}"), "count", Some(kept.changes as f64));
            let batch = fewest.map(|(_, best)| kept.batch / best.batch);
            beside(&format!("mcf's speed over that with the fewest, {rule}"), "ratio", batch);
        }
        let from_the_start = Some(100.0 * case.settling.share());
        beside("windows that hold, margin, from the beginning on", "percent", from_the_start);
        let case_of = format!("{name}, what the policy says");
        findings.add_text(ITEM, &case_of, case.margin.class);
    }
}
