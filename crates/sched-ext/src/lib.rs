//! CPU time and placement in the kernel: a sched_ext scheduler for the threads that a policy manages, and what runs beside whom.
//!
//! With the feature `sched-ext`; without it there is nothing here. `docs/sched-ext.md` says how it decides, and its limits.
//!
//! The programs are in `src/bpf`; `build.rs` compiles each `NAME.bpf.c` there to `OUT_DIR/NAME.bpf.o`, which this carries along.
//! `intf.h` is what both sides know.
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
pub use policy::Before;
pub use scheduler::Scheduler;
pub use settings::{CpuCounter, Given, Settings, Told, Turn, Who};
pub use support::supported;
