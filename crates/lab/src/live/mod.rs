//! Mixes on the machine over time.

mod compare;
mod jobs;
mod watch;

pub use compare::{LiveComparison, LiveError, LiveOutcome, Protocol, compare_live, live};
pub use jobs::{
    heeds_objectives, heeds_promises, job, learns, needs_profiles, samples_by_ways, schedules,
};
pub use watch::{Activity, Working, watch};
