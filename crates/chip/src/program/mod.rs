//! What runs on the chip: programs, as the memory accesses that they make.

mod access;
mod accesses;
mod curve;
#[cfg(test)]
mod functional;
mod live;
mod mixture;
mod named;
mod numbering;
mod pattern;
mod profiled;
mod tailbench;
mod text;
mod trace;
mod workload;
mod zipf;

pub(crate) use access::BATCH;
pub use access::{Access, AccessKind, Generate, MOST_LINES, Supply};
pub use accesses::{Accesses, Program};
pub use curve::{Curve, CurveError};
pub use live::{Live, LiveError, Remark};
pub use mixture::{Mixture, Part};
pub use named::{NAMES, named};
pub use pattern::Pattern;
pub use profiled::profiled;
pub(crate) use text::time_of;
pub use text::{FORMS, TextError, Written, parse, split};
pub use trace::{Trace, TraceError};
pub use workload::{Code, Order, Region, Workload};
pub use zipf::Zipf;

pub use crate::cache::LINE;
