//! The exact best way to share a cache, by the static model of `fairways-profiles`.
//!
//! LFOC §2.2 counts the clusterings of 8 programs on 20 ways: 9 788 801. They need not be looked at
//! one by one. How a cluster fares depends on its programs and its ways alone, so there are only
//! 2^n · k clusters to know (`table.rs`), and whether the programs can be clustered so that every
//! slowdown lies within bounds is answered by dynamic programming over sets of programs
//! (`oracle.rs`). The least unfairness is the least ratio of two such bounds (`search.rs`); a sum over
//! programs is one more pass. Nothing is assumed of the curves: they need not be monotone.
//!
//! [`count`](mod@count) has the sizes of the search space, [`enumerate`](mod@enumerate) looks at every
//! clustering all the same: slow, plain, and what the rest is tested against.

pub mod count;
pub mod enumerate;

mod oracle;
mod search;
mod table;

use std::time::Instant;

use fairways_core::{AppId, Llc, Partition, WayMask};
use fairways_profiles::{Metrics, Program, Scorer, Table as Profiles};
use thiserror::Error;

use oracle::{Cluster, Limits, Oracle};
use search::Search;
use table::{Summed, Table};

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
    /// highest STP.
    Unfairness,
    /// The highest STP: the sum of 1 / slowdown (LFOC equation 4).
    Stp,
    /// The least largest slowdown. Of equals, the highest STP.
    MaxSlowdown,
    /// The least ANTT: the mean slowdown.
    Antt,
}

/// A mix on a cache, and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The profiles.
    pub profiles: &'a Profiles,
    /// The programs of the mix: their indices.
    pub mix: &'a [usize],
    /// The cache: its ways, the fewest of a mask, and the most clusters. Every way is given to
    /// somebody.
    pub llc: Llc,
    /// What a partition is made of.
    pub kind: Kind,
    /// What is best.
    pub objective: Objective,
}

/// The most programs for which every cluster fits into memory: a GiB for 20 ways.
pub const MOST_PROGRAMS: usize = 20;

/// A best partition, or the best that was found in time.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The clusters' masks, from the top way down; app `i` is the mix's program `i`.
    pub partition: Partition,
    /// The slowdown of each program of the mix, in order.
    pub slowdowns: Vec<f64>,
    /// What they sum up to.
    pub metrics: Metrics,
    /// The value of the objective.
    pub value: f64,
    /// No partition has a better value than this.
    pub bound: f64,
    /// Whether there is none better.
    pub proven: bool,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Impossible {
    /// There is no program.
    #[error("expected at least one program")]
    NoProgram,
    /// More programs than the exact method takes.
    #[error("expected at most {MOST_PROGRAMS} programs, found {programs}")]
    TooManyPrograms {
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

/// The best partition of a problem. If `deadline` comes first, the best found, and a bound (of a
/// search for the least unfairness; the others are one pass).
///
/// `told` hears of the least unfairness found so far, if any is, and of the bound, as it goes. The
/// answer is the same for any number of threads.
///
/// # Errors
/// If there is no partition at all, or the exact method can't take so many programs.
pub fn solve(
    problem: &Problem<'_>,
    deadline: Option<Instant>,
    mut told: impl FnMut(Option<f64>, f64),
) -> Result<Solution, Impossible> {
    let Problem { profiles, mix, llc, kind, objective } = *problem;
    check(problem)?;
    let programs: Vec<Program> =
        mix.iter().map(|&index| Program::new(profiles, index, llc.ways)).collect();
    let summed = if objective == Objective::Antt { Summed::Slowdown } else { Summed::Progress };
    let table = Table::new(&programs, llc.ways, kind, summed);
    let allowed = llc.clos as usize;
    let mut within = |max_clusters| {
        let limits = Limits { min_ways: llc.min_ways() as usize, max_clusters };
        best(&table, limits, objective, deadline, &mut told)
    };
    // Counting clusters costs as many times more as there may be. Most often the best of all has no
    // more than are allowed, and is the best of those.
    let (mut clusters, mut bound) = within(programs.len());
    if clusters.len() > allowed {
        (clusters, bound) = within(allowed);
    }
    Ok(solution(problem, &clusters, bound))
}

/// The clusters of the best partition within limits, and a bound if it is not proven to be.
fn best(
    table: &Table,
    limits: Limits,
    objective: Objective,
    deadline: Option<Instant>,
    told: &mut dyn FnMut(Option<f64>, f64),
) -> (Vec<Cluster>, Option<f64>) {
    let mut oracle = Oracle::new(table, limits);
    let (found, bound) = match objective {
        Objective::Stp | Objective::Antt => {
            oracle.admit(0.0, f64::INFINITY);
            (oracle.best().map(|(_, clusters)| clusters), None)
        }
        Objective::MaxSlowdown => {
            search::least_largest(table, &mut oracle);
            (oracle.best().map(|(_, clusters)| clusters), None)
        }
        Objective::Unfairness => {
            let mut search = Search::new(table, oracle, deadline.is_some());
            let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            while !(late() && search.found.is_some()) && search.step() {
                told(search.found.as_ref().map(|found| found.value), search.bound());
            }
            let open = search.bound();
            let value = search.found.as_ref().map_or(f64::INFINITY, |found| found.value);
            let bound = (open < value).then_some(open);
            if bound.is_none() {
                search.break_ties();
            }
            (search.found.map(|found| found.clusters), bound)
        }
    };
    (found.expect("what was checked has a partition"), bound)
}

fn check(problem: &Problem<'_>) -> Result<(), Impossible> {
    let Problem { mix, llc, kind, .. } = *problem;
    let programs = mix.len();
    if programs == 0 {
        return Err(Impossible::NoProgram);
    }
    if programs > MOST_PROGRAMS {
        return Err(Impossible::TooManyPrograms { programs });
    }
    let clusters = if kind == Kind::Partitioning { programs } else { 1 };
    let (ways, min_ways) = (llc.ways.get(), llc.min_ways());
    if clusters > (ways / min_ways) as usize {
        return Err(Impossible::TooFewWays { clusters, min_ways, ways });
    }
    if clusters > llc.clos as usize {
        return Err(Impossible::TooFewClusters { programs, clusters: llc.clos });
    }
    Ok(())
}

/// Scores what was found as everything else is scored.
fn solution(problem: &Problem<'_>, clusters: &[Cluster], bound: Option<f64>) -> Solution {
    let Problem { profiles, mix, llc, objective, .. } = *problem;
    // The cluster of the first program first.
    let mut clusters = clusters.to_vec();
    clusters.sort_unstable_by_key(|(set, _)| set.trailing_zeros());
    let mut partition = Partition::default();
    let mut free = llc.ways.get();
    let mut masks = vec![WayMask::default(); mix.len()];
    for (set, ways) in clusters {
        let ways = u32::try_from(ways).unwrap_or(0);
        free -= ways;
        let mask = WayMask::span(free, ways);
        let cluster = partition.add_cluster(mask);
        for (app, place) in (0..).zip(&mut masks) {
            if set >> app & 1 == 1 {
                partition.place(AppId(app), cluster);
                *place = mask;
            }
        }
    }
    let mut scorer = Scorer::new(profiles, mix, llc.ways, None);
    let slowdowns = scorer.score(&masks).expect("memory has no limit").to_vec();
    let metrics = Metrics::of(&slowdowns);
    let value = match objective {
        Objective::Unfairness => metrics.unfairness,
        Objective::Stp => metrics.stp,
        Objective::MaxSlowdown => slowdowns.iter().copied().fold(0.0, f64::max),
        Objective::Antt => metrics.antt,
    };
    let proven = bound.is_none();
    Solution { partition, slowdowns, metrics, value, bound: bound.unwrap_or(value), proven }
}
