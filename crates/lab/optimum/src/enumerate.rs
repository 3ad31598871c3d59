//! Scores every partition, one after the other: the plain method, against which the search is
//! tested.

use fairways_core::{AppId, BandwidthLevel, Partition, Resources, WayMask};
use fairways_profiles::Scorer;

use crate::{Goal, Problem, SharingKind};

/// The best value of a problem's goal, or what the problem tolerates for its STP; the STP of a
/// partition that has it (the highest, where the goal breaks ties by it); and the number of
/// partitions.
///
/// The time grows with the number of partitions: [`crate::count`].
#[must_use]
pub fn enumerate(problem: &Problem<'_>) -> Option<(f64, f64, u64)> {
    let Problem { profiles, mix, llc, bandwidth, .. } = *problem;
    let mut all = All {
        problem,
        scorer: Scorer::new(profiles, mix, llc.ways, bandwidth),
        cluster_of: vec![0; mix.len()],
        ways_of: Vec::new(),
        level_of: Vec::new(),
        plan: Partition::default(),
        best: None,
        front: Vec::new(),
        count: 0,
    };
    all.cluster(0, 0);
    let (least, _) = all.best?;
    let most = least * (1.0 + problem.tolerance) * (1.0 + 1e-12);
    let within = all.front.iter().filter(|(value, _)| *value <= most).copied();
    let weighed = within.min_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)));
    weighed.or(all.best).map(|(value, stp)| (value, stp, all.count))
}

struct All<'a> {
    problem: &'a Problem<'a>,
    scorer: Scorer,
    cluster_of: Vec<usize>,
    ways_of: Vec<u32>,
    level_of: Vec<Option<BandwidthLevel>>,
    plan: Partition,
    best: Option<(f64, f64)>,
    /// Where some are tolerated that are worse: values and STPs, of which none is better in both.
    front: Vec<(f64, f64)>,
    count: u64,
}

impl All<'_> {
    /// Puts program `index` and those after it into each of `clusters` clusters, or into a new one.
    fn cluster(&mut self, index: usize, clusters: usize) {
        if index == self.cluster_of.len() {
            self.divide(clusters, self.problem.llc.ways.get());
            return;
        }
        let first = if self.problem.kind == SharingKind::Partitioning { clusters } else { 0 };
        for cluster in first..=clusters {
            if cluster < self.problem.llc.clos as usize {
                self.cluster_of[index] = cluster;
                self.cluster(index + 1, clusters.max(cluster + 1));
            }
        }
    }

    /// Gives `left` ways to the clusters that have none yet.
    fn divide(&mut self, clusters: usize, left: u32) {
        let least = self.problem.llc.min_ways();
        let after = u32::try_from(clusters - self.ways_of.len() - 1).unwrap_or(u32::MAX);
        if after == 0 {
            if left >= least {
                self.ways_of.push(left);
                self.limit();
                self.ways_of.pop();
            }
            return;
        }
        for ways in least..=left.saturating_sub(after * least) {
            self.ways_of.push(ways);
            self.divide(clusters, left - ways);
            self.ways_of.pop();
        }
    }

    /// Gives each cluster that has none yet each level, and no limit.
    fn limit(&mut self) {
        if self.level_of.len() == self.ways_of.len() {
            return self.score();
        }
        let levels = self.problem.levels.iter().copied().map(Some);
        for level in levels.chain([None]) {
            self.level_of.push(level);
            self.limit();
            self.level_of.pop();
        }
    }

    fn score(&mut self) {
        self.count += 1;
        let mut free = 0;
        self.plan.clear();
        for (&ways, &bandwidth) in self.ways_of.iter().zip(&self.level_of) {
            self.plan.add(Resources { mask: WayMask::span(free, ways), bandwidth });
            free += ways;
        }
        for (app, &cluster) in (0..).zip(&self.cluster_of) {
            self.plan.place(AppId(app), u32::try_from(cluster).unwrap_or(u32::MAX));
        }
        // A partition that memory can't serve does not count.
        let Ok(slowdowns) = self.scorer.score_plan(&self.plan) else { return };
        let most = slowdowns.iter().copied().fold(0.0, f64::max);
        let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
        let stp: f64 = slowdowns.iter().map(|slowdown| 1.0 / slowdown).sum();
        // Smaller is better of each.
        let value = match self.problem.goal {
            Goal::Unfairness => most / least,
            Goal::Stp => -stp,
            Goal::MaxSlowdown => most,
            Goal::Antt => slowdowns.iter().sum::<f64>() / slowdowns.len() as f64,
        };
        let ties = matches!(self.problem.goal, Goal::Unfairness | Goal::MaxSlowdown);
        let better = self.best.is_none_or(|(best, best_stp)| {
            let equal = (value - best).abs() <= 1e-12 * best.abs();
            if equal { ties && stp > best_stp } else { value < best }
        });
        if better {
            self.best = Some((value, stp));
        }
        let is_tolerant = ties && self.problem.tolerance > 0.0;
        if is_tolerant && !self.front.iter().any(|other| other.0 <= value && other.1 >= stp) {
            self.front.retain(|other| !(value <= other.0 && stp >= other.1));
            self.front.push((value, stp));
        }
    }
}
