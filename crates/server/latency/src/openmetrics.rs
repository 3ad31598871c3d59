//! A histogram that a service serves over HTTP, in the text format of OpenMetrics or of Prometheus.
//!
//! Each call gets the page once and returns the histogram's growth. Within a bucket, latencies are
//! assumed to be even; those of the last one, `+Inf`, are [`UNBOUNDED`](super::UNBOUNDED): they
//! missed any objective, and it is not known by how much.

use std::io;
use std::time::Duration;

use super::Bounds;
use super::bounded::Trouble;
use super::histogram::Histogram;
use super::poll::{HistogramServer, Poller};
use super::text::{self, Label};
use super::{Source, http};

/// Names a histogram of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMetrics {
    /// The server, `host:port`.
    pub authority: String,
    /// The page's path, with its leading slash.
    pub path: String,
    /// The histogram's name, without `_bucket`.
    pub name: String,
    /// Labels that its series must have; several series are summed.
    pub labels: Vec<(String, String)>,
    /// The unit of its bounds: a second by convention, which OpenMetrics demands, or a millisecond.
    pub unit: Duration,
}

impl OpenMetrics {
    /// Begins to poll the server; a call waits at most `patience` for an answer.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn open(self, patience: Duration) -> io::Result<Box<dyn Source>> {
        let name = format!("http://{}{} {}", self.authority, self.path, self.name);
        Ok(Box::new(Poller::new(name, patience, self)?))
    }
}

impl OpenMetrics {
    /// Asks the server once for the bucket that a latency is in: its two bounds, the upper one
    /// [`UNBOUNDED`](super::UNBOUNDED) if the latency is longer than the last bound. `None` if it
    /// has no such bucket.
    ///
    /// # Errors
    /// Why there is no answer, in one line; it takes up to 10 s.
    pub(super) fn around(&self, latency: Duration) -> Result<Option<Bounds>, String> {
        let histogram = self.clone().fetch().map_err(|trouble| trouble.to_string())?;
        Ok(histogram.around(latency))
    }
}

impl HistogramServer for OpenMetrics {
    fn fetch(&mut self) -> Result<Histogram, Trouble> {
        let page = http::get(&self.authority, &self.path)?;
        let labels: &[Label] = &self.labels;
        text::histogram(page, &self.name, labels, self.unit)
    }
}
