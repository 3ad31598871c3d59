//! Every possible cluster, with every number of ways and at any contention.

use fairways_core::{BandwidthLevel, Ways};
use fairways_profiles::{Demand, MemoryBandwidth, ProfiledProgram};
use rayon::prelude::*;

use crate::table::{ChosenCluster, ClusterMembers, ClusterTable, Summed};
use crate::{Goal, SharingKind};

/// A program in a cluster with a number of ways.
#[derive(Clone, Copy, Debug)]
struct ClusterMember {
    /// Its slowdown while memory has no limit.
    slowdown: f64,
    demand: Demand,
}

/// The members of every cluster: of every set of programs with every number of ways.
#[derive(Debug)]
pub(crate) struct ClusterCells {
    pub(crate) programs: usize,
    ways: usize,
    bandwidth: MemoryBandwidth,
    goal: Goal,
    /// The levels to which a cluster may be limited.
    levels: Vec<BandwidthLevel>,
    /// By set; within a set, one way count after the other.
    members: Vec<Box<[ClusterMember]>>,
    /// No partition has more contention than this.
    pub(crate) most_contention: f64,
}

/// The clusters over an interval of contention.
#[derive(Debug)]
pub(crate) struct ContentionView {
    /// Each at the more favourable end of the interval: the smallest slowdown is at the highest
    /// contention; the largest slowdown and the sum are at the lowest.
    pub(crate) table: ClusterTable,
    /// By cell: the memory that its programs use at the lowest contention, and minus their use at
    /// the highest.
    pub(crate) used_at_least: Vec<f64>,
    pub(crate) room_at_most: Vec<f64>,
}

impl ContentionView {
    /// The sum of these clusters' cells.
    pub(crate) fn sum(&self, cells: &[f64], clusters: &[ChosenCluster]) -> f64 {
        clusters.iter().map(|&cluster| cells[self.table.cell(cluster)]).sum()
    }
}

/// The members of a cluster with 1 to `ways` ways; empty if the set may not be a cluster.
fn members_of(
    programs: &[ProfiledProgram],
    set: usize,
    kind: SharingKind,
    ways: usize,
) -> Box<[ClusterMember]> {
    let mut members = Vec::new();
    if kind.clusters(set) {
        let mut cluster = ClusterMembers::default();
        cluster.read(programs, set);
        for _ in 0..ways {
            cluster.sweep(|program, x| {
                let (slowdown, demand) = (program.slowdown(x), program.demand(x));
                members.push(ClusterMember { slowdown, demand });
            });
        }
    }
    members.into_boxed_slice()
}

/// The slowdown of a program that gets no memory bandwidth.
const STANDSTILL: f64 = 1e15;

impl ClusterCells {
    pub(crate) fn new(
        programs: &[ProfiledProgram],
        ways: Ways,
        kind: SharingKind,
        bandwidth: MemoryBandwidth,
        levels: &[BandwidthLevel],
        goal: Goal,
    ) -> Self {
        let count = ways.get() as usize;
        let sets = (0..1usize << programs.len()).into_par_iter().with_min_len(64);
        let members: Vec<Box<[ClusterMember]>> =
            sets.map(|set| members_of(programs, set, kind, count)).collect();
        let mut least = vec![f64::INFINITY; programs.len()];
        for (set, row) in members.iter().enumerate() {
            let indices = (0..programs.len()).filter(|index| set >> index & 1 == 1);
            for (index, member) in indices.cycle().zip(row) {
                least[index] = least[index].min(member.demand.mbps);
            }
        }
        // The largest of the programs' least demands.
        let least = least.into_iter().fold(0.0, f64::max);
        let most_contention = bandwidth.most_contention(programs.len(), least);
        let (programs, levels) = (programs.len(), levels.to_vec());
        Self { programs, ways: count, bandwidth, goal, levels, members, most_contention }
    }

    /// The clusters while contention is from `from` to `to`.
    pub(crate) fn view(&self, from: f64, to: f64) -> ContentionView {
        let (ways, levels) = (self.ways, 1 + self.levels.len());
        let (stride, cells) = (ways * levels, ways * levels * self.members.len());
        let summed = if self.goal == Goal::Antt { Summed::Slowdown } else { Summed::Progress };
        let mut table = ClusterTable {
            programs: self.programs,
            ways,
            levels,
            lo: vec![f64::INFINITY; cells],
            hi: vec![f64::INFINITY; cells],
            sum: vec![0.0; cells],
        };
        let (mut used_at_least, mut room_at_most) = (vec![0.0; cells], vec![0.0; cells]);
        let bounds = table.lo.par_chunks_mut(stride).zip(table.hi.par_chunks_mut(stride));
        let sums = table.sum.par_chunks_mut(stride);
        let uses = used_at_least.par_chunks_mut(stride).zip(room_at_most.par_chunks_mut(stride));
        let rows = bounds.zip(sums).zip(uses).zip(&self.members).with_min_len(64);
        rows.for_each(|((((lo, hi), sum), (used, room)), row)| {
            if row.is_empty() {
                return;
            }
            let members = row.chunks_exact(row.len() / ways);
            let cells = members.flat_map(|members| (0..levels).map(move |level| (members, level)));
            for (cell, (members, level)) in cells.enumerate() {
                let allowed = self.allowed(members, level);
                if level > 0 && allowed >= 1.0 {
                    continue;
                }
                let (mut least, mut most) = (STANDSTILL, 0.0f64);
                for ClusterMember { slowdown, demand } in members {
                    let demand = &Demand { allowed, ..*demand };
                    let best = slowdown * self.bandwidth.growth(demand, from);
                    least = least.min(slowdown * self.bandwidth.growth(demand, to));
                    most = most.max(best);
                    sum[cell] += summed.value(best);
                    used[cell] += self.bandwidth.used(demand, from);
                    room[cell] -= self.bandwidth.used(demand, to);
                }
                // The largest slowdown is its ratio to 1.
                let one = self.goal == Goal::MaxSlowdown;
                (lo[cell], hi[cell]) = (if one { 1.0 } else { least }, most);
            }
        });
        ContentionView { table, used_at_least, room_at_most }
    }

    /// The number of levels, of which one is no limit.
    pub(crate) fn levels(&self) -> u64 {
        1 + self.levels.len() as u64
    }

    /// The part of their demands that the members of a cluster may use at a level.
    fn allowed(&self, members: &[ClusterMember], level: usize) -> f64 {
        let level = level.checked_sub(1).map(|index| self.levels[index]);
        let together = members.iter().map(|member| member.demand.mbps).sum();
        level.map_or(1.0, |level| self.bandwidth.allowed(level, together))
    }

    /// The bandwidth that memory serves at a contention, as a share of its limit.
    pub(crate) fn served(&self, contention: f64) -> f64 {
        self.bandwidth.served(contention)
    }

    /// The cost of a clustering (less is better), and its STP; `None` if memory can't serve it.
    pub(crate) fn cost(&self, clusters: &[ChosenCluster]) -> Option<(f64, f64)> {
        // In the order of the programs: sums are then the same as a scorer's, to the last digit.
        let mut members: Vec<(usize, ClusterMember)> = Vec::with_capacity(self.programs);
        for &ChosenCluster { set, ways, level, .. } in clusters {
            let count = set.count_ones() as usize;
            let indices = (0..self.programs).filter(|index| set >> index & 1 == 1);
            let cell = &self.members[set as usize][(ways - 1) * count..ways * count];
            let allowed = self.allowed(cell, level);
            members.extend(indices.zip(cell).map(|(index, member)| {
                let demand = Demand { allowed, ..member.demand };
                (index, ClusterMember { demand, ..*member })
            }));
        }
        members.sort_unstable_by_key(|&(index, _)| index);
        let demands: Vec<Demand> = members.iter().map(|(_, member)| member.demand).collect();
        let mut slowdowns: Vec<f64> = members.iter().map(|(_, member)| member.slowdown).collect();
        self.bandwidth.slow_down(&demands, &mut slowdowns).ok()?;
        let stp = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum::<f64>();
        Some((self.goal.cost(&slowdowns), stp))
    }
}
