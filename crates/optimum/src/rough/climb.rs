//! From a partition to better ones nearby.

use fairways_core::WayMask;
use fairways_profiles::Scorer;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::{Kind, Problem};

/// Which cluster each program is in, and the ways of each cluster.
#[derive(Clone, Debug)]
struct Clusters {
    of: Vec<usize>,
    ways: Vec<u32>,
}

/// What a partition costs, less being better: the objective's value, then minus the STP. One that
/// memory can't serve costs infinitely much, then what it asks of memory.
pub(super) type Cost = (f64, f64);

/// A change of a partition.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// A way of one cluster goes to another.
    Way(usize, usize),
    /// A program goes to another cluster.
    Program(usize, usize),
    /// Two programs change places.
    Swap(usize, usize),
    /// A program gets a cluster of its own, with ways of this one.
    Alone(usize, usize),
}

/// A walk over the partitions of a problem.
pub(super) struct Climb<'a> {
    problem: &'a Problem<'a>,
    scorer: Scorer,
    rng: Pcg64Mcg,
    most_clusters: usize,
    at: Clusters,
    pub(super) cost: Cost,
}

/// Changes made at once to leave a partition that has no better one nearby.
const KICKS: usize = 4;

impl<'a> Climb<'a> {
    /// From everybody together, or from each alone where they must be.
    pub(super) fn new(problem: &'a Problem<'a>, rng: Pcg64Mcg) -> Self {
        let Problem { profiles, mix, llc, kind, bandwidth, .. } = *problem;
        let ways = llc.ways.get();
        let count = u32::try_from(mix.len()).unwrap_or(u32::MAX);
        let at = match kind {
            Kind::Clustering => Clusters { of: vec![0; mix.len()], ways: vec![ways] },
            Kind::Partitioning => Clusters {
                of: (0..mix.len()).collect(),
                ways: (0..count).map(|n| ways / count + u32::from(n < ways % count)).collect(),
            },
        };
        let scorer = Scorer::new(profiles, mix, llc.ways, bandwidth);
        let most_clusters = (llc.clos as usize).min((ways / llc.min_ways()) as usize);
        let mut climb =
            Self { problem, scorer, rng, most_clusters, at, cost: (f64::INFINITY, 0.0) };
        climb.cost = climb.score(&climb.at.clone());
        climb
    }

    /// The programs' masks.
    pub(super) fn masks(&self) -> Vec<WayMask> {
        masks(&self.at)
    }

    /// Goes on to the best nearby, until none is better.
    pub(super) fn up(&mut self, late: &dyn Fn() -> bool) {
        let mut moves = self.moves();
        'better: loop {
            for index in 0..moves.len() {
                let other = index + self.below(moves.len() - index);
                moves.swap(index, other);
                if late() {
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

    /// A few changes, for better or worse.
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

    fn moves(&self) -> Vec<Move> {
        let (clusters, programs) = (self.at.ways.len(), self.at.of.len());
        let mut moves = Vec::new();
        for from in 0..clusters {
            moves.extend((0..clusters).map(|to| Move::Way(from, to)));
        }
        if self.problem.kind == Kind::Clustering {
            for program in 0..programs {
                moves.extend((0..clusters).map(|to| Move::Program(program, to)));
                moves.extend((0..program).map(|other| Move::Swap(program, other)));
                moves.extend((0..clusters).map(|giver| Move::Alone(program, giver)));
            }
        } else {
            for program in 0..programs {
                moves.extend((0..program).map(|other| Move::Swap(program, other)));
            }
        }
        moves
    }

    /// The partition after a change, if there is one and it is another.
    fn after(&self, change: Move) -> Option<Clusters> {
        let min_ways = self.problem.llc.min_ways();
        let mut next = self.at.clone();
        match change {
            Move::Way(from, to) => {
                if from == to || next.ways[from] <= min_ways {
                    return None;
                }
                next.ways[from] -= 1;
                next.ways[to] += 1;
            }
            Move::Program(program, to) => {
                let from = next.of[program];
                if from == to {
                    return None;
                }
                next.of[program] = to;
                if !next.of.contains(&from) {
                    next.ways[to] += next.ways[from];
                    next.ways.swap_remove(from);
                    let last = next.ways.len();
                    next.of.iter_mut().filter(|of| **of == last).for_each(|of| *of = from);
                }
            }
            Move::Swap(program, other) => {
                if next.of[program] == next.of[other] {
                    return None;
                }
                next.of.swap(program, other);
            }
            Move::Alone(program, giver) => {
                let from = next.of[program];
                let lonely = next.of.iter().filter(|of| **of == from).count() == 1;
                let full = next.ways.len() == self.most_clusters;
                if lonely || full || next.ways[giver] < 2 * min_ways {
                    return None;
                }
                next.ways[giver] -= min_ways;
                next.of[program] = next.ways.len();
                next.ways.push(min_ways);
            }
        }
        Some(next)
    }

    fn score(&mut self, clusters: &Clusters) -> Cost {
        let Ok(slowdowns) = self.scorer.score(&masks(clusters)) else {
            return (f64::INFINITY, self.scorer.demand_mbps());
        };
        let stp = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>();
        (self.problem.objective.cost(slowdowns), -stp)
    }
}

fn masks(clusters: &Clusters) -> Vec<WayMask> {
    let mut free = 0;
    let spans = clusters.ways.iter().map(|&ways| {
        free += ways;
        WayMask::span(free - ways, ways)
    });
    let spans: Vec<WayMask> = spans.collect();
    clusters.of.iter().map(|&cluster| spans[cluster]).collect()
}
