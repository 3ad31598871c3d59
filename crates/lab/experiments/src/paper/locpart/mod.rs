//! Locpart (Qin): its figures and numbers, on the chip.
//!
//! A service and mcf share the LLC of a Xeon E5-2630 v4, with everything scaled down in size and
//! time. Where the paper measures throughput, services run in a closed loop; for latency, in an
//! open one (decision Locpart 3).

mod baseline;
pub(super) mod claims;
mod divisions;
mod intervals;
mod numbers;
mod objective;
mod performance;
mod plots;
mod sensitivity;
mod setup;
mod timelines;

#[cfg(test)]
mod tests;

use std::time::Duration;

use fairways_chip::ChipError;
use rayon::prelude::*;

use super::{Findings, Ground};
use baseline::Baseline;
use intervals::Curve;
use objective::ObjectiveCase;
use performance::ServiceMix;
use sensitivity::Sensitivity;
use setup::{LocpartBench, Scale, TailBench};

pub use objective::Windows;
pub use plots::Figures;

/// The parameters of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The factor by which the cache, programs' memory and all times are smaller, where throughput
    /// is measured.
    pub by: u32,
    /// The same factor where latencies are measured: much smaller requests would make only a
    /// handful of references each.
    pub tails_by: u32,
    /// The same factor for sphinx, whose requests take a second each.
    pub slow_by: u32,
    /// Requests of a tail.
    pub requests: u32,
    /// Requests of sphinx's tail.
    pub slow_requests: u32,
    /// Seconds of each scenario of Figures 4 to 6, on the policy's clock; six times as many for
    /// sphinx.
    pub seconds: u32,
    /// Windows of each allocation that is tried for an objective.
    pub windows: Windows,
    /// Whether to run more: other loads than 60 %, every division, and an experiment at full size.
    pub more: bool,
    /// The first seed.
    pub seed: u64,
    /// The number of seeds; values are the first seed's.
    pub seeds: u64,
    /// What runs as the batch program.
    pub ground: Ground,
}

impl Setting {
    /// The full repetition; if `quick`, smaller and shorter.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        let all = Self {
            by: 320,
            tails_by: 160,
            slow_by: 2560,
            requests: 5000,
            slow_requests: 1100,
            seconds: 8,
            windows: Windows { settling: 160, judged: 300 },
            more: true,
            seed: 1,
            seeds: 5,
            ground: Ground::Models,
        };
        if quick {
            Self {
                requests: 300,
                slow_requests: 200,
                seconds: 4,
                windows: Windows { settling: 60, judged: 40 },
                more: false,
                seeds: 1,
                ..all
            }
        } else {
            all
        }
    }

    /// The scale for a service's tails, or for its throughput if not `tails`.
    fn scale(&self, service: TailBench, seed: u64, tails: bool) -> Scale {
        let (steps, second) = (self.seconds, Duration::from_secs(1));
        if service.is_slow() {
            let bench = LocpartBench::new(self.slow_by, seed, self.ground);
            return Scale {
                bench,
                requests: self.slow_requests,
                tails: 1,
                step: 6 * second,
                steps,
            };
        }
        let bench =
            LocpartBench::new(if tails { self.tails_by } else { self.by }, seed, self.ground);
        Scale { bench, requests: self.requests, tails: 2, step: second, steps }
    }

    fn seeds(&self) -> Vec<u64> {
        (0..self.seeds).map(|number| self.seed + number).collect()
    }
}

/// Is called with the current experiment, the steps done, and all steps.
type Progress<'a> = &'a (dyn Fn(&str, usize, usize) + Sync);

/// The results of one seed.
#[derive(Debug)]
struct SeedResults {
    services: Vec<Baseline>,
    sensitivity: Sensitivity,
    mixes: Vec<ServiceMix>,
    curves: Vec<Curve>,
    findings: Findings,
}

/// The paper's experiments.
#[derive(Debug)]
pub struct Locpart(Setting);

impl Locpart {
    /// The experiments.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self(setting)
    }

    /// Runs all experiments. `progress` is called with the current experiment, the steps done, and
    /// all steps.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run(&self, progress: Progress<'_>) -> Result<(Findings, Figures), ChipError> {
        let Self(setting) = self;
        let seeds = setting.seeds();
        let repeated = seeds.par_iter().map(|&seed| self.repeat(seed, progress));
        let repeated: Vec<SeedResults> = repeated.collect::<Result<_, ChipError>>()?;
        let mut findings = with_seeds_noted(repeated.iter().map(|one| &one.findings));
        let first = repeated.into_iter().next().expect("a seed");
        numbers::findings(silo(&first.services), &mut findings);
        if setting.more {
            progress("every division", 0, 1);
            self.divide(&first.services, &mut findings)?;
            progress("silo at its own size", 0, 1);
            let full = Scale {
                bench: LocpartBench::new(1, setting.seed, setting.ground),
                requests: 1000,
                step: Duration::from_millis(500),
                steps: 4,
                ..setting.scale(TailBench::Silo, setting.seed, false)
            };
            let mixed = performance::mix(silo(&first.services), full)?;
            performance::beside(&mixed, &mut findings);
        } else {
            findings.0.retain(is_quick);
        }
        let cases = self.try_objectives(&first.services, &mut findings, progress)?;
        progress("timelines", 0, 1);
        let timelines = timelines::run(
            LocpartBench::new(setting.tails_by, setting.seed, setting.ground),
            silo(&first.services),
        )?;
        let SeedResults { sensitivity, mixes, curves, .. } = first;
        Ok((findings, Figures { sensitivity, mixes, curves, cases, timelines }))
    }

    /// Runs those experiments in which the batch program has a part, Figures 1 and 4 to 6, with
    /// its living counterpart.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run_on_corpus(&self, progress: Progress<'_>) -> Result<Findings, ChipError> {
        let corpus = Self(Setting { ground: Ground::Corpus, ..self.0 });
        let seeds = self.0.seeds();
        let repeated = seeds.par_iter().map(|&seed| -> Result<Findings, ChipError> {
            let mut findings = Findings::default();
            let services = corpus.baselines(seed, progress)?;
            let bench = LocpartBench::new(corpus.0.by, seed, Ground::Corpus);
            let speeds = sensitivity::batch_speeds(bench, BATCH_SPAN)?;
            sensitivity::batch_findings(&speeds, &mut findings);
            corpus.beside_batch(&services, seed, &mut findings, progress)?;
            Ok(findings)
        });
        let repeated: Vec<Findings> = repeated.collect::<Result<_, ChipError>>()?;
        let mut findings = with_seeds_noted(repeated.iter());
        // The services are models.
        findings.mark_partial(|found| found.item != "Figure 1");
        if !self.0.more {
            findings.0.retain(is_quick);
        }
        Ok(findings)
    }

    /// Repeats the paper's figures with one seed.
    fn repeat(&self, seed: u64, progress: Progress<'_>) -> Result<SeedResults, ChipError> {
        let Self(setting) = self;
        let mut findings = Findings::default();
        let services = self.baselines(seed, progress)?;
        progress(&format!("seed {seed}: Figure 1"), 1, 4);
        let bench = LocpartBench::new(setting.by, seed, setting.ground);
        let scaled = self.scaled(&services, seed, true);
        let sensitivity = Sensitivity::run(bench, &scaled, BATCH_SPAN)?;
        sensitivity.findings(&mut findings);
        let (mixes, curves) = self.beside_batch(&services, seed, &mut findings, progress)?;
        Ok(SeedResults { services, sensitivity, mixes, curves, findings })
    }

    /// Each service alone.
    fn baselines(&self, seed: u64, progress: Progress<'_>) -> Result<Vec<Baseline>, ChipError> {
        progress(&format!("seed {seed}: each by itself"), 0, 4);
        TailBench::ALL
            .into_par_iter()
            .map(|service| Baseline::measure(self.0.scale(service, seed, true), service))
            .collect()
    }

    fn scaled(&self, services: &[Baseline], seed: u64, tails: bool) -> Vec<(Baseline, Scale)> {
        services.iter().map(|one| (*one, self.0.scale(one.which, seed, tails))).collect()
    }

    /// Figures 4 to 6: services beside the batch program.
    fn beside_batch(
        &self,
        services: &[Baseline],
        seed: u64,
        findings: &mut Findings,
        progress: Progress<'_>,
    ) -> Result<(Vec<ServiceMix>, Vec<Curve>), ChipError> {
        progress(&format!("seed {seed}: Figures 4 and 5"), 2, 4);
        let one = self.scaled(services, seed, false);
        let mixes = performance::run(&one)?;
        performance::claims(&mixes, findings);
        performance::details("one of each", &mixes, findings);
        let four = one.iter().map(|(service, scale)| (*service, scale.with_threads(THREADS)));
        let four = performance::run(&four.collect::<Vec<_>>())?;
        performance::details("four of each", &four, findings);
        performance::over_one(THREADS, (&mixes, &four), findings);
        progress(&format!("seed {seed}: Figure 6"), 3, 4);
        let curves: Vec<Curve> = one
            .par_iter()
            .map(|(service, scale)| intervals::run(service, *scale, service.slo()))
            .collect::<Result<_, ChipError>>()?;
        intervals::findings(&curves, findings);
        for (service, scale) in one.iter().filter(|(service, _)| service.which == TailBench::Sphinx)
        {
            for steps in [scale.steps.min(SHORT), scale.steps] {
                let scale = Scale { steps, ..*scale };
                intervals::missed(service, scale, findings)?;
            }
        }
        Ok((mixes, curves))
    }

    /// Runs every division of the cache between one of each, and between four of each.
    fn divide(&self, services: &[Baseline], findings: &mut Findings) -> Result<(), ChipError> {
        let Self(setting) = self;
        for (numbers, threads) in [("one of each", 1), ("four of each", THREADS)] {
            let scaled = services.iter().map(|service| {
                let scale = setting.scale(service.which, setting.seed, false);
                (*service, Scale { steps: scale.steps.min(4), ..scale.with_threads(threads) })
            });
            let ends = divisions::run(&scaled.collect::<Vec<_>>())?;
            divisions::findings(numbers, &ends, findings);
        }
        Ok(())
    }

    /// Whether objectives are met, with the first seed.
    fn try_objectives(
        &self,
        services: &[Baseline],
        findings: &mut Findings,
        progress: Progress<'_>,
    ) -> Result<Vec<ObjectiveCase>, ChipError> {
        let Self(setting) = self;
        let (tried, windows) = (self.objective_cases(services), setting.windows);
        progress("the objective", 0, 1);
        let bench = LocpartBench::new(setting.tails_by, setting.seed, setting.ground);
        let cases: Vec<ObjectiveCase> = tried
            .par_iter()
            .map(|(service, load)| ObjectiveCase::run(bench, service, *load, windows))
            .collect::<Result<_, ChipError>>()?;
        objective::allocations(&cases, findings);
        objective::margin_rule(&cases, findings);
        objective::rules(&cases, findings);
        Ok(cases)
    }

    /// The services and loads whose objectives are tried. A slow one answers too few requests in a
    /// window.
    fn objective_cases(&self, services: &[Baseline]) -> Vec<(Baseline, f64)> {
        let fast = || services.iter().filter(|one| !one.which.is_slow()).copied();
        let is_masstree = |one: &Baseline| one.which == TailBench::Masstree;
        let mut tried: Vec<(Baseline, f64)> = Vec::new();
        if self.0.more {
            tried.extend(fast().map(|one| (one, 0.4)));
            for load in [0.3, 0.5] {
                let fastest = fast().filter(|one| is_masstree(one) || one.which == TailBench::Silo);
                tried.extend(fastest.map(|one| (one, load)));
            }
            tried.extend(fast().filter(|one| !is_masstree(one)).map(|one| (one, 0.6)));
        } else {
            tried.extend(fast().filter(is_masstree).map(|one| (one, 0.4)));
        }
        tried
    }
}

/// Whether a quick run can measure it: tails need many requests, and intervals long runs.
fn is_quick(finding: &super::Finding) -> bool {
    match finding.item.as_str() {
        "Figure 1" => finding.case == claims::MCF_WITH_1_WAY.case,
        item => !["Figure 1(d)", "Figure 6", "§IV-B"].contains(&item),
    }
}

/// How long the batch program runs alone with each number of ways.
const BATCH_SPAN: Duration = Duration::from_secs(2);

/// Steps of a short run of sphinx: 24 s, about as many requests as public copies of its benchmark
/// run.
const SHORT: u32 = 4;

/// Threads of a service, and copies of the batch program, beside one of each: eight of the paper's
/// ten cores.
const THREADS: u32 = 4;

fn silo(services: &[Baseline]) -> &Baseline {
    services.iter().find(|one| one.which == TailBench::Silo).expect("one of the services")
}

/// The findings of the first seed, with the values of all seeds noted if there are several.
fn with_seeds_noted<'a>(seeds: impl Iterator<Item = &'a Findings>) -> Findings {
    let seeds: Vec<Findings> = seeds.cloned().collect();
    let mut findings = seeds.first().cloned().unwrap_or_default();
    if seeds.len() > 1 {
        findings.note_seeds(&seeds);
    }
    findings
}
