//! The types that every part of Fairways uses, and the loop that joins policy and machine.
//!
//! A [`Policy`] turns [`Event`]s into [`Action`]s; a [`Machine`] turns the world into events and
//! carries actions out; [`run`] passes them back and forth, past the [`Observer`]s that record
//! them. They meet nowhere else, so the code that manages a server is the code that runs on a
//! simulated chip or in a test.
//!
//! Everything here is integers: three of the five systems that Fairways implements were built
//! inside a kernel, where floating point is not available (LFOC §2.3.2). Ratios are [`Q32`].
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;

mod bandwidth;
mod cache;
mod counter;
mod cpus;
mod curve;
mod decimal;
mod escapes;
mod event;
mod id;
mod latency;
mod levers;
mod llc;
pub mod machine;
mod mask;
mod partition;
mod profile;
mod run;
mod sample;
mod schedule;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "serde")]
mod text;
mod time;

pub use bandwidth::{BandwidthLevel, BandwidthUnit, LevelInUnit};
pub use cache::MachineCache;
pub use counter::{Counter, Counters};
pub use cpus::{CpuError, CpuSet};
pub use curve::{Curve, CurveError, Q32};
pub use decimal::NotANumber;
pub use escapes::{PlainEscapes, is_plain, plain};
pub use event::{Action, Event, Wish};
pub use id::{AppId, PlanId};
pub use latency::{Latencies, LatencyBin, Objective};
pub use levers::{BandwidthLever, Levers, LimitScope};
pub use llc::{Llc, MAX_WAYS, Ways};
pub use mask::{MaskError, WayMask};
pub use partition::{Partition, PartitionError, Placement, Resources};
pub use profile::Profile;
pub use run::{Machine, NoPolicy, Observer, Policy, run, step};
pub use sample::{Sample, WindowLength};
pub use schedule::{CoRun, Cpus, EndedTurn, ThreadCounters, ThreadId};
#[cfg(feature = "serde")]
pub use text::nanos;
pub use time::Time;
