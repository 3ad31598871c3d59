//! `fairways-lab sweep`: many simulations, each a process with a file in and a file out.
//!
//! A plan (`plan.rs`) names a command, flags, and axes with the values of other flags; its points
//! are all combinations. A folder (`folder.rs`) has a file for each point and one for its result;
//! points are run here (`running.rs`) or by whatever else starts processes, and merged into one
//! table (`merge.rs`). A point is named by a hash of all that its result depends on, so that what
//! is done is not done again. docs/sweep.md describes it.

mod columns;
mod folder;
mod merge;
mod plan;
mod point;
mod running;
mod shard;

use std::fmt::Display;
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;

pub(crate) use folder::{status, write};
pub(crate) use merge::merge;
pub(crate) use point::{Point, run_point};
pub(crate) use running::{SweepRun, end_with_parent, run};
pub(crate) use shard::{Shard, shard};

/// What is wrong with a file.
fn blamed(path: &Path, why: impl Display) -> BadInput {
    BadInput(format!("{}: {why}", shown(path)))
}
