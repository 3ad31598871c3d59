//! A histogram that a service tells over HTTP, in the text format of OpenMetrics or of Prometheus.
//!
//! Each call gets the page once and tells what the histogram grew by. A bucket's upper bound is told as the latency of all in it; of the
//! last one, `+Inf`, that is [`UNBOUNDED`](super::UNBOUNDED). Requests that took longer than its largest bound are known to have missed
//! any objective then, and not by how much.

use std::io;
use std::time::Duration;

use super::bounded::Trouble;
use super::histogram::Histogram;
use super::poll::{Ask, Poller};
use super::text::{self, Label};
use super::{Source, http};

/// Which histogram of which page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMetrics {
    /// The server, `host:port`.
    pub authority: String,
    /// The page's path, with its leading slash.
    pub path: String,
    /// The histogram's name, without `_bucket`.
    pub name: String,
    /// Labels that its series must have; those of several series are summed.
    pub labels: Vec<(String, String)>,
    /// What its bounds are in: a second by convention, which OpenMetrics demands, or a millisecond.
    pub unit: Duration,
}

impl OpenMetrics {
    /// Begins to ask; a call waits so long for an answer.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn open(self, patience: Duration) -> io::Result<Box<dyn Source>> {
        let name = format!("http://{}{} {}", self.authority, self.path, self.name);
        Ok(Box::new(Poller::new(name, patience, self)?))
    }
}

impl Ask for OpenMetrics {
    fn ask(&mut self) -> Result<Histogram, Trouble> {
        let page = http::get(&self.authority, &self.path)?;
        let labels: &[Label] = &self.labels;
        text::histogram(page, &self.name, labels, self.unit)
    }
}
