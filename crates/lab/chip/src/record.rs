//! A job, and its results so far.

use crate::account::Account;
use crate::job::Job;
use crate::service::{Histogram, histogram};

/// A job, and its results so far.
#[derive(Clone, Debug)]
pub(crate) struct JobRecord {
    pub(crate) job: Job,
    /// The seconds that each of its runs took, on the policy's clock.
    pub(crate) completions: Vec<f64>,
    /// The counts of its runs that have ended.
    pub(crate) before: Account,
    /// The number of requests that it has answered, and the latencies that were not taken yet.
    pub(crate) answered: u64,
    pub(crate) latencies: Option<Box<Histogram<u64>>>,
}

impl JobRecord {
    pub(crate) fn new(job: Job) -> Self {
        let latencies = job.requests().map(|_| Box::new(histogram()));
        let (completions, before) = (Vec::new(), Account::default());
        Self { job, completions, before, answered: 0, latencies }
    }

    /// Records the answer to a request, after `nanos` ns on the policy's clock.
    pub(crate) fn answer(&mut self, nanos: u64) {
        self.answered += 1;
        if let Some(latencies) = &mut self.latencies {
            latencies.saturating_record(nanos);
        }
    }
}
