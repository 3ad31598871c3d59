//! Locpart (Qin): its figures and numbers, on the chip.
//!
//! A service and mcf share the LLC of a Xeon E5-2630 v4, of which everything is so many times smaller and
//! shorter. Where the paper measures throughput, services run in a closed loop; for latency, in an open one (decision
//! Locpart 3).

mod baseline;
mod intervals;
mod numbers;
mod objective;
mod performance;
mod plots;
mod sensitivity;
mod setup;
mod timelines;

use std::time::Duration;

use fairways_chip::ChipError;
use rayon::prelude::*;

use super::Findings;
use baseline::Baseline;
use objective::Case;
use performance::{Mixed, Span};
use sensitivity::Sensitivity;
use setup::{Bench, SERVICES};

pub use objective::Windows;
pub use plots::Figures;

/// How the paper's experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// So many times smaller is the cache, and what programs keep in it, and so many times shorter takes everything.
    pub by: u32,
    /// Requests of a tail; a fiftieth of sphinx's, which take a second.
    pub requests: u32,
    /// Seconds of each scenario of Figures 4 to 6, on the policy's clock; six times as many of sphinx's.
    pub seconds: u32,
    /// Windows of each allocation that is tried for an objective.
    pub windows: Windows,
    /// So many times smaller is everything where objectives are tried.
    pub objective_by: u32,
    /// Whether other loads than 60 % are tried, and an experiment at its own size.
    pub more: bool,
    /// The seed of everything.
    pub seed: u64,
}

impl Setting {
    /// All of it; if `quick`, smaller, and less of it.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        if quick {
            Self {
                by: 160,
                requests: 300,
                seconds: 4,
                windows: Windows { settling: 60, judged: 40 },
                objective_by: 160,
                more: false,
                seed: 1,
            }
        } else {
            Self {
                by: 20,
                requests: 5000,
                seconds: 12,
                windows: Windows { settling: 160, judged: 300 },
                objective_by: 160,
                more: true,
                seed: 1,
            }
        }
    }

    /// Requests of a service's tail.
    fn requests_of(&self, name: &str) -> u32 {
        if name == "sphinx" { self.requests / 50 } else { self.requests }
    }

    fn span(&self, name: &str) -> Span {
        let seconds = if name == "sphinx" { 6 } else { 1 };
        Span { step: Duration::from_secs(seconds), steps: self.seconds }
    }
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

    /// Runs them all. `told` hears what is at hand, how much of it is done, and how much there is.
    ///
    /// # Errors
    /// If there can't be such a chip.
    pub fn run(
        &self,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let Self(setting) = self;
        let bench = Bench::new(setting.by, setting.seed);
        let mut findings = Findings::default();
        let each = |what: &str,
                    services: &[Baseline],
                    of: &mut dyn FnMut(&Baseline) -> Result<(), ChipError>| {
            services.iter().enumerate().try_for_each(|(done, service)| {
                told(what, done, services.len());
                of(service)
            })
        };
        told("each by itself", 0, 1);
        let measure = |name| Baseline::measure(bench, name, setting.requests_of(name));
        let services: Vec<Baseline> =
            SERVICES.into_par_iter().map(measure).collect::<Result<_, ChipError>>()?;
        let silo = services[SERVICES.iter().position(|name| *name == "silo").unwrap_or(0)];
        numbers::findings(&silo, &mut findings);
        told("Figure 1", 0, 1);
        let with: Vec<(Baseline, u32)> =
            services.iter().map(|one| (*one, setting.requests_of(one.name))).collect();
        let sensitivity = Sensitivity::run(bench, &with, Duration::from_secs(2))?;
        sensitivity.findings(&mut findings);
        let mut mixes: Vec<Mixed> = Vec::new();
        each("Figures 4 and 5", &services, &mut |one| {
            mixes.push(performance::mix(bench, one, setting.span(one.name))?);
            Ok(())
        })?;
        performance::findings(&mixes, &mut findings);
        told("four of each", 0, 1);
        performance::copies(bench, &services, setting.span("silo"), &mut findings)?;
        let mut curves = Vec::new();
        each("Figure 6", &services, &mut |one| {
            curves.push(intervals::run(bench, one, setting.span(one.name))?);
            Ok(())
        })?;
        intervals::findings(&curves, &mut findings);
        let mut cases = Vec::new();
        let smaller = Bench::new(setting.objective_by, setting.seed);
        let tried = self.tried(&services);
        for (done, (service, load)) in tried.iter().enumerate() {
            told("the objective", done, tried.len());
            cases.push(Case::run(smaller, service, *load, setting.windows)?);
        }
        objective::findings(&cases, &mut findings);
        told("timelines", 0, 1);
        let timelines = timelines::run(bench, &silo)?;
        if setting.more {
            told("silo at its own size", 0, 1);
            let full = Bench::new(1, setting.seed);
            let span = Span { step: Duration::from_millis(500), steps: 6 };
            performance::beside(&performance::mix(full, &silo, span)?, &mut findings);
        }
        Ok((findings, Figures { sensitivity, mixes, curves, cases, timelines }))
    }

    /// Services of which an objective is tried to be held, and at which load. Sphinx answers too few requests in any
    /// window.
    fn tried(&self, services: &[Baseline]) -> Vec<(Baseline, f64)> {
        let fast = || services.iter().filter(|one| one.name != "sphinx").copied();
        let mut tried: Vec<(Baseline, f64)> = Vec::new();
        let fastest = || fast().filter(|one| one.name == "silo" || one.name == "masstree");
        if self.0.more {
            tried.extend(fast().map(|one| (one, 0.4)));
            for load in [0.3, 0.5] {
                tried.extend(fastest().map(|one| (one, load)));
            }
            tried.extend(fast().filter(|one| one.name != "masstree").map(|one| (one, 0.6)));
        } else {
            tried.extend(fastest().filter(|one| one.name == "masstree").map(|one| (one, 0.4)));
        }
        tried
    }
}
