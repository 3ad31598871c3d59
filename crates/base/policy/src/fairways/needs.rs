//! What clusters need for a plan to beat an outcome: bounds that rule out most steps before any way
//! is divided.
//!
//! No program may be slower than that outcome allows, so each must occupy a minimum of ways, and a
//! set of programs needs their sum. Only if there are enough ways is it worth computing how the set
//! divides them.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::limits::Limits;
use super::objective::{Aim, Outcome};
use super::program::members;

/// What the clusters of the present plan need to beat an outcome.
///
/// A plan is fair if it slows all programs down alike, so the smallest slowdown limits the largest
/// one. The clusters that a step does not change limit the smallest slowdown; it is enough to know
/// the three that limit it most.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterNeeds {
    levels: [NeedLevel; 3],
    /// The clusters that limit the smallest slowdown most, and second most.
    lowest: [usize; 2],
}

/// What the clusters need if the smallest slowdown has this bound.
#[derive(Clone, Debug, Default)]
struct NeedLevel {
    /// The bound on the smallest slowdown, and the largest slowdown that is then good enough.
    ceiling: u64,
    slowest: u64,
    /// Whether the other fields are computed for that.
    is_computed: bool,
    /// The fewest ways with which each cluster is no slower, and their sum.
    fewest: Vec<u32>,
    total: u32,
    /// The least that each program must occupy, and that of each cluster together, in units of
    /// 2^-32.
    occupied: Vec<u64>,
    wanted: Vec<u64>,
}

/// A change of a clustering: the numbers of two clusters, and the programs that they have after it.
/// If the second has the next free number, it is new.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) clusters: [usize; 2],
    pub(crate) sets: [u64; 2],
}

/// A plan: its clusters' programs, rows, and ways.
pub(crate) type PlanAtHand<'a> = (&'a [u64], &'a [Row], &'a [u32]);

/// The rows and the fewest ways of the clusters that a step changes, after the step.
pub(crate) type ChangedRows = [Option<(Row, u32)>; 2];

impl ClusterNeeds {
    /// The fewest ways of each cluster before a step, and a bound on the smallest slowdown after
    /// it.
    pub(crate) fn before(&self, step: &Step) -> (&[u32], u64) {
        let level = &self.levels[self.level(step)];
        (&level.fewest, level.ceiling)
    }

    /// Which bound applies if a step leaves all but two clusters unchanged.
    fn level(&self, step: &Step) -> usize {
        match self.lowest.map(|cluster| step.clusters.contains(&cluster)) {
            [false, _] => 0,
            [true, false] => 1,
            [true, true] => 2,
        }
    }

    /// Begins with a plan; another plan is to beat an outcome.
    pub(crate) fn aim(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        plan: PlanAtHand<'_>,
        to_beat: &Outcome,
    ) {
        let rows = plan.1;
        let first = &mut self.levels[0];
        first.ceiling = clusters.ceiling_of_all();
        first.set_target(aim, to_beat);
        first.fewest.clear();
        first.fewest.extend(rows.iter().map(|&row| clusters.least(row, limits.least_ways)));
        first.raise(limits, clusters, plan);
        let mut ceilings = [(first.ceiling, usize::MAX); 3];
        if !aim.is_sum() {
            for (cluster, &row) in rows.iter().enumerate() {
                let ceiling = clusters.most_smallest(row, first.fewest[cluster]..=limits.ways);
                if let Some(place) = ceilings.iter().position(|known| ceiling < known.0) {
                    ceilings[place..].rotate_right(1);
                    ceilings[place] = (ceiling, cluster);
                }
            }
        }
        self.lowest = [ceilings[0].1, ceilings[1].1];
        let [first, others @ ..] = &mut self.levels;
        others.iter_mut().for_each(|other| other.fewest.clone_from(&first.fewest));
        for (level, (ceiling, _)) in self.levels.iter_mut().zip(ceilings) {
            level.ceiling = ceiling;
            level.set_target(aim, to_beat);
        }
    }

    /// Continues with the same plan and a better outcome to beat.
    pub(crate) fn tighten(&mut self, aim: Aim, to_beat: &Outcome) {
        self.levels.iter_mut().for_each(|level| level.set_target(aim, to_beat));
    }

    /// The two clusters that a step changes, after it; `None` if there are not enough ways to make
    /// the clusters fast enough.
    pub(crate) fn after(
        &mut self,
        limits: Limits,
        clusters: &mut Clusters,
        plan: PlanAtHand<'_>,
        step: &Step,
    ) -> Option<ChangedRows> {
        let level = self.level(step);
        let level = &mut self.levels[level];
        if !level.is_computed {
            level.raise(limits, clusters, plan);
            level.want(clusters, plan.0);
        }
        let changed = step.clusters.iter().filter_map(|&cluster| level.fewest.get(cluster));
        let mut spare = limits.ways.checked_sub(level.total - changed.sum::<u32>())?;
        let mut bounds = [0; 2];
        for place in [0, 1] {
            if step.sets[place] != 0 {
                bounds[place] = level.bound(limits, plan.0, step, place);
                spare = spare.checked_sub(bounds[place])?;
            }
        }
        let mut found = [None; 2];
        for place in [0, 1] {
            if step.sets[place] != 0 {
                let row = clusters.row(step.sets[place]);
                let most = bounds[place] + spare;
                let least = clusters.least(row, bounds[place]);
                let fewest = clusters.fewest(row, least..=most, level.slowest)?;
                found[place] = Some((row, fewest));
                spare = most - fewest;
            }
        }
        Some(found)
    }
}

impl NeedLevel {
    fn set_target(&mut self, aim: Aim, to_beat: &Outcome) {
        self.is_computed = false;
        self.slowest =
            if aim.is_sum() { u64::MAX } else { aim.most_slowdown(to_beat, self.ceiling) };
    }

    /// Raises the fewest ways of each cluster to those that it needs.
    fn raise(&mut self, limits: Limits, clusters: &mut Clusters, (_, rows, ways): PlanAtHand<'_>) {
        for ((fewest, &row), &ways) in self.fewest.iter_mut().zip(rows).zip(ways) {
            // A cluster that needs more than one way more need not be looked at further.
            let most = limits.ways.min(ways + 1);
            let found = clusters.fewest(row, *fewest..=most, self.slowest);
            *fewest = found.unwrap_or((*fewest).max(most + 1));
        }
        self.total = self.fewest.iter().sum();
    }

    /// Computes what each program must occupy.
    fn want(&mut self, clusters: &Clusters, sets: &[u64]) {
        self.is_computed = true;
        self.occupied.clear();
        self.occupied.extend(clusters.least_occupancies(self.slowest));
        let Self { occupied, wanted, .. } = self;
        wanted.clear();
        wanted.extend(sets.iter().map(|&set| sum_of(occupied, set)));
    }

    /// A lower bound on the ways of one of the two clusters after a step: what its programs must
    /// occupy.
    fn bound(&self, limits: Limits, sets: &[u64], step: &Step, place: usize) -> u32 {
        let (cluster, after) = (step.clusters[place], step.sets[place]);
        let before = sets.get(cluster).copied().unwrap_or(0);
        let wanted = self.wanted.get(cluster).copied().unwrap_or(0)
            + sum_of(&self.occupied, after & !before)
            - sum_of(&self.occupied, before & !after);
        let ways = wanted.div_ceil(1 << 32);
        u32::try_from(ways).unwrap_or(u32::MAX).max(limits.least_ways)
    }
}

/// What the programs of a set must occupy together.
fn sum_of(occupied: &[u64], set: u64) -> u64 {
    members(set).map(|program| occupied[program as usize]).sum()
}
