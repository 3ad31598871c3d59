//! For tests that need both doors: the programs that they run ([`fairways()`], [`fairways_lab()`]),
//! and counters for machines without a PMU ([`PROFILES`]).

mod profiled;
mod programs;

pub use profiled::PROFILES;
pub use programs::{bin, fairways, fairways_lab};
