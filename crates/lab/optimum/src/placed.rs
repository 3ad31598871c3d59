//! Several caches: which programs are on which, and how each is shared, as one question.
//!
//! The best of each cache joined is not the best of the machine: the largest slowdown may be on one
//! cache and the smallest on another. So the search over windows of slowdowns stays as it is, and
//! only its last question changes: not whether all programs reach all ways, but whether they can be
//! divided among the caches so that each cache's programs reach its ways.

use std::time::Instant;

use fairways_core::{MachineCache, Partition, Ways};
use fairways_profiles::{FairnessMetrics, PlacedScorer, ProfileTable, ProfiledProgram};

use crate::oracle::largest::Largest;
use crate::oracle::{CacheRoom, ClusterLimits, Oracle};
use crate::problem::{Goal, Impossible, SharingKind};
use crate::table::{ChosenCluster, ClusterTable, Summed};
use crate::{Solution, best, is_past, plan_of_clusters};

/// The most programs on several caches: every set of them is examined for each cache.
const MOST_PLACED: usize = 16;

/// A mix on a machine with several caches, and the goal. Memory has no limit.
#[derive(Clone, Copy, Debug)]
pub struct PlacedProblem<'a> {
    /// The profiles.
    pub profiles: &'a ProfileTable,
    /// The programs of the mix: their indices.
    pub mix: &'a [usize],
    /// The caches, whose ways are of equal size, with the same least mask. Every way of a cache
    /// that has programs belongs to a cluster.
    pub caches: &'a [MachineCache],
    /// Whether programs may share ways.
    pub kind: SharingKind,
    /// The goal. Slowdowns are relative to the program alone on the largest cache.
    pub goal: Goal,
}

/// The best placement and plans. If `deadline` comes first, the best found, and a bound. `report`
/// is called as by [`solve`](crate::solve).
///
/// # Errors
/// If there is no placement, or there are too many programs.
pub fn place(
    problem: &PlacedProblem<'_>,
    deadline: Option<Instant>,
    mut report: impl FnMut(Option<f64>, f64),
) -> Result<Solution, Impossible> {
    let PlacedProblem { profiles, mix, caches, kind, goal } = *problem;
    check(problem)?;
    let largest = largest_of(caches);
    let programs: Vec<ProfiledProgram> =
        mix.iter().map(|&index| ProfiledProgram::new(profiles, index, largest)).collect();
    let summed = if goal == Goal::Antt { Summed::Slowdown } else { Summed::Progress };
    let table = ClusterTable::new(&programs, largest, kind, summed);
    let rooms = caches.iter().map(|cache| CacheRoom {
        ways: cache.llc.ways.get() as usize,
        programs: cache.cpus as usize,
        clusters: cache.llc.clos as usize,
    });
    let rooms: Vec<CacheRoom> = rooms.collect();
    let most = rooms.iter().map(|room| room.clusters).max().unwrap_or(1);
    let limits = ClusterLimits { min_ways: caches[0].llc.min_ways() as usize, max_clusters: most };
    let oracle = Oracle::placing(&table, limits, rooms);
    let found = best(&table, oracle, (goal, 0.0, usize::MAX), None, deadline, &mut report);
    let Some(((clusters, bound), is_proven)) = found else {
        let programs = mix.len();
        let late = Impossible::NoneInTime { programs };
        return Err(if is_past(deadline) { late } else { Impossible::NoPlacement { programs } });
    };
    let plans = caches.iter().enumerate().map(|(cache, MachineCache { llc, .. })| {
        let own = clusters.iter().filter(|cluster| cluster.cache == cache).copied().collect();
        plan_of_clusters(llc.ways, &[], own, mix.len())
    });
    let plans: Vec<Partition> = plans.collect();
    let ways: Vec<Ways> = caches.iter().map(|cache| cache.llc.ways).collect();
    let slowdowns = PlacedScorer::new(profiles, mix, &ways).score(&plans);
    let metrics = FairnessMetrics::from_slowdowns(&slowdowns);
    let value = goal.value(goal.cost(&slowdowns), mix.len());
    let bound = bound.map_or(value, |bound| goal.value(bound, mix.len()));
    Ok(Solution { plans, slowdowns, metrics, value, bound, is_proven })
}

/// Checks that the programs are not too many, for the CPUs or for the search.
fn check(problem: &PlacedProblem<'_>) -> Result<(), Impossible> {
    let (programs, caches) = (problem.mix.len(), problem.caches);
    if programs == 0 {
        return Err(Impossible::NoProgram);
    }
    let cpus = caches.iter().map(|cache| cache.cpus).sum::<u32>();
    if programs > cpus as usize {
        return Err(Impossible::TooFewCpus { programs, cpus });
    }
    if programs > MOST_PLACED {
        return Err(Impossible::TooManyPrograms { most: MOST_PLACED, programs });
    }
    Ok(())
}

fn largest_of(caches: &[MachineCache]) -> Ways {
    caches.iter().map(|cache| cache.llc.ways).max().expect("a cache")
}

impl Oracle<'_> {
    /// Whether a set of programs can be a cache's: all of them in clusters that have all its ways.
    fn fits(&self, set: usize, room: &CacheRoom) -> bool {
        let layers = self.layers();
        let mut reached = self.reached[set * layers..][..layers].iter().take(room.clusters + 1);
        set == 0
            || set.count_ones() as usize <= room.programs
                && reached.any(|totals| totals >> room.ways & 1 == 1)
    }

    /// The programs of each cache in a placement within the bounds admitted last, if there is one.
    pub(crate) fn placement(&self) -> Option<Vec<usize>> {
        self.placed_by(&mut |set, cache| {
            if self.fits(set, &self.rooms[cache]) { 0.0 } else { f64::NEG_INFINITY }
        })
    }

    /// The programs of each cache in the placement with the largest sum of `value`, which is minus
    /// infinity where a set does not fit into a cache. `None` if that is so of every placement.
    fn placed_by(&self, value: &mut dyn FnMut(usize, usize) -> f64) -> Option<Vec<usize>> {
        let all = (1 << self.table.programs) - 1;
        // By set: the largest sum of the caches from this one on, and the programs of this one.
        let last = self.rooms.len() - 1;
        let mut later: Vec<f64> = (0..=all).map(|set| value(set, last)).collect();
        let mut chosen = Vec::new();
        for cache in (0..last).rev() {
            let here: Vec<f64> = (0..=all).map(|set| value(set, cache)).collect();
            // Of the first cache, only what all programs leave to the others is of interest.
            let sets = if cache == 0 { all..=all } else { 0..=all };
            let best = sets.map(|set| {
                let sums = subsets(set).map(|own| (here[own] + later[set ^ own], own));
                sums.fold(
                    (f64::NEG_INFINITY, 0),
                    |best, sum| if sum.0 > best.0 { sum } else { best },
                )
            });
            let best: Vec<(f64, usize)> = best.collect();
            later = best.iter().map(|(sum, _)| *sum).collect();
            chosen.push(best);
        }
        if later.last() == Some(&f64::NEG_INFINITY) {
            return None;
        }
        let (mut left, mut sets) = (all, Vec::new());
        for (cache, best) in chosen.iter().rev().enumerate() {
            let own = best[if cache == 0 { 0 } else { left }].1;
            sets.push(own);
            left ^= own;
        }
        sets.push(left);
        Some(sets)
    }

    /// The clusters of a placement within the bounds admitted last, which must admit one.
    pub(crate) fn clustering_of_caches(&self) -> Vec<ChosenCluster> {
        let placement = self.placement().expect("a placement, since one was found");
        let caches = placement.into_iter().zip(&self.rooms).enumerate();
        let clusters = caches.flat_map(|(cache, (set, room))| {
            let below = self.layers().min(room.clusters + 1);
            let clusters = self.clustering_of(set, room.ways, below);
            clusters.into_iter().map(move |cluster| ChosenCluster { cache, ..cluster })
        });
        clusters.collect()
    }

    /// The clusters with the largest sum of `cells` within the bounds admitted last, and that sum.
    pub(crate) fn best_of_caches(&self, cells: &[f64]) -> Option<(f64, Vec<ChosenCluster>)> {
        let largest = self.largest(cells);
        let placement = self.placed_by(&mut |set, cache| {
            let room = &self.rooms[cache];
            let is_too_many = set.count_ones() as usize > room.programs;
            if is_too_many { f64::NEG_INFINITY } else { self.best_layer(&largest, set, room).1 }
        })?;
        let (mut sum, mut clusters) = (0.0, Vec::new());
        for (cache, (set, room)) in placement.into_iter().zip(&self.rooms).enumerate() {
            let (layer, best) = self.best_layer(&largest, set, room);
            let traced = self.trace(cells, &largest, (set, room.ways, layer, best));
            clusters.extend(traced.into_iter().map(|cluster| ChosenCluster { cache, ..cluster }));
            sum += best;
        }
        Some((sum, clusters))
    }

    /// The largest sum of a set on a cache, and the layer that has it.
    fn best_layer(&self, largest: &Largest, set: usize, room: &CacheRoom) -> (usize, f64) {
        if set == 0 {
            return (0, 0.0);
        }
        let layers = 0..self.layers().min(room.clusters + 1);
        let sums = layers.map(|layer| (layer, largest.sum(set, layer, room.ways)));
        let best = sums.reduce(|best, sum| if sum.1 > best.1 { sum } else { best });
        best.unwrap_or((0, f64::NEG_INFINITY))
    }
}

/// Every subset of a set, itself and none included.
fn subsets(set: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(set);
    std::iter::from_fn(move || {
        let subset = next?;
        next = (subset != 0).then(|| (subset - 1) & set);
        Some(subset)
    })
}
