//! The cache-fair scheduler (Fedorova, Seltzer and Smith): its figures and numbers, on the chip.
//!
//! Four threads take turns on two single-threaded cores that share an L2 of 256 KB, which is the
//! last-level cache. A benchmark's variability is how much longer its segment takes beside heavy
//! co-runners than beside light ones.

pub(super) mod claims;
mod every;
mod numbers;
mod pairs;
mod plots;
mod schedules;
mod setup;
mod streams;

use fairways_chip::ChipError;

use super::programs::add_counterparts;
use super::{Findings, Ground};

pub use plots::Figures;
use setup::TABLE_2;

/// The parameters of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Whose programs run.
    pub ground: Ground,
    /// The factor by which everything is shorter than the policy assumes.
    pub time_scale: u32,
    /// Runs of each schedule, each with its own seed: threads come at other times and are placed
    /// elsewhere.
    pub runs: u64,
    /// Whether to run variants without a figure in the paper, too: the published form with
    /// unbounded extrapolation, with known fair miss rates, and on cores with several misses under
    /// way.
    pub variants: bool,
    /// The first seed of the runs.
    pub seed: u64,
}

impl Setting {
    /// The full repetition; if `quick`, on a shorter scale and without variants.
    #[must_use]
    pub fn new(ground: Ground, quick: bool) -> Self {
        if quick {
            Self { ground, time_scale: 8, runs: 1, variants: false, seed: 1 }
        } else {
            Self { ground, time_scale: 1, runs: 5, variants: true, seed: 1 }
        }
    }
}

/// The paper's experiments.
#[derive(Debug)]
pub struct CacheFair(Setting);

impl CacheFair {
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
        match self.0.ground {
            Ground::Models => {
                numbers::findings(&mut findings);
                progress("§3.1, §4.3", 0, 1);
                streams::findings(self.0, &mut findings)?;
            }
            // Profiles have no addresses, so banks are used equally, and programs are steady.
            Ground::Corpus => {
                add_counterparts(&TABLE_2.map(|(name, ..)| name), &mut findings);
                every::findings(self.0, &mut findings, progress)?;
            }
        }
        let pairs = pairs::run(self.0, progress)?;
        pairs::findings(&pairs, &mut findings);
        let schedules = schedules::run(self.0, progress)?;
        schedules.findings(self.0, &mut findings);
        if self.0.ground == Ground::Corpus {
            findings.mark_partial(|_| true);
        }
        Ok((findings, Figures { pairs, schedules }))
    }
}
