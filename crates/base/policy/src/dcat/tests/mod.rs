//! Tests that quote the section or the decision that they check.

mod actual;
mod bench;
mod counters;
mod donors;
mod examples;
mod growing;
mod phases;
mod programs;
mod promises;
mod reclaim;
mod refusals;
mod steady;
mod sums;
