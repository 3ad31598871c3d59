//! What a plan has to keep to.

use super::objective::Outcome;

/// The limits of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most clusters.
    pub(crate) clusters: usize,
    /// The ways of the cache.
    pub(crate) ways: u32,
    /// The fewest ways of a cluster.
    pub(crate) least_ways: u32,
    /// The most divisions to try; after that, the best so far is used.
    pub(crate) trials: u32,
    /// How the programs on other caches fare: it counts in every outcome.
    pub(crate) elsewhere: Outcome,
}
