//! The best way to share a cache, by the static model of `fairways-profiles`: the exact one of as many
//! programs as an operator has, a good one beside a bound of more.
//!
//! LFOC §2.2 counts the clusterings of 8 programs on 20 ways: 9 788 801. They need not be looked at
//! one by one. How a cluster fares depends on its programs and its ways alone, so there are only
//! 2^n · k clusters to know (`table.rs`), and whether the programs can be clustered so that every
//! slowdown lies within bounds is answered by dynamic programming over sets of programs
//! (`oracle.rs`). The least unfairness is the least ratio of two such bounds (`search.rs`); a sum over
//! programs is one more pass. Nothing is assumed of the curves: they need not be monotone.
//!
//! Where memory has a limit, clusters are coupled, but by one number only, over which there is a
//! search around all this (`contended`). What is too large for the exact method is searched nearby
//! good partitions for as long as one likes, beside a bound (`rough`).
//!
//! [`count`](mod@count) has the sizes of the search space, [`enumerate`](mod@enumerate) looks at every
//! clustering all the same: slow, plain, and what the rest is tested against.

pub mod count;
pub mod enumerate;

mod contended;
mod oracle;
mod problem;
mod rough;
mod search;
mod table;

use std::time::Instant;

use fairways_core::{AppId, Llc, Partition, WayMask};
use fairways_profiles::{Metrics, Program, Scorer};

use contended::{Cells, Contended};
use oracle::{Cluster, Limits, Oracle};
pub use problem::{Impossible, Kind, Objective, Problem};
use search::Search;
use table::{Summed, Table};

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

/// The best partition of a problem. If `deadline` comes first, the best found, and a bound (of a
/// search for the least unfairness or under a memory limit; the others are one pass). Where memory
/// has a limit, no partition's value is better by more than 10^-9 of it, and of equals it is any.
///
/// More programs than [`Problem::most_programs`] are searched by trial until the deadline.
///
/// `told` hears of the best value found so far, if any is, and of the bound, as it goes. The answer is
/// the same for any number of threads, if it is proven.
///
/// # Errors
/// If there is no partition at all, none is found in time, or there are too many programs and no
/// deadline.
pub fn solve(
    problem: &Problem<'_>,
    deadline: Option<Instant>,
    mut told: impl FnMut(Option<f64>, f64),
) -> Result<Solution, Impossible> {
    let Problem { profiles, mix, llc, kind, bandwidth, objective } = *problem;
    problem::check(problem, deadline.is_some())?;
    let programs: Vec<Program> =
        mix.iter().map(|&index| Program::new(profiles, index, llc.ways)).collect();
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if mix.len() > problem.most_programs() {
        let (masks, bound) = rough::search(problem, &programs, &late, &mut told)?;
        return solution(problem, &masks, bound);
    }
    let limits = |max_clusters| Limits { min_ways: llc.min_ways() as usize, max_clusters };
    let allowed = llc.clos as usize;
    let (clusters, bound) = if let Some(bandwidth) = bandwidth {
        let cells = Cells::new(&programs, llc.ways, kind, bandwidth, objective);
        let value = |cost| objective.value(cost, mix.len());
        let least = rough::relaxed::bound(&programs, llc.ways, objective, true);
        let least = objective.cost_of(least, mix.len());
        lazily(allowed, mix.len(), |most| {
            let search = Contended::new(&cells, limits(most), objective, &late);
            search.run(least, &mut |best, bound| told(best.map(value), value(bound)))
        })?
    } else {
        let summed = if objective == Objective::Antt { Summed::Slowdown } else { Summed::Progress };
        let table = Table::new(&programs, llc.ways, kind, summed);
        lazily(allowed, mix.len(), |most| {
            let found = best(&table, limits(most), objective, deadline, &mut told);
            Ok(found.expect("a partition, since one was checked to fit"))
        })?
    };
    let bound = bound.map(|bound| objective.value(bound, mix.len()));
    solution(problem, &masks(&clusters, llc, mix.len()), bound)
}

/// What is best of at most `allowed` clusters. Counting clusters costs as many times more as there
/// may be, and most often the best of all has no more than are allowed, and is the best of those.
fn lazily(
    allowed: usize,
    programs: usize,
    mut best: impl FnMut(usize) -> Result<Found, Impossible>,
) -> Result<Found, Impossible> {
    best(programs).and_then(|found| if found.0.len() > allowed { best(allowed) } else { Ok(found) })
}

/// Clusters, and a bound on what any cost if these are not proven to be the best.
type Found = (Vec<Cluster>, Option<f64>);

/// The clusters of the best partition within limits, and a bound if it is not proven to be.
fn best(
    table: &Table,
    limits: Limits,
    objective: Objective,
    deadline: Option<Instant>,
    told: &mut dyn FnMut(Option<f64>, f64),
) -> Option<Found> {
    let mut oracle = Oracle::new(table, limits);
    match objective {
        Objective::Stp | Objective::Antt => oracle.admit(0.0, f64::INFINITY),
        Objective::MaxSlowdown => search::least_largest(table, &mut oracle),
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
            return search.found.map(|found| (found.clusters, bound));
        }
    }
    oracle.best(&table.sum).map(|(_, clusters)| (clusters, None))
}

/// The masks of the programs: the cluster of the first at the top.
fn masks(clusters: &[Cluster], llc: Llc, programs: usize) -> Vec<WayMask> {
    let mut clusters = clusters.to_vec();
    clusters.sort_unstable_by_key(|(set, _)| set.trailing_zeros());
    let mut free = llc.ways.get();
    let mut masks = vec![WayMask::default(); programs];
    for (set, ways) in clusters {
        let ways = u32::try_from(ways).unwrap_or(0);
        free -= ways;
        for (index, mask) in masks.iter_mut().enumerate() {
            if set >> index & 1 == 1 {
                *mask = WayMask::span(free, ways);
            }
        }
    }
    masks
}

/// Scores what was found as everything else is scored.
fn solution(
    problem: &Problem<'_>,
    masks: &[WayMask],
    bound: Option<f64>,
) -> Result<Solution, Impossible> {
    let Problem { profiles, mix, llc, bandwidth, objective, .. } = *problem;
    let mut partition = Partition::default();
    for (app, &mask) in (0..).zip(masks) {
        let known = (0..).zip(partition.masks()).find(|(_, other)| *other == mask);
        let known = known.map(|(cluster, _)| cluster);
        let cluster = known.unwrap_or_else(|| partition.add_cluster(mask));
        partition.place(AppId(app), cluster);
    }
    let mut scorer = Scorer::new(profiles, mix, llc.ways, bandwidth);
    let slowdowns = scorer.score(masks);
    let slowdowns =
        slowdowns.map_err(|_| Impossible::TooLittleBandwidth { programs: mix.len() })?.to_vec();
    let metrics = Metrics::of(&slowdowns);
    let value = objective.value(objective.cost(&slowdowns), mix.len());
    let proven = bound.is_none();
    Ok(Solution { partition, slowdowns, metrics, value, bound: bound.unwrap_or(value), proven })
}
