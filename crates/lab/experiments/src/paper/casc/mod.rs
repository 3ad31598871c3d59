//! CASC (Fedorova, Seltzer, Small and Nussbaum): its figures and numbers, on the chip.
//!
//! Eighteen threads take turns on eight hardware threads of two cores; the L2, which is the
//! last-level cache, has 48 to 768 KB. Throughput is instructions per second, a miss rate misses
//! per 100 references.

mod buckets;
pub(super) mod claims;
mod latency;
mod noise;
mod numbers;
mod overhead;
mod performance;
mod plots;
mod setup;
mod stores;

use fairways_chip::ChipError;
use fairways_core::Q32;
use fairways_policy::casc::Parameters;

use super::programs::add_counterparts;
use super::{Findings, Ground};
use performance::Load;
use setup::{FRUGAL, PROGRAMS};

pub use plots::Figures;

/// A factor of 1.05, in units of 2^-32.
const FINER: u64 = (1 << 32) / 20 * 21;

/// The parameters of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Whose programs run.
    pub ground: Ground,
    /// The factor by which everything is shorter than CASC assumes.
    pub time_scale: u32,
    /// Runs of each experiment; in each, threads come at other times and are placed elsewhere.
    pub runs: u64,
    /// The seconds of each run that count, on CASC's clock.
    pub seconds: f64,
    /// Whether to repeat it with `MAX_PCMR`s and a threshold that change in smaller steps; with
    /// Berkeley DB in place of twolf's model; and with real programs' stores counted.
    pub variants: bool,
    /// The seed of everything.
    pub seed: u64,
}

impl Setting {
    /// The full repetition; if `quick`, on a shorter scale and without variants.
    #[must_use]
    pub fn new(ground: Ground, quick: bool) -> Self {
        if quick {
            Self { ground, time_scale: 20, runs: 1, seconds: 2.0, variants: false, seed: 1 }
        } else {
            Self { ground, time_scale: 1, runs: 5, seconds: 2.0, variants: true, seed: 1 }
        }
    }
}

/// The paper's experiments.
#[derive(Debug)]
pub struct Casc(Setting);

impl Casc {
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
    pub fn run(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let mut findings = Findings::default();
        let (l1, noise) = match self.0.ground {
            Ground::Models => self.without_real_programs(&mut findings, progress)?,
            Ground::Corpus => {
                add_counterparts(&PROGRAMS, &mut findings);
                (Vec::new(), Vec::new())
            }
        };
        progress("Figures 1 to 3", 2, 3);
        let l2 = latency::l2(self.0, &mut findings)?;
        let published = Parameters::default();
        let main = Load { programs: PROGRAMS, parameters: published, counts_stores: false };
        let performance = performance::run(self.0, main, None, "Figures 5 to 7", progress)?;
        performance.findings(self.0, &mut findings);
        if self.0.variants {
            let setting = Setting { runs: 1, ..self.0 };
            let (unit, threshold_factor) = (Q32::ratio(1, 16), Q32::from_raw(FINER));
            let parameters = Parameters { unit, threshold_factor, ..published };
            let finer = Load { parameters, ..main };
            let what = "Figures 5 and 6 in finer steps";
            let stock = performance.only_run(0);
            performance::run(setting, finer, Some(&stock), what, progress)?
                .beside(what, &mut findings);
            // What models and profiles each lack.
            let (what, other, stock) = match self.0.ground {
                Ground::Models => {
                    ("Figures 5 and 6 without twolf", Load { programs: FRUGAL, ..main }, None)
                }
                Ground::Corpus => (
                    "Figures 5 and 6 with stores counted",
                    Load { counts_stores: true, ..main },
                    Some(&stock),
                ),
            };
            performance::run(setting, other, stock, what, progress)?.beside(what, &mut findings);
        }
        progress("§5.3.4", 0, 1);
        overhead::findings(self.0, &mut findings)?;
        if self.0.ground == Ground::Corpus {
            findings.mark_partial(|_| true);
        }
        Ok((findings, Figures { l1, l2, noise, performance }))
    }

    /// Adds what is arithmetic, what needs no programs, and what needs other L1s than profiles
    /// were measured behind: the points of Figure 2, and of noise.
    fn without_real_programs(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Vec<latency::Point>, Vec<noise::Point>), ChipError> {
        numbers::findings(findings);
        buckets::findings(findings);
        let noise = noise::curve(findings);
        progress("Figures 1 to 3", 0, 3);
        latency::hidden(findings)?;
        progress("Figures 1 to 3", 1, 3);
        Ok((latency::l1(self.0.seed, findings)?, noise))
    }
}
