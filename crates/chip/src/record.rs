//! What is known of a job.

use crate::account::Account;
use crate::job::Job;
use crate::service::{Histogram, histogram};

/// What is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) job: Job,
    /// The seconds that each of its runs took, on the policy's clock.
    pub(crate) completions: Vec<f64>,
    /// What its runs that have ended have counted.
    pub(crate) before: Account,
    /// The requests that it has answered, and the latencies of those that nobody has taken.
    pub(crate) answered: u64,
    pub(crate) latencies: Option<Box<Histogram<u64>>>,
}

impl Record {
    pub(crate) fn new(job: Job) -> Self {
        let latencies = job.requests().map(|_| Box::new(histogram()));
        let (completions, before) = (Vec::new(), Account::default());
        Self { job, completions, before, answered: 0, latencies }
    }

    /// A request is answered, after so many nanoseconds on the policy's clock.
    pub(crate) fn answer(&mut self, nanos: u64) {
        self.answered += 1;
        if let Some(latencies) = &mut self.latencies {
            latencies.saturating_record(nanos);
        }
    }
}
