//! When the simulation stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::Time;

use crate::clock::Clock;
use crate::record::JobRecord;
use crate::running_programs::RunningPrograms;

/// A point at which a caller wants to regain control. Unlike
/// [`Chip::stop_at`](crate::Chip::stop_at), it does not cut the turn under way, so the chip's turns
/// are the same as without it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PausePoint {
    /// The end of the first turn in which this time comes; `None`: no such time.
    pub at: Option<Time>,
    /// The end of the turn in which these jobs together have run this many instructions, over all
    /// their runs and on the policies' scale, as in [`Chip::counters`](crate::Chip::counters).
    pub instructions: Vec<(Vec<usize>, u64)>,
}

/// When the simulation stops.
#[derive(Default)]
pub(crate) struct Stops {
    /// From this time on, on the policy's clock.
    pub(crate) at: Option<Time>,
    /// Once every job has completed this many runs.
    pub(crate) after: Option<usize>,
    /// Once a job has run this many instructions in all.
    pub(crate) at_instructions: Option<(usize, u64)>,
    /// Once this is true.
    pub(crate) when: Option<Arc<AtomicBool>>,
    /// The point that a caller waits for, which does not cut a turn.
    pub(crate) pause: PausePoint,
}

impl Stops {
    /// Whether any of these is reached.
    pub(crate) fn is_reached(
        &self,
        clock: Clock,
        jobs: &[JobRecord],
        apps: &RunningPrograms,
    ) -> bool {
        let mut reported = jobs.iter().filter(|record| !record.job.system);
        self.when.as_ref().is_some_and(|when| when.load(Ordering::Relaxed))
            || self.at.is_some_and(|time| clock.to_chip_rounded_down(time) <= clock.now)
            || self
                .after
                .is_some_and(|runs| reported.all(|record| record.completions.len() >= runs))
            || self
                .at_instructions
                .is_some_and(|(job, count)| apps.account(jobs, job).instructions >= count)
            || self.pause.at.is_some_and(|at| at <= clock.to_policy(clock.now))
            || self.pause.instructions.iter().any(|(group, count)| {
                let all: u64 = group.iter().map(|&job| apps.account(jobs, job).instructions).sum();
                all.saturating_mul(clock.scale) >= *count
            })
    }
}
