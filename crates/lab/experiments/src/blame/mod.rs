//! Which program slows which: the truth on the chip, by taking each neighbour away in turn, and how
//! near an attribution comes to it that sees windows only ([`fairways_attribution`]).
//!
//! The chip is Skylake's with a fifth of its sets, so that what happens to the cache happens in a
//! fifth of the time; in every other mix its bus is narrow. Programs are the streams of
//! `corpus/streams`, models of the profiles inside the binary, and two of dCat's, drawn by seed.

mod accuracy;
mod cpi2;
mod estimate;
mod mixes;
mod truth;

pub use accuracy::{BlameAccuracy, accuracy_of_blame};
pub use estimate::{Readings, VictimEstimate, estimate, memory_latency, memory_latency_of};
pub use mixes::{MixOnChip, TIME_SCALE, mixes_on_chip, mixes_with_services};
pub use truth::{VictimTruth, truth};

/// The policies under which programs are observed.
pub const OBSERVED_POLICIES: [&str; 3] = ["stock", "lfoc", "fairways"];
