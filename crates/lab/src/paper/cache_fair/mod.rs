//! The cache-fair scheduler (Fedorova, Seltzer and Smith): its figures and numbers, on the chip.
//!
//! Four threads take turns on two single-threaded cores that share an L2 of 256 KB, which is the last-level
//! cache. A benchmark's variability is how much longer its segment takes beside heavy co-runners than beside light
//! ones.

mod numbers;
mod pairs;
mod plots;
mod schedules;
mod setup;
mod streams;

use fairways_chip::ChipError;

use super::Findings;

pub use plots::Figures;

/// How the paper's experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many times shorter everything takes than the policy is told.
    pub time_scale: u32,
    /// Runs of each schedule, with a seed each: threads come at other times and lie elsewhere.
    pub runs: u64,
    /// Whether what the paper has no figure of is run, too: the published form without a bound on what is
    /// extrapolated, with fair miss rates that are known, and on cores with several misses under way.
    pub variants: bool,
    /// The seed of everything; the first of the runs'.
    pub seed: u64,
}

impl Setting {
    /// All of it; if `quick`, on a shorter scale, and less of it.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        if quick {
            Self { time_scale: 8, runs: 1, variants: false, seed: 1 }
        } else {
            Self { time_scale: 1, runs: 5, variants: true, seed: 1 }
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

    /// Runs them all. `told` hears what is at hand, how much of it is done, and how much there is.
    ///
    /// # Errors
    /// If there can't be such a chip.
    pub fn run(
        &self,
        told: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, Figures), ChipError> {
        let mut findings = Findings::default();
        numbers::findings(&mut findings);
        told("§3.1, §4.3", 0, 1);
        streams::findings(self.0, &mut findings)?;
        let pairs = pairs::run(self.0, told)?;
        pairs::findings(&pairs, &mut findings);
        let schedules = schedules::run(self.0, told)?;
        schedules.findings(self.0, &mut findings);
        Ok((findings, Figures { pairs, schedules }))
    }
}
