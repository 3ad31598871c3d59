//! What every cluster would be, with every number of ways and at any contention.

use fairways_core::Ways;
use fairways_profiles::{Bandwidth, Demand, Program};
use rayon::prelude::*;

use crate::oracle::Cluster;
use crate::table::{Members, Summed, Table};
use crate::{Kind, Objective};

/// A program in a cluster of some ways.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Its slowdown while memory has no limit.
    slowdown: f64,
    demand: Demand,
}

/// For every set of programs and number of ways, its programs.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) programs: usize,
    ways: usize,
    bandwidth: Bandwidth,
    objective: Objective,
    /// By set; within, way count after way count.
    members: Vec<Box<[Member]>>,
    /// No partition has more contention than this.
    pub(crate) most_contention: f64,
}

/// The clusters over an interval of contention.
#[derive(Debug)]
pub(crate) struct View {
    /// Each at the end of the interval that is better for it: the smallest slowdown is that of the
    /// most contention, the largest slowdown and the sum are those of the least.
    pub(crate) table: Table,
    /// What its programs use of memory at the least contention, and minus that at the most.
    pub(crate) used_at_least: Vec<f64>,
    pub(crate) room_at_most: Vec<f64>,
}

impl View {
    /// What these clusters' cells add up to.
    pub(crate) fn sum(&self, cells: &[f64], clusters: &[Cluster]) -> f64 {
        let cell = |&(set, ways): &Cluster| cells[set as usize * self.table.ways + ways - 1];
        clusters.iter().map(cell).sum()
    }
}

/// As slow as a program can be told to be, where memory leaves it nothing.
const STANDSTILL: f64 = 1e15;

impl Cells {
    pub(crate) fn new(
        programs: &[Program],
        ways: Ways,
        kind: Kind,
        bandwidth: Bandwidth,
        objective: Objective,
    ) -> Self {
        let count = ways.get() as usize;
        let members = |set: usize| {
            let mut members = Vec::new();
            if kind.clusters(set) {
                let mut cluster = Members::default();
                cluster.read(programs, set);
                for _ in 0..count {
                    cluster.sweep(|program, x| {
                        let (slowdown, demand) = (program.slowdown(x), program.demand(x));
                        members.push(Member { slowdown, demand });
                    });
                }
            }
            members.into_boxed_slice()
        };
        let sets = 0..1usize << programs.len();
        let members: Vec<Box<[Member]>> =
            sets.into_par_iter().with_min_len(64).map(members).collect();
        let mut least = vec![f64::INFINITY; programs.len()];
        for (set, row) in members.iter().enumerate() {
            let indices = (0..programs.len()).filter(|index| set >> index & 1 == 1);
            for (index, member) in indices.cycle().zip(row) {
                least[index] = least[index].min(member.demand.mbps);
            }
        }
        // Whoever asks for the most at its least.
        let least = least.into_iter().fold(0.0, f64::max);
        let most_contention = bandwidth.most_contention(programs.len(), least);
        Self {
            programs: programs.len(),
            ways: count,
            bandwidth,
            objective,
            members,
            most_contention,
        }
    }

    /// The clusters while contention is from `from` to `to`.
    pub(crate) fn view(&self, from: f64, to: f64) -> View {
        let (ways, cells) = (self.ways, self.ways * self.members.len());
        let summed =
            if self.objective == Objective::Antt { Summed::Slowdown } else { Summed::Progress };
        let mut table = Table {
            programs: self.programs,
            ways,
            lo: vec![f64::INFINITY; cells],
            hi: vec![f64::INFINITY; cells],
            sum: vec![0.0; cells],
        };
        let (mut used_at_least, mut room_at_most) = (vec![0.0; cells], vec![0.0; cells]);
        let bounds = table.lo.par_chunks_mut(ways).zip(table.hi.par_chunks_mut(ways));
        let sums = table.sum.par_chunks_mut(ways);
        let uses = used_at_least.par_chunks_mut(ways).zip(room_at_most.par_chunks_mut(ways));
        let rows = bounds.zip(sums).zip(uses).zip(&self.members).with_min_len(64);
        rows.for_each(|((((lo, hi), sum), (used, room)), row)| {
            if row.is_empty() {
                return;
            }
            for (way, members) in row.chunks_exact(row.len() / ways).enumerate() {
                let (mut least, mut most) = (STANDSTILL, 0.0f64);
                for Member { slowdown, demand } in members {
                    let best = slowdown * self.bandwidth.growth(demand, from);
                    least = least.min(slowdown * self.bandwidth.growth(demand, to));
                    most = most.max(best);
                    sum[way] += summed.of(best);
                    used[way] += self.bandwidth.used(demand, from);
                    room[way] -= self.bandwidth.used(demand, to);
                }
                // The largest slowdown is its ratio to 1.
                let one = self.objective == Objective::MaxSlowdown;
                (lo[way], hi[way]) = (if one { 1.0 } else { least }, most);
            }
        });
        View { table, used_at_least, room_at_most }
    }

    /// What memory serves at some contention, as a share of its limit.
    pub(crate) fn served(&self, contention: f64) -> f64 {
        self.bandwidth.served(contention)
    }

    /// What a clustering costs, less being better, and its STP; none if memory can't serve it.
    pub(crate) fn cost(&self, clusters: &[Cluster]) -> Option<(f64, f64)> {
        // In the order of the programs: sums are then the same as a scorer's, to the last digit.
        let mut members: Vec<(usize, Member)> = Vec::with_capacity(self.programs);
        for &(set, ways) in clusters {
            let count = set.count_ones() as usize;
            let indices = (0..self.programs).filter(|index| set >> index & 1 == 1);
            let cell = &self.members[set as usize][(ways - 1) * count..ways * count];
            members.extend(indices.zip(cell.iter().copied()));
        }
        members.sort_unstable_by_key(|&(index, _)| index);
        let demands: Vec<Demand> = members.iter().map(|(_, member)| member.demand).collect();
        let mut slowdowns: Vec<f64> = members.iter().map(|(_, member)| member.slowdown).collect();
        self.bandwidth.slow_down(&demands, &mut slowdowns).ok()?;
        let stp = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>();
        Some((self.objective.cost(&slowdowns), stp))
    }
}
