//! A chip that executes addresses.
//!
//! [`Chip`] is a [`fairways_core::Machine`]. Programs are sources of memory accesses; each goes
//! through the private caches of its core, the last-level cache and the memory bus, so that
//! conflict misses, caches that warm up, streams that evict other programs' lines and a bus that
//! saturates emerge by themselves.
//!
//! - **The last-level cache** has sets and ways of any number. A mask limits where a program may
//!   *fill*: it hits anywhere, and lines outside a shrunk mask stay until another program evicts
//!   them, as with Intel's CAT.
//! - **Pages** of 4 KB or 2 MB lie in random frames, or in a row. A line's set is its physical
//!   number modulo the number of sets, without a hash, as dCat's Figure 3 assumes.
//! - **Cycles** are accounted for by the rules at the top of `account.rs`.
//! - **Time** passes in turns of a thousand cycles, in which one core after the other runs. Windows
//!   by instructions and runs are reported at the end of the turn in which they are complete;
//!   phases by instructions change within a turn.
//! - A program is a generator of accesses, a recorded trace, or a real program that runs under QEMU
//!   while it is simulated ([`program::LiveProgram`]). [`Profiler`] measures it with every number
//!   of ways in one pass; [`Recorder`] keeps what leaves its private caches.
//! - **Services** answer requests ([`service`]), whose latencies result from cache hits and misses,
//!   and from waiting for each other.
//! - **Hardware threads** of a core share its pipeline and its private caches; each is a CPU.
//! - A program has a CPU to itself; or an operating system lets any number of them take turns
//!   ([`Scheduling`]), which policies can influence. A program starts without lines; the lines of a
//!   program that exits are free.
//!
//! Everything random comes from one seed: the same settings, jobs and actions give the same events,
//! to the last bit.

mod account;
mod agenda;
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
mod private_side;
mod profiler;
mod profilers;
pub mod program;
mod record;
mod recorder;
mod run;
mod runner;
mod running_program;
mod running_programs;
mod scheduler;
pub mod service;
mod settings;
mod slices;
mod stops;
mod thread_state;
mod throttle;
mod throttles;
mod time_sharing;
pub mod traces;

pub use account::Account;
pub use bus::BusWait;
pub use error::ChipError;
pub use fills::FillClass;
pub use geometry::{CacheShape, Geometry, GeometryError, MissLatency, Replacement, StorePath};
pub use job::{AfterRun, Job};
pub use machine::Chip;
pub use pages::{PagePlacement, PageSize, lines_per_set};
pub use phase::Phase;
pub use profiler::Profiler;
pub use profilers::Profilers;
pub use program::PhaseLength;
pub use program::SimulatedProgram;
pub use recorder::Recorder;
pub use settings::{Scheduling, SchedulingClass, Settings};
pub use slices::Slices;
pub use stops::PausePoint;
pub use throttle::{BandwidthLimit, CapUnit, SKYLAKE_GAPS, SiblingGap, Throttle};
