//! A program, by what it accesses.

use std::sync::Arc;

use crate::geometry::Geometry;
use crate::service::Requests;

use super::access::Generate;
use super::curve::Curve;
use super::live::{Live, Source};
use super::mixture::Mixture;
use super::pattern::Pattern;
use super::trace::Trace;
use super::workload::Workload;
use super::zipf::Zipf;

/// Cycles per instruction of simple loops on a core that retires four at a time.
pub(super) const CPI: f64 = 0.5;

/// A program: its accesses, and how fast it runs between them and while they miss.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What it accesses.
    pub accesses: Accesses,
    /// Cycles per instruction while everything hits the L1.
    pub base_cpi: f64,
    /// Misses under way at the same time: what a miss stalls the program for is its latency over
    /// this, at least 1.
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

    /// A real program, of which nothing is known: simple code, of which an out-of-order core has
    /// four misses under way.
    #[must_use]
    pub fn live(live: Live) -> Self {
        Self::new(Accesses::Live(Arc::new(live)), CPI, 4.0)
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
            Self::Live(live) => Box::new(Source::start(live, chip.l1)),
        }
    }

    /// Whether lines must be where their numbers say, whatever the pages: a curve picks sets
    /// itself.
    pub(crate) fn picks_sets(&self) -> bool {
        matches!(self, Self::Curve(_))
    }
}
