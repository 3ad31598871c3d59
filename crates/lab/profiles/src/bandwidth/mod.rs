//! How programs slow each other down at memory: the two bandwidth models of PBBCache
//! (LFOC §3, after Morad et al.).

mod levels;
mod simple;
mod stalls;

use thiserror::Error;

/// A machine's memory bandwidth, and the model of programs that want more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryBandwidth {
    limit_mbps: f64,
    model: BandwidthModel,
}

/// The effect of a demand above the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthModel {
    /// No effect up to the limit. Beyond it, every program's bandwidth is cut to fit, that of
    /// larger consumers more, and performance falls with it.
    Simple,
    /// Memory is a shared server: the fuller it is, the longer a miss waits, and only the cycles
    /// that a program stalls for memory grow.
    Stalls,
}

/// A program's demand on memory at its occupancy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Memory bandwidth, MB/s.
    pub mbps: f64,
    /// Share of cycles stalled for any reason.
    pub stalls: f64,
    /// Share of cycles stalled for memory, at most `stalls`.
    pub memory_stalls: f64,
    /// The part of `mbps` that a level of its cluster lets it use, above 0 and at most 1, which is
    /// no limit.
    pub allowed: f64,
}

impl MemoryBandwidth {
    /// A limit in MB/s, which must be finite and above 0 (`None` otherwise), and its model.
    #[must_use]
    pub fn new(limit_mbps: f64, model: BandwidthModel) -> Option<Self> {
        (limit_mbps.is_finite() && limit_mbps > 0.0).then_some(Self { limit_mbps, model })
    }

    /// How many times slower a program with this demand runs at a contention from 0 up; infinite
    /// where memory leaves it nothing.
    ///
    /// Contention is the one number through which programs slow each other down: the least at which
    /// the bandwidth that they [use](Self::used) adds up to no more than memory
    /// [serves](Self::served). The higher it is, the slower every program runs, and the less
    /// bandwidth is left.
    #[must_use]
    pub fn growth(self, demand: &Demand, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => simple::growth(self.limit_mbps, demand, contention),
            BandwidthModel::Stalls => stalls::growth(self.limit_mbps, demand, (-contention).exp()),
        }
    }

    /// The bandwidth that a program with this demand uses at a contention, as a share of the limit.
    #[must_use]
    pub fn used(self, demand: &Demand, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => simple::used(self.limit_mbps, demand, contention),
            BandwidthModel::Stalls => stalls::used(self.limit_mbps, demand, (-contention).exp()),
        }
    }

    /// The bandwidth that memory serves at a contention, as a share of the limit.
    #[must_use]
    pub fn served(self, contention: f64) -> f64 {
        match self.model {
            BandwidthModel::Simple => 1.0,
            BandwidthModel::Stalls => -(-contention).exp_m1(),
        }
    }

    /// An upper bound on the contention of `programs` programs, one of which always demands `mbps`
    /// MB/s or more.
    #[must_use]
    pub fn most_contention(self, programs: usize, mbps: f64) -> f64 {
        match self.model {
            // (sum b - B) B / sum b² with sum b² at least (sum b)² / n, which is most at sum b = 2
            // B.
            BandwidthModel::Simple => (self.limit_mbps / mbps).min(programs as f64 / 4.0),
            BandwidthModel::Stalls => -stalls::LEAST_IDLE.ln(),
        }
    }

    /// Multiplies each program's slowdown by the cost of the other programs' demands.
    ///
    /// # Errors
    /// If memory can't serve them at all: [`DemandError`].
    pub fn slow_down(self, demands: &[Demand], slowdowns: &mut [f64]) -> Result<(), DemandError> {
        let fitted = match self.model {
            BandwidthModel::Simple => simple::slow_down(self.limit_mbps, demands, slowdowns),
            BandwidthModel::Stalls => stalls::slow_down(self.limit_mbps, demands, slowdowns),
        };
        fitted.map_err(|program| DemandError {
            program,
            demand_mbps: demands[program].mbps,
            limit_mbps: self.limit_mbps,
        })
    }
}

/// A program demands so much memory bandwidth that the model leaves it none, or has no solution.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error(
    "expected demands that the bandwidth model can fit under {limit_mbps} MB/s, found one of \
     {demand_mbps:.0} MB/s"
)]
pub struct DemandError {
    /// The program: its index in the mix.
    pub program: usize,
    /// The program's demand, MB/s.
    pub demand_mbps: f64,
    /// The limit, MB/s.
    pub limit_mbps: f64,
}
