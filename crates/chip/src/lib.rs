//! A chip that executes addresses.
//!
//! [`Chip`] is a [`fairways_core::Machine`]. Programs are sources of memory accesses; each goes through the
//! private caches of its core, the last-level cache and the memory bus, so that conflict misses, caches
//! that warm up, streams that evict others' lines and a bus that saturates come about by themselves.
//!
//! - **The last-level cache** has sets and ways of any number. A mask says where a program may *fill*: it hits
//!   anywhere, and lines outside a shrunk mask stay until somebody evicts them, as with Intel's CAT.
//! - **Pages** of 4 KB or 2 MB lie in random frames, or in a row. A line's set is its physical number
//!   modulo the number of sets, without a hash: which is what dCat's Figure 3 counts.
//! - **Cycles** are accounted for as `account.rs` says, on one page.
//! - **Time** passes in turns of a thousand cycles, in which one core after the other runs. Windows by
//!   instructions and runs are told of with the turn in which they are complete; phases by instructions change
//!   within it.
//! - A program is a generator of accesses, a recorded trace, or a real program that runs under QEMU while it is
//!   simulated ([`program::Live`]). What it does with every number of ways [`Profiler`] finds in one pass.
//! - **Services** answer requests ([`service`]), whose latencies come about by what they find in the caches and how long
//!   they wait for each other.
//! - **Hardware threads** of a core share its pipeline and its private caches; each is a CPU.
//! - A program has a CPU to itself; or an operating system lets any number of them take turns
//!   ([`Scheduling`]), in which policies have a say. One that starts holds nothing; the lines of one that exits
//!   are free.
//!
//! Everything random comes from one seed: the same settings, jobs and actions give the same events, to
//! the last bit.

mod account;
mod agenda;
mod app;
mod apps;
mod buffer;
mod bus;
mod cache;
mod check;
mod clock;
mod cores;
mod error;
mod events;
mod fills;
mod geometry;
mod job;
mod machine;
mod outside;
mod pages;
mod phase;
pub mod preset;
mod profiler;
pub mod program;
mod record;
mod run;
mod runner;
mod scheduler;
pub mod service;
mod settings;
mod stops;

pub use account::Account;
pub use cache::Replacement;
pub use error::ChipError;
pub use fills::Class;
pub use geometry::{Geometry, GeometryError, Latency, Shape, Stores};
pub use job::{Job, Then};
pub use machine::Chip;
pub use pages::{PagePlacement, PageSize, lines_per_set};
pub use phase::{Length, Phase};
pub use profiler::Profiler;
pub use program::Program;
pub use settings::{Scheduling, SchedulingClass, Settings};
pub use stops::Pause;
