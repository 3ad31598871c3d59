//! Every possible cluster, with every number of ways and every level of memory bandwidth.

use fairways_core::{WayMask, Ways};
use fairways_profiles::ProfiledProgram;
use rayon::prelude::*;

use crate::SharingKind;

/// A set of programs: bit `i` is program `i`.
pub(crate) type ProgramSet = u32;

/// A set of programs, and the ways with which it may be a cluster, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PossibleCluster {
    pub(crate) set: ProgramSet,
    pub(crate) ways: u64,
}

/// Fewer sets are not worth another thread.
pub(crate) const FEW: usize = 512;

/// A cluster: its programs, its ways, its level of memory bandwidth (0 is none, 1 the problem's
/// first level), and the cache that it is on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenCluster {
    pub(crate) set: ProgramSet,
    pub(crate) ways: usize,
    pub(crate) level: usize,
    pub(crate) cache: usize,
}

/// For every set of programs, number of ways and level: the cluster's smallest and largest
/// slowdown, and its part of a sum over programs.
#[derive(Debug)]
pub(crate) struct ClusterTable {
    pub(crate) programs: usize,
    pub(crate) ways: usize,
    /// The number of levels, of which the first is no limit.
    pub(crate) levels: usize,
    /// At `[(set * ways + w - 1) * levels + level]`; sets that are not clusters of the kind have
    /// infinite slowdowns, and so have levels that no program of the cluster feels.
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
    pub(crate) sum: Vec<f64>,
}

/// The quantity that is summed up over programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summed {
    /// 1 / slowdown: STP.
    Progress,
    /// Minus slowdown: ANTT, so that more is better.
    Slowdown,
}

impl Summed {
    pub(crate) fn value(self, slowdown: f64) -> f64 {
        match self {
            Self::Progress => 1.0 / slowdown,
            Self::Slowdown => -slowdown,
        }
    }
}

impl ClusterTable {
    /// The different values of these clusters from `least` to `most`, in order.
    pub(crate) fn values(
        &self,
        of: &[f64],
        clusters: &[PossibleCluster],
        least: f64,
        most: f64,
    ) -> Vec<f64> {
        let cells = clusters.iter().flat_map(|&PossibleCluster { set, ways }| {
            let first = self.row(set as usize).start;
            let own = (0..self.ways).filter(move |way| ways >> (way + 1) & 1 == 1);
            own.flat_map(move |way| {
                (0..self.levels).map(move |level| first + way * self.levels + level)
            })
        });
        let values = cells.map(|cell| of[cell]);
        ordered(&values.filter(|value| (least..=most).contains(value)).collect::<Vec<f64>>())
    }

    /// The smallest and the largest slowdown of these clusters.
    pub(crate) fn extremes(&self, clusters: &[ChosenCluster]) -> (f64, f64) {
        let cells = clusters.iter().map(|cluster| self.cell(*cluster));
        let least = cells.clone().map(|cell| self.lo[cell]).fold(f64::INFINITY, f64::min);
        (least, cells.map(|cell| self.hi[cell]).fold(0.0, f64::max))
    }

    pub(crate) fn new(
        programs: &[ProfiledProgram],
        ways: Ways,
        kind: SharingKind,
        summed: Summed,
    ) -> Self {
        let (count, stride) = (programs.len(), ways.get() as usize);
        let cells = stride << count;
        let mut table = Self {
            programs: count,
            ways: stride,
            levels: 1,
            lo: vec![f64::INFINITY; cells],
            hi: vec![f64::INFINITY; cells],
            sum: vec![0.0; cells],
        };
        let Self { lo, hi, sum, .. } = &mut table;
        let rows = lo.par_chunks_mut(stride).zip(hi.par_chunks_mut(stride));
        let rows = rows.zip(sum.par_chunks_mut(stride)).with_min_len(64).enumerate();
        rows.for_each_init(ClusterMembers::default, |members, (set, ((lo, hi), sum))| {
            if kind.clusters(set) {
                members.read(programs, set);
                members.fill(summed, lo, hi, sum);
            }
        });
        table
    }

    /// The cell of a cluster.
    pub(crate) fn cell(&self, ChosenCluster { set, ways, level, .. }: ChosenCluster) -> usize {
        (set as usize * self.ways + ways - 1) * self.levels + level
    }

    /// The clusters of programs with these masks, of which different ones do not overlap.
    pub(crate) fn clusters_of(&self, masks: &[WayMask]) -> Vec<ChosenCluster> {
        let mut clusters: Vec<(WayMask, ProgramSet)> = Vec::new();
        for (program, &mask) in masks.iter().enumerate() {
            match clusters.iter_mut().find(|(known, _)| *known == mask) {
                Some((_, set)) => *set |= 1 << program,
                None => clusters.push((mask, 1 << program)),
            }
        }
        let chosen = clusters.into_iter().map(|(mask, set)| {
            let ways = mask.count() as usize;
            ChosenCluster { set, ways, level: 0, cache: 0 }
        });
        chosen.collect()
    }

    /// The cells of a set, from one way up.
    pub(crate) fn row(&self, set: usize) -> std::ops::Range<usize> {
        set * self.ways * self.levels..(set + 1) * self.ways * self.levels
    }
}

impl SharingKind {
    /// Whether a set of programs may be a cluster.
    pub(crate) fn clusters(self, set: usize) -> bool {
        set != 0 && (self == SharingKind::Clustering || set.is_power_of_two())
    }
}

/// The programs of a set, and the ways that each occupies.
#[derive(Debug, Default)]
pub(crate) struct ClusterMembers<'a> {
    programs: Vec<&'a ProfiledProgram>,
    occupancy: Vec<f64>,
}

impl<'a> ClusterMembers<'a> {
    /// Reads the programs of a set; none of them occupies a way yet.
    pub(crate) fn read(&mut self, programs: &'a [ProfiledProgram], set: usize) {
        let members = programs.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
        self.programs.clear();
        self.programs.extend(members.map(|(_, program)| program));
        self.occupancy.clear();
        self.occupancy.resize(self.programs.len(), 0.0);
    }

    /// The occupancy sweep of the static model: divides one more way, and calls `visit` with each
    /// member's occupancy.
    pub(crate) fn sweep(&mut self, mut visit: impl FnMut(&'a ProfiledProgram, f64)) {
        let mut pressures = [0.0; ProgramSet::BITS as usize];
        let mut total = 0.0;
        for ((pressure, program), &x) in
            pressures.iter_mut().zip(&self.programs).zip(&self.occupancy)
        {
            *pressure = program.pressure(x);
            total += *pressure;
        }
        let even = 1.0 / self.programs.len() as f64;
        for ((x, program), pressure) in self.occupancy.iter_mut().zip(&self.programs).zip(pressures)
        {
            *x += if total > 0.0 { pressure / total } else { even };
            visit(program, *x);
        }
    }

    /// Fills the cluster's cells with one way, two ways, and so on.
    fn fill(&mut self, summed: Summed, lo: &mut [f64], hi: &mut [f64], sum: &mut [f64]) {
        for ((lo, hi), sum) in lo.iter_mut().zip(hi).zip(sum) {
            let (mut least, mut most, mut added) = (f64::INFINITY, 0.0f64, 0.0);
            self.sweep(|program, x| {
                let slowdown = program.slowdown(x);
                least = least.min(slowdown);
                most = most.max(slowdown);
                added += summed.value(slowdown);
            });
            (*lo, *hi, *sum) = (least, most, added);
        }
    }
}
/// All different finite numbers of these, in order.
pub(crate) fn ordered(values: &[f64]) -> Vec<f64> {
    let mut ordered: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    ordered.par_sort_unstable_by(f64::total_cmp);
    ordered.dedup();
    ordered
}
