//! CPU time and placement in the kernel: a sched_ext scheduler for the threads that a policy
//! manages, with records of which threads run together.
//!
//! Everything is behind the feature `sched-ext`. `docs/sched-ext.md` explains its decisions and its
//! limits.
//!
//! The programs are in `src/bpf`; `build.rs` compiles each `NAME.bpf.c` there to
//! `OUT_DIR/NAME.bpf.o`, which this crate includes. Both sides share `intf.h`.
#![cfg(feature = "sched-ext")]

mod contract;
mod error;
mod policy;
mod prepare;
mod programs;
mod reader;
pub mod sampling;
mod scheduler;
mod settings;
mod support;

pub use error::Error;
pub use policy::FormerPolicy;
pub use scheduler::Scheduler;
pub use settings::{CpuCounter, FinishedTurn, Occupant, Records, Settings, Turn};
pub use support::supported;
