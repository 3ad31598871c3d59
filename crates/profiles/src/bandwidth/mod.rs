//! How programs slow each other down at memory: the two bandwidth models of PBBCache
//! (LFOC §3, after Morad et al.).

mod simple;
mod stalls;

use thiserror::Error;

/// A machine's memory bandwidth and the model of what happens when programs want more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    limit_mbps: f64,
    model: BandwidthModel,
}

/// What happens when programs want more bandwidth than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthModel {
    /// Nothing up to the limit; beyond it, everybody's bandwidth is cut to fit, that of larger
    /// consumers more, and performance falls with it.
    Simple,
    /// Memory is a shared server: the fuller it is, the longer a miss waits, and only the cycles
    /// that a program stalls for memory grow.
    Stalls,
}

/// What a program asks of memory at what it occupies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Memory bandwidth, MB/s.
    pub(crate) mbps: f64,
    /// Share of cycles stalled, and of those that wait for memory.
    pub(crate) stalls: f64,
    pub(crate) memory_stalls: f64,
}

impl Bandwidth {
    /// A limit in MB/s, which must be finite and above 0 (`None` otherwise), and its model.
    #[must_use]
    pub fn new(limit_mbps: f64, model: BandwidthModel) -> Option<Self> {
        (limit_mbps.is_finite() && limit_mbps > 0.0).then_some(Self { limit_mbps, model })
    }

    /// Multiplies each program's slowdown by what the others' demands cost it.
    pub(crate) fn slow_down(
        self,
        demands: &[Demand],
        slowdowns: &mut [f64],
    ) -> Result<(), DemandError> {
        let extreme = |program: usize| DemandError {
            program,
            demand_mbps: demands[program].mbps,
            limit_mbps: self.limit_mbps,
        };
        match self.model {
            BandwidthModel::Simple => simple::slow_down(self.limit_mbps, demands, slowdowns),
            BandwidthModel::Stalls => stalls::slow_down(self.limit_mbps, demands, slowdowns),
        }
        .map_err(extreme)
    }
}

/// A program asks for so much memory bandwidth that the model leaves it none, or has no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error(
    "expected demands that the bandwidth model can fit under {limit_mbps} MB/s, found one of \
     {demand_mbps:.0} MB/s"
)]
pub struct DemandError {
    /// The program: its index in the mix.
    pub program: usize,
    /// What it asks for, MB/s.
    pub demand_mbps: f64,
    /// What there is, MB/s.
    pub limit_mbps: f64,
}
