//! How soon services answer.

pub mod emulated;

use fairways_core::Answered;

/// A source of one service's latencies.
pub trait Source: Send {
    /// The requests that were answered since the last call; `None` if that is unknown: the source was silent, or has begun anew.
    fn answered(&mut self) -> Option<Vec<Answered>>;
}
