//! When nothing more is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::Time;

use crate::apps::Apps;
use crate::clock::Clock;
use crate::record::Record;

/// What somebody outside waits for. A time at which [`Chip::stop_at`](crate::Chip::stop_at) ends
/// everything cuts the turn under way, as a window that ends there would; these don't, so that the
/// chip goes through the turns that it would have gone through without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// The end of the first turn in which this time comes; `None`: it is not waited for.
    pub at: Option<Time>,
    /// The end of the turn in which these jobs together have run so many instructions, over all
    /// their runs and on the policies' scale of time: what
    /// [`Chip::counters`](crate::Chip::counters) shows.
    pub instructions: Vec<(Vec<usize>, u64)>,
}

/// When nothing more is told.
#[derive(Default)]
pub(crate) struct Stops {
    /// From this time on, on the policy's clock.
    pub(crate) at: Option<Time>,
    /// Once every job has run its instructions so many times.
    pub(crate) after: Option<usize>,
    /// Once a job has run so many instructions in all.
    pub(crate) at_instructions: Option<(usize, u64)>,
    /// Once this is true.
    pub(crate) when: Option<Arc<AtomicBool>>,
    /// What is waited for from outside, none of which cuts a turn.
    pub(crate) pause: Pause,
}

impl Stops {
    /// Whether any of them has come.
    pub(crate) fn have_come(&self, clock: Clock, jobs: &[Record], apps: &Apps) -> bool {
        let ran = |job: usize| apps.account(jobs, job).instructions;
        let have_completed = |times: usize| {
            let mut told = jobs.iter().filter(|record| !record.job.system);
            told.all(|record| record.completions.len() >= times)
        };
        self.when.as_ref().is_some_and(|when| when.load(Ordering::Relaxed))
            || self.at.is_some_and(|time| clock.not_after(time) <= clock.now)
            || self.after.is_some_and(have_completed)
            || self.at_instructions.is_some_and(|(job, count)| ran(job) >= count)
            || self.pause.at.is_some_and(|at| at <= clock.told(clock.now))
            || self.pause.instructions.iter().any(|(jobs, count)| {
                let all: u64 = jobs.iter().map(|&job| ran(job)).sum();
                all.saturating_mul(clock.times) >= *count
            })
    }
}
