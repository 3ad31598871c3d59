//! Mixes on the machine over time.

mod compare;
mod informed;
mod jobs;
mod watch;

pub use compare::{LiveComparison, LiveError, LiveOutcome, Protocol, compare_live, live};
pub use informed::informed;
pub use jobs::job;
pub use watch::{Activity, WorkMeter, watch};
