//! Programs that run on the chip, as sources of memory accesses.

mod access;
mod accesses;
mod curve;
mod forms;
#[cfg(test)]
mod functional;
mod l1_groups;
mod live;
mod mixture;
mod named;
mod numbering;
mod pattern;
mod profiled;
mod stream;
mod tailbench;
mod text;
mod trace;
mod workload;
mod zipf;

pub(crate) use access::BATCH;
pub use access::{Access, AccessKind, Generate, MOST_LINES, Supply};
pub use accesses::{Accesses, SimulatedProgram};
pub use curve::{MissCurve, MissCurveError};
pub use forms::FORMS;
pub use live::{LiveProgram, LiveProgramError, Remark};
pub use mixture::{Mixture, MixturePart};
pub use named::{NAMES, named};
pub use pattern::Pattern;
pub use profiled::{profiled, profiled_resized};
pub use stream::{StreamReplay, private_caches};
pub use text::{ParsedPhases, PhaseLength, ProgramTextError, parse, split};
pub use trace::{Trace, TraceFile};
pub use workload::{CodeRegion, DataRegion, VisitOrder, Workload};
pub use zipf::Zipf;

pub use crate::geometry::LINE;
