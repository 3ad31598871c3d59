//! The best way to share a cache, by the static model of `fairways-profiles`: the exact one for as
//! many programs as an operator has; for more, a good one and a bound.
//!
//! LFOC §2.2 counts the clusterings of 8 programs on 20 ways: 9 788 801. There is no need to score
//! them one by one. A cluster's slowdowns depend on its programs and its ways alone, so there are
//! only 2^n · k different clusters (`table.rs`). Dynamic programming over sets of programs decides
//! whether the programs can be clustered so that every slowdown lies within bounds (`oracle.rs`).
//! The least unfairness is the least ratio of two such bounds (`search.rs`); a sum over programs is
//! one more pass. The method assumes nothing about the curves: they need not be monotone.
//!
//! With many programs, nearly all clusters are ruled out before any are combined, by prices of
//! programs (`prices.rs`), in windows as narrow as the ratio of a good partition allows, which a
//! local search finds first.
//!
//! Where memory has a limit, one number couples the clusters; an outer search runs over this number
//! (`contended`). Several caches are one question: which programs are on which, and how each is
//! shared ([`place`]). For mixes that are too large for the exact method, a local search runs until
//! a deadline, with a bound beside it (`rough`).
//!
//! [`count`](mod@count) has the sizes of the search space, [`enumerate`](mod@enumerate) scores
//! every clustering: slow and plain; the rest is tested against it.

pub mod count;
pub mod enumerate;

mod contended;
mod master;
mod oracle;
mod placed;
mod prices;
mod problem;
mod rough;
mod search;
mod table;
mod weighed;

use std::time::Instant;

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask, Ways};
use fairways_profiles::{FairnessMetrics, ProfiledProgram, Scorer};

use contended::{ClusterCells, Contended};
use oracle::{ClusterLimits, Oracle};
pub use placed::{PlacedProblem, place};
pub use problem::{Goal, Impossible, Problem, SharingKind};
use search::{BestClustering, Search, just_above};
use table::{ChosenCluster, ClusterTable, Summed};
use weighed::WeighedSearch;

/// A best partition, or the best one found in time.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The plan of each cache, with the programs that run there: the clusters' masks, from the top
    /// way down; app `i` is the mix's program `i`.
    pub plans: Vec<Partition>,
    /// The slowdown of each program of the mix, in order.
    pub slowdowns: Vec<f64>,
    /// The fairness metrics of these slowdowns.
    pub metrics: FairnessMetrics,
    /// The value of the goal.
    pub value: f64,
    /// No partition has a better value than this.
    pub bound: f64,
    /// Whether it is proven that no partition is better, with what the problem tolerates.
    pub is_proven: bool,
}

/// The best partition of a problem. If `deadline` comes first, the best one found, and a bound
/// (searches for the least unfairness or under a memory limit can be cut short; the other goals
/// take one pass). Where memory has a limit, no partition's value is better by more than 10^-9 of
/// it, and ties are broken arbitrarily.
///
/// More programs than [`Problem::most_programs`] are searched by a local search until the deadline.
///
/// `report` gets the best value found so far, if any, and the bound, as the search proceeds. A
/// proven answer is the same for any number of threads.
///
/// # Errors
/// If there is no partition, none is found in time, or there are too many programs and no deadline.
pub fn solve(
    problem: &Problem<'_>,
    deadline: Option<Instant>,
    mut report: impl FnMut(Option<f64>, f64),
) -> Result<Solution, Impossible> {
    let Problem { profiles, mix, llc, kind, bandwidth, levels, goal, .. } = *problem;
    problem::check(problem, deadline.is_some())?;
    let programs: Vec<ProfiledProgram> =
        mix.iter().map(|&index| ProfiledProgram::new(profiles, index, llc.ways)).collect();
    if mix.len() > problem.most_programs() {
        let (masks, bound) = rough::search(problem, &programs, &|| is_past(deadline), &mut report)?;
        return solution(problem, plan_of_masks(&masks), bound, bound.is_none());
    }
    let allowed = llc.clos as usize;
    let ((clusters, bound), is_proven) = if let Some(bandwidth) = bandwidth {
        let cells = ClusterCells::new(&programs, llc.ways, kind, bandwidth, levels, goal);
        let least = rough::relaxed::bound(&programs, llc.ways, goal, true);
        let least = goal.cost_of(least, mix.len());
        with_few_clusters(allowed, mix.len(), |most| {
            let limits = ClusterLimits::new(&llc, most);
            let is_late = &|| is_past(deadline);
            let contended = Contended::new(&cells, limits, goal, is_late);
            let found = contended.run(least, &mut |best, bound| {
                let best = best.map(|cost| goal.value(cost, mix.len()));
                report(best, goal.value(bound, mix.len()));
            })?;
            let is_proven = found.1.is_none();
            Ok((found, is_proven))
        })?
    } else {
        let summed = if goal == Goal::Antt { Summed::Slowdown } else { Summed::Progress };
        let table = ClusterTable::new(&programs, llc.ways, kind, summed);
        let tolerance = problem.tolerance;
        let start = (goal == Goal::Unfairness && mix.len() >= oracle::MANY)
            .then(|| table.clusters_of(&rough::start(problem)));
        with_few_clusters(allowed, mix.len(), |most| {
            let limits = ClusterLimits::new(&llc, most);
            let wanted = (goal, tolerance, allowed);
            let oracle = Oracle::new(&table, limits);
            let found = best(&table, oracle, wanted, start.clone(), deadline, &mut report);
            Ok(found.expect("a partition, since one was checked to fit"))
        })?
    };
    let bound = bound.map(|bound| goal.value(bound, mix.len()));
    let plan = plan_of_clusters(llc.ways, levels, clusters, mix.len());
    solution(problem, plan, bound, is_proven)
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// The best of at most `allowed` clusters. Limiting the number of clusters multiplies the cost by
/// that number, and most often the best of all has no more clusters than allowed. So the search
/// first runs without a limit.
fn with_few_clusters(
    allowed: usize,
    programs: usize,
    mut best: impl FnMut(usize) -> Result<WeighedClusters, Impossible>,
) -> Result<WeighedClusters, Impossible> {
    let found = best(programs)?;
    if found.0.0.len() > allowed { best(allowed) } else { Ok(found) }
}

/// Clusters, and a lower bound on the cost if these may have a larger one.
type BoundedClusters = (Vec<ChosenCluster>, Option<f64>);

/// Clusters within a tolerance of the best; whether none is better, and if one may have a smaller
/// cost, a bound on it.
type WeighedClusters = (BoundedClusters, bool);

/// The clusters of the best partition within the oracle's limits, and a bound if it is not proven
/// to be the best. A search for the least unfairness begins with what is better than `start`, and
/// ends there if the fairest are more clusters than are allowed.
fn best<'a>(
    table: &'a ClusterTable,
    mut oracle: Oracle<'a>,
    (goal, tolerance, allowed): (Goal, f64, usize),
    start: Option<Vec<ChosenCluster>>,
    deadline: Option<Instant>,
    report: &mut dyn FnMut(Option<f64>, f64),
) -> Option<WeighedClusters> {
    let is_late = &|| is_past(deadline);
    match goal {
        Goal::Stp | Goal::Antt => oracle.admit(0.0, f64::INFINITY),
        Goal::MaxSlowdown => {
            let least = search::least_largest(table, &mut oracle);
            oracle.admit(0.0, just_above(least));
            let (_, clusters) = oracle.best(&table.sum)?;
            if tolerance == 0.0 || clusters.len() > allowed {
                return Some(((clusters, None), true));
            }
            let weighed = WeighedSearch::new(table, &mut oracle, (least, tolerance), is_late);
            let (clusters, is_proven) = weighed.by_largest()?;
            return Some(((clusters, Some(least)), is_proven));
        }
        Goal::Unfairness => {
            let mut search = Search::new(table, oracle, deadline.is_some());
            if let Some(start) = start {
                search.consider(start);
            }
            while !(is_past(deadline) && search.found.is_some()) && search.step() {
                report(search.found.as_ref().map(|found| found.value), search.bound());
            }
            let open = search.bound();
            let value = search.found.as_ref().map_or(f64::INFINITY, |found| found.value);
            let bound = (open < value).then_some(open);
            if bound.is_some() {
                return search.found.map(|found| ((found.clusters, bound), false));
            }
            search.break_ties();
            let BestClustering { clusters, value } = search.found.take()?;
            if tolerance == 0.0 || clusters.len() > allowed {
                return Some(((clusters, None), true));
            }
            let mut oracle = search.into_oracle();
            let weighed = WeighedSearch::new(table, &mut oracle, (value, tolerance), is_late);
            let (clusters, is_proven) = weighed.by_ratio(clusters);
            return Some(((clusters, Some(value)), is_proven));
        }
    }
    oracle.best(&table.sum).map(|(_, clusters)| ((clusters, None), true))
}

/// The plan with these clusters of the first `programs` apps, that of the first program in the top
/// ways. Programs that are in no cluster have no place.
fn plan_of_clusters(
    ways: Ways,
    levels: &[BandwidthLevel],
    mut clusters: Vec<ChosenCluster>,
    programs: usize,
) -> Partition {
    clusters.sort_unstable_by_key(|cluster| cluster.set.trailing_zeros());
    let mut free = ways.get();
    let mut plan = Partition::default();
    for ChosenCluster { ways, level, .. } in &clusters {
        let ways = u32::try_from(*ways).unwrap_or(0);
        free -= ways;
        let bandwidth = level.checked_sub(1).map(|index| levels[index]);
        plan.add(Resources { mask: WayMask::span(free, ways), bandwidth });
    }
    for app in (0..).take(programs) {
        let own = (0..).zip(&clusters).find(|(_, cluster)| cluster.set >> app & 1 == 1);
        if let Some((cluster, _)) = own {
            plan.place(AppId(app), cluster);
        }
    }
    plan
}

/// The plan in which programs with the same mask share a cluster.
fn plan_of_masks(masks: &[WayMask]) -> Partition {
    let mut plan = Partition::default();
    for (app, &mask) in (0..).zip(masks) {
        let known = (0..).zip(plan.masks()).find(|(_, other)| *other == mask);
        let known = known.map(|(cluster, _)| cluster);
        let cluster = known.unwrap_or_else(|| plan.add_cluster(mask));
        plan.place(AppId(app), cluster);
    }
    plan
}

/// Scores a plan with the same scorer as everything else.
fn solution(
    problem: &Problem<'_>,
    partition: Partition,
    bound: Option<f64>,
    is_proven: bool,
) -> Result<Solution, Impossible> {
    let Problem { profiles, mix, llc, bandwidth, goal, .. } = *problem;
    let mut scorer = Scorer::new(profiles, mix, llc.ways, bandwidth);
    let slowdowns = scorer.score_plan(&partition);
    let slowdowns =
        slowdowns.map_err(|_| Impossible::TooLittleBandwidth { programs: mix.len() })?.to_vec();
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    let value = goal.value(goal.cost(&slowdowns), mix.len());
    let bound = bound.unwrap_or(value);
    Ok(Solution { plans: vec![partition], slowdowns, metrics, value, bound, is_proven })
}
