//! Programs on the chip that executes addresses.

mod compare;
mod measure;
mod observed;
mod served;
mod sweep;
mod taken_away;
mod timeline;
mod work_curve;

pub(crate) use compare::run_together;
pub use compare::{
    ChipComparison, ChipOutcome, ChipProtocol, PolicyMaker, ProgramOutcome, compare_on_chip,
};
pub use measure::{Rate, SoloRun, measure, measure_alone, one_by_one_if_live, profile};
pub use observed::ObservedChip;
pub use served::{Latency, ObjectiveOutcome, ServiceSummary};
pub use sweep::table_of;
pub(crate) use taken_away::Mixed;
pub use timeline::{ProgramStep, timeline};
pub use work_curve::WorkCurve;
