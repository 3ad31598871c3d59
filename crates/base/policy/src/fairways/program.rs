//! A program as the search sees it.

use fairways_core::Curve;

use super::objective::Outcome;
use crate::occupancy::{least_raw, most_raw};

/// A program as the search sees it.
#[derive(Clone, Debug)]
pub(crate) struct SharingProgram {
    /// Its slowdown and its pressure (LLCMPKC) with each number of ways.
    pub(crate) slowdowns: Curve,
    pub(crate) pressures: Curve,
    /// Its slowdown with hardly any cache, in units of 2^-32.
    pub(crate) slowest: u64,
    /// The ways that were promised to it, and the slowdown that it may have if it shares ways, in
    /// units of 2^-32.
    pub(crate) promise: Option<(u32, u64)>,
    /// Whether it counts for throughput only.
    pub(crate) is_best_effort: bool,
    /// How many times it counts for throughput.
    pub(crate) weight: u64,
}

impl SharingProgram {
    /// Adds its slowdown to an outcome.
    pub(crate) fn add_to(&self, outcome: &mut Outcome, slowdown: u64) {
        if self.is_best_effort {
            outcome.add_best_effort(slowdown, self.weight);
        } else {
            outcome.add(slowdown, self.weight);
        }
    }

    /// The largest value that it allows the smallest slowdown of its cluster.
    pub(crate) fn ceiling(&self) -> u64 {
        let most = most_raw(self.slowest, &self.slowdowns);
        if self.is_best_effort { most.min(1 << 32) } else { most }
    }

    /// The least that it must occupy to be no slower than this, in units of 2^-32; 0 if its
    /// slowdown does not count.
    pub(crate) fn least_occupancy(&self, slowest: u64) -> u64 {
        if self.is_best_effort { 0 } else { least_raw(self.slowest, &self.slowdowns, slowest) }
    }
}

/// The programs of a set, in order.
pub(crate) fn members(mut set: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let first = (set != 0).then_some(set.trailing_zeros());
        set &= set.wrapping_sub(1);
        first
    })
}
