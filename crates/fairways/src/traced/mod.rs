//! Programs that `profile` and `record` run: which part of them counts, what ends them, and what is
//! noted about the run.

mod measured;
mod signals;
mod subject;

pub(crate) use measured::{RunEnd, Steppable, measure};
pub(crate) use subject::{TracedCommand, can_write};
