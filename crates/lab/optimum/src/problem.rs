//! The problem to solve.

use fairways_core::{BandwidthLevel, Llc};
use fairways_profiles::{MemoryBandwidth, ProfileTable};
use thiserror::Error;

/// Whether programs may share ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingKind {
    /// Every program owns ways of its own.
    Partitioning,
    /// Programs may share.
    Clustering,
}

/// The goal: which partition is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The least unfairness: the largest slowdown over the smallest (LFOC equation 3). Of equals,
    /// the highest STP, unless memory has a limit.
    Unfairness,
    /// The highest STP: the sum of 1 / slowdown (LFOC equation 4).
    Stp,
    /// The least largest slowdown. Of equals, the highest STP, unless memory has a limit.
    MaxSlowdown,
    /// The least ANTT: the mean slowdown.
    Antt,
}

/// A mix on a cache, and the goal.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The profiles.
    pub profiles: &'a ProfileTable,
    /// The programs of the mix: their indices.
    pub mix: &'a [usize],
    /// The cache: its ways, the fewest of a mask, and the most clusters. Every way belongs to a
    /// cluster.
    pub llc: Llc,
    /// Whether programs may share ways.
    pub kind: SharingKind,
    /// The memory that the programs share; `None`: no limit.
    pub bandwidth: Option<MemoryBandwidth>,
    /// The levels of memory bandwidth to which a cluster may be limited, in percent
    /// ([`MemoryBandwidth::limit`]); it may always be without a limit. Where memory has no limit,
    /// levels mean nothing.
    pub levels: &'a [BandwidthLevel],
    /// The goal: which partition is best.
    pub goal: Goal,
    /// By which part the least unfairness or the least largest slowdown may be exceeded: of the
    /// partitions within, the one with the least of that over STP is best. 0: the least, and of
    /// equals the highest STP. Means nothing for other goals, where memory has a limit, and beyond
    /// [`most_programs`](Self::most_programs).
    pub tolerance: f64,
}

impl<'a> Problem<'a> {
    /// A mix on memory without limit, where nothing worse than the best is tolerated.
    #[must_use]
    pub const fn new(
        profiles: &'a ProfileTable,
        mix: &'a [usize],
        llc: Llc,
        kind: SharingKind,
        goal: Goal,
    ) -> Self {
        let (bandwidth, levels, tolerance) = (None, &[] as &[BandwidthLevel], 0.0);
        Self { profiles, mix, llc, kind, bandwidth, levels, goal, tolerance }
    }

    /// The most programs for which every cluster fits into memory, within a GiB for 20 ways: 20,
    /// and where memory has a limit 16, since every cluster is then rated at many contentions. With
    /// levels 8: clusterings are many times as many, and no other method searches them.
    #[must_use]
    pub fn most_programs(&self) -> usize {
        match (self.bandwidth, self.levels) {
            (None, _) => 20,
            (Some(_), []) => 16,
            (Some(_), _) => 8,
        }
    }
}

/// The reason why there is no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Impossible {
    /// The mix has no program.
    #[error("expected at least one program")]
    NoProgram,
    /// More programs than the exact method takes, and no deadline for the local search, or levels,
    /// which that does not search.
    #[error("expected at most {most} programs, found {programs}")]
    TooManyPrograms {
        /// The most programs.
        most: usize,
        /// The number of programs.
        programs: usize,
    },
    /// Memory leaves a program nothing, however the cache is shared.
    #[error("expected memory that can serve {programs} programs, however they share the cache")]
    TooLittleBandwidth {
        /// The number of programs.
        programs: usize,
    },
    /// The deadline came before a partition that memory can serve was found; one may exist.
    #[error("found no partition of {programs} programs that memory can serve in time")]
    NoneInTime {
        /// The number of programs.
        programs: usize,
    },
    /// The caches have fewer CPUs than there are programs.
    #[error("{programs} programs need a CPU each, and the caches have {cpus}")]
    TooFewCpus {
        /// The number of programs.
        programs: usize,
        /// The CPUs of all caches.
        cpus: u32,
    },
    /// The programs cannot be placed so that each cache's clusters fit.
    #[error("{programs} programs cannot be placed: the caches have too few ways or clusters")]
    NoPlacement {
        /// The number of programs.
        programs: usize,
    },
    /// The clusters' least ways do not fit into the cache.
    #[error("{clusters} clusters of at least {min_ways} ways each do not fit into {ways} ways")]
    TooFewWays {
        /// The fewest clusters.
        clusters: usize,
        /// The fewest ways of each.
        min_ways: u32,
        /// The ways of the cache.
        ways: u32,
    },
    /// Every program needs a cluster, and the cache has too few.
    #[error("{programs} programs need a cluster each, and the cache has {clusters}")]
    TooFewClusters {
        /// The number of programs.
        programs: usize,
        /// The most clusters.
        clusters: u32,
    },
}

impl Goal {
    /// The cost of these slowdowns (less is better): the value, or minus the value, or the sum
    /// where the value is a mean.
    pub(crate) fn cost(self, slowdowns: &[f64]) -> f64 {
        let most = slowdowns.iter().copied().fold(0.0, f64::max);
        match self {
            Self::Unfairness => most / slowdowns.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Stp => -slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>(),
            Self::MaxSlowdown => most,
            Self::Antt => slowdowns.iter().sum(),
        }
    }

    /// The value that belongs to a cost.
    pub(crate) fn value(self, cost: f64, programs: usize) -> f64 {
        match self {
            Self::Unfairness | Self::MaxSlowdown => cost,
            Self::Stp => -cost,
            Self::Antt => cost / programs as f64,
        }
    }

    /// The cost that belongs to a value.
    pub(crate) fn cost_of(self, value: f64, programs: usize) -> f64 {
        match self {
            Self::Unfairness | Self::MaxSlowdown => value,
            Self::Stp => -value,
            Self::Antt => value * programs as f64,
        }
    }
}

/// Checks that a partition exists, and that a method can find one.
pub(crate) fn check(problem: &Problem<'_>, has_deadline: bool) -> Result<(), Impossible> {
    let Problem { mix, llc, kind, .. } = *problem;
    let programs = mix.len();
    if programs == 0 {
        return Err(Impossible::NoProgram);
    }
    let most = problem.most_programs();
    let clusters = if kind == SharingKind::Partitioning { programs } else { 1 };
    let (ways, min_ways) = (llc.ways.get(), llc.min_ways());
    if clusters > (ways / min_ways) as usize {
        return Err(Impossible::TooFewWays { clusters, min_ways, ways });
    }
    if clusters > llc.clos as usize {
        return Err(Impossible::TooFewClusters { programs, clusters: llc.clos });
    }
    let are_walks_possible = problem.bandwidth.is_none() || problem.levels.is_empty();
    if programs > most && !(has_deadline && are_walks_possible) {
        return Err(Impossible::TooManyPrograms { most, programs });
    }
    Ok(())
}
