//! The real tasks of the system, which resctrl's groups hold.

mod inherit;
mod process;

pub(crate) use inherit::{Inheritance, Look};
pub(crate) use process::{all_threads, owner};
