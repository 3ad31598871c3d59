//! What runs on the chip: programs, as the memory accesses that they make.

mod curve;
mod mixture;
mod pattern;
mod profiled;
mod text;
mod trace;
mod zipf;

use rand_pcg::Pcg64Mcg;

pub use curve::{Curve, CurveError};
pub use mixture::{Mixture, Part};
pub use pattern::Pattern;
pub use profiled::profiled;
pub use text::{FORMS, TextError, Written, parse};
pub use trace::{Trace, TraceError};
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
    /// None: all references hit the L1.
    None,
}

/// A source of accesses.
pub trait Generate: Send {
    /// Appends some accesses, at least one.
    fn generate(&mut self, random: &mut Pcg64Mcg, accesses: &mut Vec<Access>);
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
    /// What makes a miss curve.
    Curve(Curve),
    /// A recorded program.
    Trace(Trace),
}

impl Accesses {
    /// A source of them on a machine with so many sets.
    pub(crate) fn source(&self, sets: u32) -> Box<dyn Generate> {
        match self {
            Self::Pattern(pattern) => Box::new(pattern.source()),
            Self::Zipf(zipf) => Box::new(zipf.source()),
            Self::Mixture(mixture) => Box::new(mixture.source()),
            Self::Curve(curve) => Box::new(curve.source(sets)),
            Self::Trace(trace) => Box::new(trace.source()),
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
