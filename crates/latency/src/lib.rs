//! How soon services answer.
//!
//! A [`Spec`] names a service's source in a line of text, and opens it: a histogram in the [`openmetrics`] format, [`redis`], or [`samples`] that
//! programs write themselves.

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
pub use spec::{Bounds, Spec, SpecError};

/// How long took a request of which a histogram says only that it took longer than its last bound: the longest time that a journal holds
/// (584 years).
pub const UNBOUNDED: Duration = Duration::from_nanos(u64::MAX);

/// How long a call waits for a server's answer, unless [told otherwise](Spec::open_with): one that is near takes no longer. Of a server
/// that has taken longer, calls tell what it answered to the call before, and wait no more until it is faster.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// A source of one service's latencies.
pub trait Source: Send {
    /// The requests that were answered since the last call; `None` if that is unknown: the source was silent, or has begun anew.
    ///
    /// It takes no longer than the source's [patience](PATIENCE). Of a server that takes longer, the answer is late: of the time between
    /// the two calls before.
    fn answered(&mut self) -> Option<Vec<LatencyBin>>;
}
