//! Local search: from a partition to better neighbours.

use fairways_core::WayMask;
use fairways_profiles::Scorer;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::{Problem, SharingKind};

/// Which cluster each program is in, and the ways of each cluster.
#[derive(Clone, Debug)]
struct Clustering {
    cluster_of: Vec<usize>,
    ways: Vec<u32>,
}

/// The cost of a partition (less is better): the goal's cost, then minus the STP. If memory can't
/// serve the partition: infinity, then its demand on memory.
pub(super) type WalkCost = (f64, f64);

/// A change of a partition.
#[derive(Clone, Copy, Debug)]
enum PartitionMove {
    /// A way moves from one cluster to another.
    Way(usize, usize),
    /// A program moves to another cluster.
    Program(usize, usize),
    /// Two programs swap clusters.
    Swap(usize, usize),
    /// A program gets its own cluster, with ways of this cluster.
    Alone(usize, usize),
}

/// A walk over the partitions of a problem.
pub(super) struct LocalSearch<'a> {
    problem: &'a Problem<'a>,
    scorer: Scorer,
    rng: Pcg64Mcg,
    most_clusters: usize,
    at: Clustering,
    pub(super) cost: WalkCost,
}

/// The number of changes that leave a local optimum.
const KICKS: usize = 4;

impl<'a> LocalSearch<'a> {
    /// Starts with all programs in one cluster, or with each in its own where sharing is not
    /// allowed.
    pub(super) fn new(problem: &'a Problem<'a>, rng: Pcg64Mcg) -> Self {
        let Problem { profiles, mix, llc, kind, bandwidth, .. } = *problem;
        let ways = llc.ways.get();
        let count = u32::try_from(mix.len()).unwrap_or(u32::MAX);
        let at = match kind {
            SharingKind::Clustering => {
                Clustering { cluster_of: vec![0; mix.len()], ways: vec![ways] }
            }
            SharingKind::Partitioning => Clustering {
                cluster_of: (0..mix.len()).collect(),
                ways: (0..count).map(|n| ways / count + u32::from(n < ways % count)).collect(),
            },
        };
        let scorer = Scorer::new(profiles, mix, llc.ways, bandwidth);
        let most_clusters = (llc.clos as usize).min((ways / llc.min_ways()) as usize);
        let mut walk = Self { problem, scorer, rng, most_clusters, at, cost: (f64::INFINITY, 0.0) };
        walk.cost = walk.score(&walk.at.clone());
        walk
    }

    /// The programs' masks.
    pub(super) fn masks(&self) -> Vec<WayMask> {
        masks(&self.at)
    }

    /// Moves to better neighbours until there is none.
    pub(super) fn up(&mut self, is_late: &dyn Fn() -> bool) {
        let mut moves = self.moves();
        'better: loop {
            for index in 0..moves.len() {
                let other = index + self.below(moves.len() - index);
                moves.swap(index, other);
                if is_late() {
                    return;
                }
                let Some(next) = self.after(moves[index]) else { continue };
                let cost = self.score(&next);
                if cost < self.cost {
                    (self.at, self.cost) = (next, cost);
                    moves = self.moves();
                    continue 'better;
                }
            }
            return;
        }
    }

    /// Makes a few random changes, for better or worse.
    pub(super) fn kick(&mut self) {
        for _ in 0..KICKS {
            let moves = self.moves();
            if moves.is_empty() {
                return;
            }
            let chosen = moves[self.below(moves.len())];
            if let Some(next) = self.after(chosen) {
                self.at = next;
            }
        }
        self.cost = self.score(&self.at.clone());
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.rng.next_u64() % (count.max(1) as u64)).unwrap_or(0)
    }

    fn moves(&self) -> Vec<PartitionMove> {
        let (clusters, programs) = (self.at.ways.len(), self.at.cluster_of.len());
        let mut moves = Vec::new();
        for from in 0..clusters {
            moves.extend((0..clusters).map(|to| PartitionMove::Way(from, to)));
        }
        if self.problem.kind == SharingKind::Clustering {
            for program in 0..programs {
                moves.extend((0..clusters).map(|to| PartitionMove::Program(program, to)));
                moves.extend((0..program).map(|other| PartitionMove::Swap(program, other)));
                moves.extend((0..clusters).map(|giver| PartitionMove::Alone(program, giver)));
            }
        } else {
            for program in 0..programs {
                moves.extend((0..program).map(|other| PartitionMove::Swap(program, other)));
            }
        }
        moves
    }

    /// The partition after a change; `None` if the change is impossible or changes nothing.
    fn after(&self, change: PartitionMove) -> Option<Clustering> {
        let min_ways = self.problem.llc.min_ways();
        let mut next = self.at.clone();
        match change {
            PartitionMove::Way(from, to) => {
                if from == to || next.ways[from] <= min_ways {
                    return None;
                }
                next.ways[from] -= 1;
                next.ways[to] += 1;
            }
            PartitionMove::Program(program, to) => {
                let from = next.cluster_of[program];
                if from == to {
                    return None;
                }
                next.cluster_of[program] = to;
                if !next.cluster_of.contains(&from) {
                    next.ways[to] += next.ways[from];
                    next.ways.swap_remove(from);
                    let last = next.ways.len();
                    next.cluster_of
                        .iter_mut()
                        .filter(|cluster| **cluster == last)
                        .for_each(|cluster| *cluster = from);
                }
            }
            PartitionMove::Swap(program, other) => {
                if next.cluster_of[program] == next.cluster_of[other] {
                    return None;
                }
                next.cluster_of.swap(program, other);
            }
            PartitionMove::Alone(program, giver) => {
                let from = next.cluster_of[program];
                let is_alone =
                    next.cluster_of.iter().filter(|cluster| **cluster == from).count() == 1;
                let is_full = next.ways.len() == self.most_clusters;
                if is_alone || is_full || next.ways[giver] < 2 * min_ways {
                    return None;
                }
                next.ways[giver] -= min_ways;
                next.cluster_of[program] = next.ways.len();
                next.ways.push(min_ways);
            }
        }
        Some(next)
    }

    fn score(&mut self, clusters: &Clustering) -> WalkCost {
        let Ok(slowdowns) = self.scorer.score(&masks(clusters)) else {
            return (f64::INFINITY, self.scorer.demand_mbps());
        };
        let stp = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>();
        (self.problem.goal.cost(slowdowns), -stp)
    }
}

fn masks(clusters: &Clustering) -> Vec<WayMask> {
    let mut free = 0;
    let spans = clusters.ways.iter().map(|&ways| {
        free += ways;
        WayMask::span(free - ways, ways)
    });
    let spans: Vec<WayMask> = spans.collect();
    clusters.cluster_of.iter().map(|&cluster| spans[cluster]).collect()
}
