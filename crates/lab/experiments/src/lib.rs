//! Experiments: mixes of programs under several policies, compared.
//!
//! [`compare`] runs each policy on a [`StaticMachine`], through the same loop as everywhere, and
//! scores the resulting partition. [`draw_mixes`] draws mixes where the user names none.

mod after_each;
mod best;
mod best_static;
pub mod blame;
mod compare;
mod draw;
mod executed;
mod gap;
pub mod guarantee;
mod live;
mod machine;
mod online;
pub mod paper;
mod placed;
mod plan_drawing;
pub mod redis;
mod settled;

pub use best::{CLASSES, Composition, composition, partitioning_over_clustering};
pub use best_static::{BestStatic, OPTIMUM};
pub use compare::{
    CompareError, Comparison, ComparisonSettings, PolicyOutcome, compare, compare_settled,
};
pub use draw::{classes, draw_mixes, draw_workloads, random_mixes, streaming_mixes};
pub use executed::{
    ChipComparison, ChipOutcome, ChipProtocol, Latency, ObjectiveOutcome, ObservedChip,
    PolicyMaker, ProgramOutcome, ProgramStep, Rate, ServiceSummary, SoloRun, WorkCurve,
    compare_on_chip, measure, measure_alone, one_by_one_if_live, profile, table_of, timeline,
};
pub use gap::{GapError, OptimumGap, optimum_gap};
pub use live::{
    Activity, LiveComparison, LiveError, LiveOutcome, Protocol, WorkMeter, compare_live, informed,
    job, live, watch,
};
pub use machine::StaticMachine;
pub use online::{
    Accuracy, ClassChange, ClassChanges, PhasedRuns, accuracy, class_changes, phase_changes,
};
pub use placed::{PlacedSettings, compare_placed};
pub use plan_drawing::{DrawnMix, DrawnPlan, draw_plans};
