//! A simulated program, given by its accesses.

use std::sync::Arc;

use crate::geometry::{CacheShape, Geometry};
use crate::service::Requests;

use super::access::Generate;
use super::curve::MissCurve;
use super::l1_groups::L1Groups;
use super::live::{LiveProgram, LiveSource};
use super::mixture::Mixture;
use super::pattern::Pattern;
use super::stream::StreamReplay;
use super::trace::{Trace, TraceFile};
use super::workload::Workload;
use super::zipf::Zipf;

/// Cycles per instruction of simple loops on a core that retires four at a time.
pub(super) const CPI: f64 = 0.5;

/// A program: its accesses, and how fast it runs between them and while they miss.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedProgram {
    /// Its accesses.
    pub accesses: Accesses,
    /// Cycles per instruction while everything hits the L1.
    pub base_cpi: f64,
    /// Misses under way at the same time, at least 1: a miss stalls the program for its latency
    /// divided by this.
    pub overlap: f64,
    /// The size of its requests, if it is a service.
    pub requests: Option<Requests>,
}

impl SimulatedProgram {
    /// A program that is no service.
    #[must_use]
    pub const fn new(accesses: Accesses, base_cpi: f64, overlap: f64) -> Self {
        Self { accesses, base_cpi, overlap, requests: None }
    }

    /// A real program with unknown properties: simple code, for which an out-of-order core has four
    /// misses under way.
    #[must_use]
    pub fn live(live: LiveProgram) -> Self {
        Self::new(Accesses::Live(Arc::new(live)), CPI, 4.0)
    }

    /// A recorded program: the stream says how fast it is.
    #[must_use]
    pub fn replayed(stream: StreamReplay) -> Self {
        let manifest = stream.manifest();
        let (cpi, overlap) = (manifest.cpi, manifest.overlap);
        Self::new(Accesses::Stream(stream), cpi, overlap)
    }

    /// A trace that another tool wrote, read once; how fast it runs is as unknown as a real
    /// program's.
    #[must_use]
    pub fn traced(trace: TraceFile) -> Self {
        Self::new(Accesses::TraceFile(Arc::new(trace)), CPI, 4.0)
    }

    /// The real program, if it is one.
    #[must_use]
    pub fn as_live(&self) -> Option<&LiveProgram> {
        match &self.accesses {
            Accesses::Live(live) => Some(live),
            _ => None,
        }
    }
}

/// The accesses of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Accesses {
    /// An array, in some order.
    Pattern(Pattern),
    /// Records, some of which are more popular than others.
    Zipf(Zipf),
    /// Regions and streams.
    Mixture(Mixture),
    /// All references of a program, before its first private caches.
    Workload(Workload),
    /// Accesses that produce a miss curve.
    Curve(MissCurve),
    /// A recorded program, in memory.
    Trace(Trace),
    /// A recorded program, read once.
    TraceFile(Arc<TraceFile>),
    /// What left the private caches of a program when it was recorded.
    Stream(StreamReplay),
    /// A real program that runs while it is simulated.
    Live(Arc<LiveProgram>),
}

impl Accesses {
    /// A source of these accesses on a chip.
    pub(crate) fn source(&self, chip: &Geometry) -> Box<dyn Generate> {
        match self {
            Self::Pattern(pattern) => Box::new(pattern.source()),
            Self::Zipf(zipf) => Box::new(zipf.source()),
            Self::Mixture(mixture) => Box::new(mixture.source()),
            Self::Workload(workload) => Box::new(workload.source()),
            Self::Curve(curve) => Box::new(curve.source(chip.sets)),
            Self::Trace(trace) => Box::new(trace.source()),
            Self::TraceFile(file) => Box::new(file.source()),
            Self::Stream(stream) => Box::new(stream.source()),
            Self::Live(live) => Box::new(LiveSource::start(live, &L1Groups::new(&[chip.l1]))),
        }
    }

    /// A source for several chips, and which of its accesses are each one's: as an index of what
    /// [`Generate::generate_by_l1`] fills.
    pub(crate) fn source_for(&self, chips: &[Geometry]) -> (Box<dyn Generate>, Vec<usize>) {
        match self {
            Self::Live(live) => {
                let l1s: Vec<CacheShape> = chips.iter().map(|chip| chip.l1).collect();
                let groups = L1Groups::new(&l1s);
                (Box::new(LiveSource::start(live, &groups)), groups.of_each)
            }
            _ => (self.source(&chips[0]), vec![0; chips.len()]),
        }
    }

    /// Whether lines must be in the sets that their numbers give, whatever the pages: a curve
    /// chooses sets itself.
    pub(crate) fn picks_sets(&self) -> bool {
        matches!(self, Self::Curve(_))
    }
}
