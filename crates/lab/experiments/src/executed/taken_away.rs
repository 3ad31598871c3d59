//! A mix without one of its programs.

use fairways_chip::{ChipError, Job, Settings};
use fairways_core::Policy;

use super::compare::{ChipProtocol, run_together};
use super::measure::SoloRun;

/// Programs that run together, and alone.
pub(crate) struct Mixed<'a> {
    pub(crate) settings: Settings,
    pub(crate) jobs: &'a [Job],
    /// Each program alone, with the whole cache.
    pub(crate) alone: Vec<SoloRun>,
    pub(crate) protocol: &'a ChipProtocol,
}

impl Mixed<'_> {
    /// The slowdown of each program beside the others that are not `gone`; 1 for that.
    ///
    /// # Errors
    /// If the chip is not possible, or it has too few cores: [`ChipError`].
    pub(crate) fn slowdowns(
        &self,
        gone: Option<usize>,
        policy: &mut dyn Policy,
    ) -> Result<Vec<f64>, ChipError> {
        let left = (0..self.jobs.len()).filter(|&place| Some(place) != gone);
        let (jobs, alone): (Vec<Job>, Vec<SoloRun>) =
            left.map(|place| (self.jobs[place].clone(), self.alone[place].clone())).unzip();
        let found = run_together(self.settings, jobs.into_iter(), self.protocol, &alone, policy)?;
        let mut slowdowns = found.slowdowns;
        if let Some(gone) = gone {
            slowdowns.insert(gone, 1.0);
        }
        Ok(slowdowns)
    }
}
