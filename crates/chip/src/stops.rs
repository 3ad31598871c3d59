//! Stops that leave the turns as they are.

use fairways_core::Time;

use crate::machine::Chip;

/// What somebody outside waits for. A time at which [`Chip::stop_at`] ends everything cuts the turn under way, as a window
/// that ends there would; these don't, so that the chip goes through the turns that it would have gone through without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// The end of the first turn in which this time comes; `None`: it is not waited for.
    pub at: Option<Time>,
    /// The end of the turn in which these jobs together have run so many instructions, over all their runs and on the
    /// policies' scale of time: what [`Chip::counters`] shows.
    pub instructions: Vec<(Vec<usize>, u64)>,
}

impl Chip {
    /// Nothing more is told once one of these has come, until it is called again.
    pub fn pause_at(&mut self, pause: Pause) {
        self.pause = pause;
    }

    pub(crate) fn is_paused(&self) -> bool {
        let ran = |jobs: &[usize]| {
            let each = jobs.iter().map(|&job| self.account(job).instructions);
            each.sum::<u64>().saturating_mul(u64::from(self.settings.time_scale))
        };
        let Pause { at, instructions } = &self.pause;
        at.is_some_and(|at| at <= self.told(self.now))
            || instructions.iter().any(|(jobs, count)| ran(jobs) >= *count)
    }
}
