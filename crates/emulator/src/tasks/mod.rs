//! The real tasks of the system, which are in resctrl's groups.

mod inherit;
mod process;

pub(crate) use inherit::{Inheritance, Snapshot};
pub(crate) use process::{all_threads, owner};
