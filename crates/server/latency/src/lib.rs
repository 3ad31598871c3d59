//! How soon services answer.
//!
//! A [`Spec`] names a service's source in a line of text, and opens it: a histogram in the
//! [`openmetrics`] format, [`redis`], or [`samples`] that programs write themselves.

mod bounded;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod histogram;
mod http;
pub mod openmetrics;
mod poll;
pub mod redis;
mod resp;
pub mod samples;
mod spec;
mod text;

use std::time::Duration;

use fairways_core::LatencyBin;

pub use samples::OpenError;
pub use spec::{Spec, SpecError};

/// The two bounds of a bucket: its requests took longer than the first, and no longer than the
/// second.
pub type Bounds = (Duration, Duration);

/// The latency of a request of which a histogram knows only that it took longer than its last
/// bound: the longest time that a journal can record (584 years).
pub const UNBOUNDED: Duration = Duration::from_nanos(u64::MAX);

/// How long a call waits for a server's answer, unless [set otherwise](Spec::open_with); a server
/// nearby takes no longer. For a server that has taken longer, a call returns the answer to the
/// call before, and does not wait until the server is faster.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// A source of one service's latencies.
pub trait Source: Send {
    /// The requests that were answered since the last call; `None` if that is unknown: the source
    /// was silent, or has started over.
    ///
    /// It takes no longer than the source's [patience](PATIENCE). The answer of a server that takes
    /// longer is late: it covers the time between the two calls before.
    fn answered(&mut self) -> Option<Vec<LatencyBin>>;
}
