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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Memory bandwidth, MB/s.
    pub mbps: f64,
    /// Share of cycles stalled, and of those that wait for memory.
    pub stalls: f64,
    /// Share of cycles stalled for memory, at most `stalls`.
    pub memory_stalls: f64,
}

impl Bandwidth {
    /// A limit in MB/s, which must be finite and above 0 (`None` otherwise), and its model.
    #[must_use]
    pub fn new(limit_mbps: f64, model: BandwidthModel) -> Option<Self> {
        (limit_mbps.is_finite() && limit_mbps > 0.0).then_some(Self { limit_mbps, model })
    }

    /// How many times slower a program with this demand runs at a contention of `contention`, from 0
    /// up; infinite where memory leaves it nothing.
    ///
    /// Contention is the one number through which programs slow each other down: the least at which
    /// what they [use](Self::used) adds up to no more than is [served](Self::served). The more there
    /// is, the slower everybody runs, and the less room is left.
    #[must_use]
    pub fn growth(self, demand: &Demand, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => simple::growth(self.limit_mbps, demand, contention),
            BandwidthModel::Stalls => stalls::growth(self.limit_mbps, demand, (-contention).exp()),
        }
    }

    /// What a program with this demand uses of memory at some contention, as a share of the limit.
    #[must_use]
    pub fn used(self, demand: &Demand, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => simple::used(self.limit_mbps, demand, contention),
            BandwidthModel::Stalls => stalls::used(self.limit_mbps, demand, (-contention).exp()),
        }
    }

    /// What memory serves at some contention, as a share of the limit.
    #[must_use]
    pub fn served(self, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => 1.0,
            BandwidthModel::Stalls => -(-contention).exp_m1(),
        }
    }

    /// More contention than so many programs can come to if one of them never asks for less than
    /// `mbps` MB/s.
    #[must_use]
    pub fn most_contention(self, programs: usize, mbps: f64) -> f64 {
        match self.model {
            // (sum b - B) B / sum b² with sum b² at least (sum b)² / n, which is most at sum b = 2 B.
            BandwidthModel::Simple => (self.limit_mbps / mbps).min(programs as f64 / 4.0),
            BandwidthModel::Stalls => -stalls::LEAST_IDLE.ln(),
        }
    }

    /// Multiplies each program's slowdown by what the others' demands cost it.
    ///
    /// # Errors
    /// If memory can't serve them at all: [`DemandError`].
    pub fn slow_down(self, demands: &[Demand], slowdowns: &mut [f64]) -> Result<(), DemandError> {
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
