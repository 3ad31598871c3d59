//! The flags that both doors have, and the commands that are the same in both.

mod blame;
mod common;
mod decide;
mod explain;
mod policies;
mod replay;
mod report;
mod top;
mod trial;

pub use blame::BlameFlags;
pub use common::CommonCommand;
pub use decide::{DecideFlags, JournalFlags};
pub use policies::PolicyName;
pub use report::ReportFlags;
pub use top::TopFlags;
pub use trial::TrialFlags;
