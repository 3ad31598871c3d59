//! A local search over clusterings. A step moves a program to another or a new cluster, swaps two
//! programs, or merges two clusters. Each step's ways are divided from scratch, as far as bounds
//! do not show that it is no better, and steps are taken until none is better.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::divide::{Division, Limits};
use super::objective::{Objective, Outcome};
use super::program::members;

/// The search, and the memory that it works in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The best plan: a set of programs for each cluster, and its ways.
    best_sets: Vec<u64>,
    best_ways: Vec<u32>,
    best: Option<Outcome>,
    /// The plan at hand, and how its clusters fare.
    sets: Vec<u64>,
    ways: Vec<u32>,
    planned_rows: Vec<Row>,
    /// The ways after the best step from it.
    found_ways: Vec<u32>,
    /// The fewest ways that each of its clusters has in a division that beats the best step.
    fewest: Vec<u32>,
    /// The clusters after the step at hand, and how they fare.
    tried: Vec<u64>,
    rows: Vec<Row>,
    division: Division,
    /// The plans that searches came by.
    visited: Vec<u64>,
    /// The program whose moves are tried next.
    next: u32,
    trials: u32,
}

/// One change of a clustering: two clusters, by their numbers, and the programs that they have
/// after it. The second is a new one if it has the next number.
#[derive(Clone, Copy, Debug)]
struct Step {
    clusters: [usize; 2],
    sets: [u64; 2],
}

impl Search {
    /// The clusters of the best plan.
    pub(crate) fn best_sets(&self) -> &[u64] {
        &self.best_sets
    }

    /// Their ways.
    pub(crate) fn best_ways(&self) -> &[u32] {
        &self.best_ways
    }

    /// Makes one cluster of so many programs the best plan.
    pub(crate) fn settle_on_one(&mut self, programs: usize, ways: u32) {
        self.best_sets.clear();
        self.best_sets.push(first(programs));
        self.best_ways.clear();
        self.best_ways.push(ways);
    }

    /// Begins again, without a plan.
    pub(crate) fn begin(&mut self) {
        self.best = None;
        self.trials = 0;
        self.visited.clear();
        self.sets.clear();
        self.ways.clear();
    }

    /// Adds a cluster to the plan to start from, if it has programs.
    pub(crate) fn start_with(&mut self, set: u64, ways: u32) {
        if set != 0 {
            self.sets.push(set);
            self.ways.push(ways);
        }
    }

    /// Searches from the plan that was added, and keeps the result if it is the best yet. It is
    /// never worse than the plan to start from, if that is within the limits.
    pub(crate) fn run(&mut self, objective: Objective, limits: Limits, clusters: &mut Clusters) {
        while self.sets.len() > limits.clusters.max(1) {
            let last = self.sets.pop().unwrap_or_default();
            if let Some(set) = self.sets.last_mut() {
                *set |= last;
            }
            // Ways that were planned for another number of clusters mean nothing.
            self.ways.clear();
        }
        self.planned_rows.clear();
        self.planned_rows.extend(self.sets.iter().map(|&set| clusters.row(set)));
        let Self { planned_rows, division, .. } = self;
        let divided = division.divide(objective, clusters, planned_rows, limits, None);
        let mut outcome = divided.unwrap_or(Outcome::BROKEN);
        if self.ways.len() == self.sets.len()
            && self.ways.iter().sum::<u32>() <= limits.ways
            && !self.ways.contains(&0)
        {
            let Self { planned_rows, division, ways, .. } = self;
            outcome = division.improve(objective, clusters, planned_rows, ways, outcome);
        }
        self.ways.clear();
        self.ways.extend_from_slice(self.division.ways());
        self.next = 0;
        // What other searches do from a plan, this one would do as well.
        while self.is_new()
            && let Some((better, step)) = self.next_step(objective, limits, clusters, outcome)
        {
            outcome = better;
            self.apply(step, clusters);
            core::mem::swap(&mut self.sets, &mut self.tried);
            core::mem::swap(&mut self.planned_rows, &mut self.rows);
            core::mem::swap(&mut self.ways, &mut self.found_ways);
        }
        if self.best.is_none_or(|best| objective.is_better(&outcome, &best)) {
            self.best = Some(outcome);
            self.best_sets.clone_from(&self.sets);
            self.best_ways.clone_from(&self.ways);
        }
        self.sets.clear();
        self.ways.clear();
    }

    /// Whether no search has come by the plan at hand before.
    fn is_new(&mut self) -> bool {
        let plan = self.sets.iter().map(|&set| mix(set)).fold(0, u64::wrapping_add);
        let is_new = !self.visited.contains(&plan);
        if is_new {
            self.visited.push(plan);
        }
        is_new
    }

    /// A step to a plan that is better than the one at hand: the best by the objective alone, as a
    /// higher throughput at the same unfairness may lead away from fairer plans; if there is none,
    /// the next program that has any. The best step where the objective is throughput itself.
    fn next_step(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        outcome: Outcome,
    ) -> Option<(Outcome, Step)> {
        if objective.is_sum() {
            return self.step_beyond(objective, limits, clusters, outcome, false);
        }
        let by_objective_alone = Outcome { stp: u64::MAX, ..outcome };
        self.step_beyond(objective, limits, clusters, by_objective_alone, false)
            .or_else(|| self.step_beyond(objective, limits, clusters, outcome, true))
    }

    /// A step to a plan that beats an outcome: the best move, or else the best swap, or else the
    /// best merge. If `takes_next`, the best move or swap of the next program that has one.
    fn step_beyond(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        to_beat: Outcome,
        takes_next: bool,
    ) -> Option<(Outcome, Step)> {
        let count = self.sets.len();
        let programs = self.sets.iter().map(|set| set.count_ones()).sum();
        let mut target = self.target(objective, limits, clusters, to_beat);
        for program in (self.next..programs).chain(0..self.next) {
            let from = self.cluster_of(program);
            let left = self.sets[from] & !(1 << program);
            let has_room = count < limits.clusters && left != 0;
            for to in (0..count + usize::from(has_room)).filter(|&to| to != from) {
                let joined = self.sets.get(to).unwrap_or(&0) | 1 << program;
                let step = Step { clusters: [from, to], sets: [left, joined] };
                self.consider(objective, limits, clusters, step, &mut target);
            }
            if target.step.is_some() && takes_next {
                self.next = program + 1;
                return target.found();
            }
        }
        if target.step.is_some() {
            return target.found();
        }
        for program in 0..programs {
            let first = self.cluster_of(program);
            for second in (0..count).filter(|&second| second != first) {
                for other in members(self.sets[second] & (u64::MAX << program)) {
                    let both = 1 << program | 1 << other;
                    let sets = [self.sets[first] ^ both, self.sets[second] ^ both];
                    let step = Step { clusters: [first, second], sets };
                    self.consider(objective, limits, clusters, step, &mut target);
                }
            }
            if target.step.is_some() && takes_next {
                return target.found();
            }
        }
        if target.step.is_some() {
            return target.found();
        }
        for first in 0..count {
            for second in first + 1..count {
                let sets = [self.sets[first] | self.sets[second], 0];
                let step = Step { clusters: [first, second], sets };
                self.consider(objective, limits, clusters, step, &mut target);
            }
        }
        target.found()
    }

    /// The cluster of a program in the plan at hand.
    fn cluster_of(&self, program: u32) -> usize {
        self.sets.iter().position(|set| set >> program & 1 == 1).unwrap_or(0)
    }

    /// An outcome to beat, and the ways that the clusters of the plan at hand need for that.
    fn target(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        to_beat: Outcome,
    ) -> StepTarget {
        let Self { planned_rows, ways, fewest, .. } = self;
        let slowest = if objective.is_sum() {
            u64::MAX
        } else {
            let ceiling = planned_rows.iter().map(|&row| clusters.ceiling(row)).min();
            objective.most_slowdown(&to_beat, ceiling.unwrap_or(0))
        };
        fewest.clear();
        fewest.extend(planned_rows.iter().zip(ways).map(|(&row, &mut ways)| {
            let least = clusters.least(row, limits.least_ways);
            // One that needs more than another way need not be looked at further.
            let most = limits.ways.min(ways + 1);
            clusters.fewest(row, least..=most, slowest).unwrap_or(least.max(most + 1))
        }));
        StepTarget { to_beat, slowest, needed: fewest.iter().sum(), step: None }
    }

    /// Keeps a step if it is better than the plan at hand and the best step so far.
    fn consider(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        step: Step,
        target: &mut StepTarget,
    ) {
        if self.trials >= limits.trials {
            return;
        }
        self.trials += 1;
        if !self.has_ways(limits, clusters, step, target) {
            return;
        }
        self.apply(step, clusters);
        let Self { rows, division, .. } = self;
        let to_beat = Some(&target.to_beat);
        if let Some(found) = division.divide(objective, clusters, rows, limits, to_beat) {
            self.found_ways.clear();
            self.found_ways.extend_from_slice(self.division.ways());
            *target = self.target(objective, limits, clusters, found);
            target.step = Some(step);
        }
    }

    /// Whether there are enough ways for clusters that are fast enough after a step.
    fn has_ways(
        &self,
        limits: Limits,
        clusters: &mut Clusters,
        step: Step,
        target: &StepTarget,
    ) -> bool {
        let changed = step.clusters.iter().filter_map(|&cluster| self.fewest.get(cluster));
        let others = target.needed - changed.sum::<u32>();
        let Some(mut spare) = limits.ways.checked_sub(others) else { return false };
        step.sets.into_iter().filter(|&set| set != 0).all(|set| {
            let row = clusters.row(set);
            let least = clusters.least(row, limits.least_ways);
            let needed = clusters.fewest(row, least..=spare, target.slowest);
            spare -= needed.unwrap_or(0);
            needed.is_some()
        })
    }

    /// Writes the clusters after a step into `tried`, and how they fare into `rows`.
    fn apply(&mut self, step: Step, clusters: &mut Clusters) {
        let Self { sets, tried, planned_rows, rows, .. } = self;
        tried.clone_from(sets);
        rows.clone_from(planned_rows);
        for (cluster, set) in step.clusters.into_iter().zip(step.sets) {
            let row = clusters.row(set);
            if cluster == tried.len() {
                tried.push(set);
                rows.push(row);
            } else {
                (tried[cluster], rows[cluster]) = (set, row);
            }
        }
        if let Some(emptied) = tried.iter().position(|&set| set == 0) {
            tried.swap_remove(emptied);
            rows.swap_remove(emptied);
        }
    }
}

/// What steps are to beat: the plan at hand or the best step from it, which is kept here.
struct StepTarget {
    to_beat: Outcome,
    /// The largest slowdown that can beat it.
    slowest: u64,
    /// The ways that the clusters of the plan at hand need in all to be no slower.
    needed: u32,
    step: Option<Step>,
}

impl StepTarget {
    /// The best step, and the outcome after it.
    fn found(self) -> Option<(Outcome, Step)> {
        self.step.map(|step| (self.to_beat, step))
    }
}

/// Mixes the bits of a set.
const fn mix(set: u64) -> u64 {
    let product = set.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The set of the first programs, at least one.
pub(crate) const fn first(programs: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - programs)
}
