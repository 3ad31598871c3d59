//! What runs on the chip: programs, as the memory accesses that they make.

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

use std::sync::Arc;
use std::time::Duration;

use rand_pcg::Pcg64Mcg;

use crate::geometry::Geometry;
use crate::service::Requests;

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

/// Bytes of a line.
pub const LINE: u64 = 64;

/// The lines that a program can have: 2 GB.
pub const MOST_LINES: u64 = 1 << 25;

/// Accesses to a line in a row: one that may miss, and others to the same line, which hit the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The line, counted from the program's first; below [`MOST_LINES`].
    pub line: u32,
    /// Instructions from the access before up to these, themselves included; none for a further access of
    /// the same instruction.
    pub instructions: u32,
    /// Loads and stores among them.
    pub references: u16,
    /// What it is.
    pub kind: AccessKind,
}

/// What an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load, through the private caches.
    Load,
    /// A store, through the private caches; it fetches the line.
    Store,
    /// A load that has missed the private caches.
    Missed,
    /// A fetch of instructions, through the first private cache of instructions where the chip has one; it
    /// is no reference.
    Fetch,
    /// None: all references hit the L1.
    None,
}

/// What a source of accesses came up with.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supply {
    /// At least one.
    More,
    /// None: the program waits for something outside of the chip.
    Asleep,
    /// None any more: it has ended.
    Ended,
    /// None any more: it has failed, in a line.
    Failed(String),
}

/// A source of accesses.
pub trait Generate: Send {
    /// Appends some accesses.
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>) -> Supply;

    /// Waits for a program that is asleep, in real time, at most so long.
    fn wait(&mut self, _most: Duration) {}
}

/// A program: its accesses, and how fast it runs between them and while they miss.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What it accesses.
    pub accesses: Accesses,
    /// Cycles per instruction while everything hits the L1.
    pub base_cpi: f64,
    /// Misses under way at the same time: what a miss stalls the program for is its latency over this, at
    /// least 1.
    pub overlap: f64,
    /// What its requests take, if it is a service.
    pub requests: Option<Requests>,
}

impl Program {
    /// A program that is no service.
    #[must_use]
    pub const fn new(accesses: Accesses, base_cpi: f64, overlap: f64) -> Self {
        Self { accesses, base_cpi, overlap, requests: None }
    }

    /// A real program, of which nothing is known: simple code, of which an out-of-order core has four misses under
    /// way.
    #[must_use]
    pub fn live(live: Live) -> Self {
        Self::new(Accesses::Live(Arc::new(live)), text::CPI, 4.0)
    }

    /// The real program that it is, if it is one.
    #[must_use]
    pub fn as_live(&self) -> Option<&Live> {
        match &self.accesses {
            Accesses::Live(live) => Some(live),
            _ => None,
        }
    }
}

/// What a program accesses.
#[derive(Clone, Debug, PartialEq)]
pub enum Accesses {
    /// An array, in some order.
    Pattern(Pattern),
    /// Records, some more often than others.
    Zipf(Zipf),
    /// Regions and streams.
    Mixture(Mixture),
    /// All that a program does, in front of first private caches.
    Workload(Workload),
    /// What makes a miss curve.
    Curve(Curve),
    /// A recorded program.
    Trace(Trace),
    /// A real program, which runs while it is simulated.
    Live(Arc<Live>),
}

impl Accesses {
    /// A source of them on a chip.
    pub(crate) fn source(&self, chip: &Geometry) -> Box<dyn Generate> {
        match self {
            Self::Pattern(pattern) => Box::new(pattern.source()),
            Self::Zipf(zipf) => Box::new(zipf.source()),
            Self::Mixture(mixture) => Box::new(mixture.source()),
            Self::Workload(workload) => Box::new(workload.source()),
            Self::Curve(curve) => Box::new(curve.source(chip.sets)),
            Self::Trace(trace) => Box::new(trace.source()),
            Self::Live(live) => Box::new(live::Source::start(live, chip.l1)),
        }
    }

    /// Whether lines must be where their numbers say, whatever the pages: a curve picks sets itself.
    pub(crate) fn picks_sets(&self) -> bool {
        matches!(self, Self::Curve(_))
    }
}

/// Accesses that are generated together.
pub(crate) const BATCH: usize = 256;

/// A number below `count`, which is not 0.
pub(crate) fn below(random: &mut Pcg64Mcg, count: u32) -> u32 {
    use rand_core::Rng;
    // Multiply and shift (Lemire): the bias is below 2^-32 times the count.
    let picked = (u64::from(random.next_u32()) * u64::from(count)) >> 32;
    u32::try_from(picked).unwrap_or(0)
}
