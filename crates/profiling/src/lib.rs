//! Programs that `profile` and `record` run: which part of them counts, what ends them, and what is
//! noted about the run.

mod measured;
mod signals;
mod steppable;
mod subject;

pub(crate) use measured::measure;
pub(crate) use steppable::RunEnd;
pub(crate) use subject::{CPI, OVERLAP, TracedCommand, can_write};
