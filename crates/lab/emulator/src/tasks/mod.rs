//! The real tasks of the system, which are in resctrl's groups.

mod inherit;
mod namespace;
mod process;

pub(crate) use inherit::{Changes, Inheritance, Snapshot};
pub(crate) use namespace::{named_by, numbers_for};
pub(crate) use process::{all_threads, in_order, owner};
