//! What is asked.

use fairways_core::Llc;
use fairways_profiles::{Bandwidth, Table};
use thiserror::Error;

/// What a partition is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every program owns ways of its own.
    Partitioning,
    /// Programs may share.
    Clustering,
}

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The least unfairness: the largest slowdown over the smallest (LFOC equation 3). Of equals, the
    /// highest STP, unless memory has a limit.
    Unfairness,
    /// The highest STP: the sum of 1 / slowdown (LFOC equation 4).
    Stp,
    /// The least largest slowdown. Of equals, the highest STP, unless memory has a limit.
    MaxSlowdown,
    /// The least ANTT: the mean slowdown.
    Antt,
}

/// A mix on a cache, and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The profiles.
    pub profiles: &'a Table,
    /// The programs of the mix: their indices.
    pub mix: &'a [usize],
    /// The cache: its ways, the fewest of a mask, and the most clusters. Every way is given to
    /// somebody.
    pub llc: Llc,
    /// What a partition is made of.
    pub kind: Kind,
    /// The memory that the programs share; without, it has no limit.
    pub bandwidth: Option<Bandwidth>,
    /// What is best.
    pub objective: Objective,
}

impl Problem<'_> {
    /// The most programs for which every cluster fits into memory, within a GiB for 20 ways: 20, and
    /// where memory has a limit 16, since then every cluster is looked at under many contentions.
    #[must_use]
    pub fn most_programs(&self) -> usize {
        if self.bandwidth.is_some() { 16 } else { 20 }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Impossible {
    /// There is no program.
    #[error("expected at least one program")]
    NoProgram,
    /// More programs than the exact method takes, and no deadline for another.
    #[error("expected at most {most} programs, found {programs}")]
    TooManyPrograms {
        /// How many there may be.
        most: usize,
        /// How many there are.
        programs: usize,
    },
    /// Memory leaves somebody nothing, however the cache is shared.
    #[error("expected memory that can serve {programs} programs, however they share the cache")]
    TooLittleBandwidth {
        /// How many there are.
        programs: usize,
    },
    /// The deadline came before a partition that memory can serve was found; there may be one.
    #[error(
        "found no partition of {programs} programs that memory can serve in the time there was"
    )]
    NoneInTime {
        /// How many there are.
        programs: usize,
    },
    /// Clusters can't all have the ways that they must have.
    #[error("{clusters} clusters of at least {min_ways} ways each do not fit into {ways} ways")]
    TooFewWays {
        /// The fewest clusters there can be.
        clusters: usize,
        /// The fewest ways of each.
        min_ways: u32,
        /// The ways of the cache.
        ways: u32,
    },
    /// Every program needs a cluster, and there are fewer.
    #[error("{programs} programs need a cluster each, and there can be {clusters}")]
    TooFewClusters {
        /// How many programs there are.
        programs: usize,
        /// The most clusters.
        clusters: u32,
    },
}

impl Objective {
    /// What a partition costs that makes programs so slow, less being better: the value, or minus it,
    /// or its sum where it is a mean.
    pub(crate) fn cost(self, slowdowns: &[f64]) -> f64 {
        let most = slowdowns.iter().copied().fold(0.0, f64::max);
        match self {
            Self::Unfairness => most / slowdowns.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Stp => -slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>(),
            Self::MaxSlowdown => most,
            Self::Antt => slowdowns.iter().sum(),
        }
    }

    /// The value of what costs this.
    pub(crate) fn value(self, cost: f64, programs: usize) -> f64 {
        match self {
            Self::Unfairness | Self::MaxSlowdown => cost,
            Self::Stp => -cost,
            Self::Antt => cost / programs as f64,
        }
    }

    /// What costs as much as this value says.
    pub(crate) fn cost_of(self, value: f64, programs: usize) -> f64 {
        match self {
            Self::Unfairness | Self::MaxSlowdown => value,
            Self::Stp => -value,
            Self::Antt => value * programs as f64,
        }
    }
}

/// Whether there is a partition at all, and a way to find one.
pub(crate) fn check(problem: &Problem<'_>, limited: bool) -> Result<(), Impossible> {
    let Problem { mix, llc, kind, .. } = *problem;
    let programs = mix.len();
    if programs == 0 {
        return Err(Impossible::NoProgram);
    }
    let most = problem.most_programs();
    let clusters = if kind == Kind::Partitioning { programs } else { 1 };
    let (ways, min_ways) = (llc.ways.get(), llc.min_ways());
    if clusters > (ways / min_ways) as usize {
        return Err(Impossible::TooFewWays { clusters, min_ways, ways });
    }
    if clusters > llc.clos as usize {
        return Err(Impossible::TooFewClusters { programs, clusters: llc.clos });
    }
    if programs > most && !limited {
        return Err(Impossible::TooManyPrograms { most, programs });
    }
    Ok(())
}
