//! Experiments: mixes of programs under several policies, compared.
//!
//! [`compare`] runs each policy on a [`StaticMachine`], through the same loop that runs it
//! anywhere, and scores the partition that it decides on. [`draw_mixes`] makes mixes where the
//! user names none.

mod best;
mod best_static;
mod compare;
mod draw;
mod executed;
pub mod guarantee;
mod live;
mod machine;
mod online;
pub mod paper;
pub mod redis;
pub mod report;

pub use best::{CLASSES, Composition, composition, partitioning_over_clustering};
pub use best_static::{BestStatic, OPTIMUM};
pub use compare::{CompareError, Comparison, Outcome, Settings, compare};
pub use draw::{classes, draw_mixes, draw_workloads, random_mixes};
pub use executed::{
    Alone, ChipComparison, ChipOutcome, ChipProtocol, Fare, Kept, Latency, Moment, Observed, Rate,
    Served, compare_on_chip, measure, measure_alone, profile, table_of, timeline,
};
pub use live::{
    Activity, LiveComparison, LiveError, LiveOutcome, Protocol, Working, compare_live, job, live,
    watch,
};
pub use machine::StaticMachine;
pub use online::{Accuracy, Turn, Turns, accuracy, turns};
