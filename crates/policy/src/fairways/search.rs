//! A local search over clusterings. A step moves a program to another or a new cluster, swaps two
//! programs, or merges two clusters. Each step's ways are divided from scratch, and the best step
//! is taken until none is better.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::divide::{Division, Limits};
use super::objective::{Objective, Outcome};

/// The search, and the memory that it works in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The best plan: a set of programs for each cluster, and its ways.
    best_sets: Vec<u64>,
    best_ways: Vec<u32>,
    best: Option<Outcome>,
    /// The plan at hand.
    sets: Vec<u64>,
    ways: Vec<u32>,
    /// The step at hand: clusters as they would be.
    tried: Vec<u64>,
    /// How the clusters of the plan at hand and of the step at hand fare.
    planned_rows: Vec<Row>,
    rows: Vec<Row>,
    division: Division,
    trials: u32,
}

/// One change of a clustering. Clusters and programs are named by their numbers.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A program to another cluster; to a new one, if it has the next number.
    Move { program: u32, from: usize, to: usize },
    /// Two programs change places.
    Swap { programs: [u32; 2], clusters: [usize; 2] },
    /// The second cluster joins the first.
    Merge { clusters: [usize; 2] },
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
        self.tried.clone_from(&self.sets);
        self.rows.clear();
        self.rows.extend(self.tried.iter().map(|&set| clusters.row(set)));
        self.planned_rows.clone_from(&self.rows);
        let mut outcome = self.divide(objective, limits, clusters);
        if self.ways.len() == self.sets.len()
            && self.ways.iter().sum::<u32>() <= limits.ways
            && !self.ways.contains(&0)
        {
            let Self { rows, division, ways, .. } = self;
            outcome = division.improve(objective, clusters, rows, ways, (limits, outcome));
        }
        self.keep_ways();
        while let Some((better, step)) = self.best_step(objective, limits, clusters, outcome) {
            self.apply(step, clusters);
            // The ways that belong to it were overwritten by later trials.
            outcome = self.divide(objective, limits, clusters);
            debug_assert_eq!(outcome, better);
            self.sets.clone_from(&self.tried);
            self.planned_rows.clone_from(&self.rows);
            self.keep_ways();
        }
        if self.best.is_none_or(|best| objective.is_better(&outcome, &best)) {
            self.best = Some(outcome);
            self.best_sets.clone_from(&self.sets);
            self.best_ways.clone_from(&self.ways);
        }
        self.sets.clear();
        self.ways.clear();
    }

    fn keep_ways(&mut self) {
        self.ways.clear();
        self.ways.extend_from_slice(self.division.ways());
    }

    /// The best step that is better than the plan at hand: a move, or else a swap, or else a merge.
    fn best_step(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        outcome: Outcome,
    ) -> Option<(Outcome, Step)> {
        let count = self.sets.len();
        let mut best = None;
        for from in 0..count {
            for program in members(self.sets[from]) {
                let is_alone = self.sets[from].is_power_of_two();
                let has_room = count < limits.clusters && !is_alone;
                for to in (0..count + usize::from(has_room)).filter(|&to| to != from) {
                    let step = Step::Move { program, from, to };
                    self.consider(objective, limits, clusters, outcome, step, &mut best);
                }
            }
        }
        if best.is_some() {
            return best;
        }
        for first in 0..count {
            for second in first + 1..count {
                for one in members(self.sets[first]) {
                    for other in members(self.sets[second]) {
                        let step = Step::Swap { programs: [one, other], clusters: [first, second] };
                        self.consider(objective, limits, clusters, outcome, step, &mut best);
                    }
                }
            }
        }
        if best.is_some() {
            return best;
        }
        for first in 0..count {
            for second in first + 1..count {
                let step = Step::Merge { clusters: [first, second] };
                self.consider(objective, limits, clusters, outcome, step, &mut best);
            }
        }
        best
    }

    /// Keeps a step if it is better than the plan at hand and the best step so far.
    fn consider(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &mut Clusters,
        outcome: Outcome,
        step: Step,
        best: &mut Option<(Outcome, Step)>,
    ) {
        if self.trials >= limits.trials {
            return;
        }
        self.trials += 1;
        self.apply(step, clusters);
        let to_beat = best.as_ref().map_or(outcome, |(best, _)| *best);
        if let Some(found) = self.divide_if_better(objective, limits, clusters, Some(&to_beat)) {
            *best = Some((found, step));
        }
    }

    /// Writes the clusters after a step into `tried`, and how they fare into `rows`.
    fn apply(&mut self, step: Step, clusters: &mut Clusters) {
        let Self { sets, tried, planned_rows, rows, .. } = self;
        tried.clone_from(sets);
        rows.clone_from(planned_rows);
        let (changed, emptied) = match step {
            Step::Move { program, from, to } => {
                if to == tried.len() {
                    tried.push(0);
                    rows.push(rows[from]);
                }
                tried[from] &= !(1 << program);
                tried[to] |= 1 << program;
                ([from, to], from)
            }
            Step::Swap { programs: [one, other], clusters: [first, second] } => {
                let both = 1 << one | 1 << other;
                tried[first] ^= both;
                tried[second] ^= both;
                ([first, second], first)
            }
            Step::Merge { clusters: [first, second] } => {
                tried[first] |= tried[second];
                tried[second] = 0;
                ([first, second], second)
            }
        };
        for cluster in changed {
            if tried[cluster] != 0 {
                rows[cluster] = clusters.row(tried[cluster]);
            }
        }
        if tried[emptied] == 0 {
            tried.swap_remove(emptied);
            rows.swap_remove(emptied);
        }
    }

    /// Divides the ways among the clusters of `tried`.
    fn divide(&mut self, objective: Objective, limits: Limits, clusters: &Clusters) -> Outcome {
        self.divide_if_better(objective, limits, clusters, None).unwrap_or(Outcome::BROKEN)
    }

    /// Divides the ways among the clusters of `tried`; `None` if that does not beat this outcome.
    fn divide_if_better(
        &mut self,
        objective: Objective,
        limits: Limits,
        clusters: &Clusters,
        to_beat: Option<&Outcome>,
    ) -> Option<Outcome> {
        let Self { rows, division, .. } = self;
        division.divide(objective, clusters, rows, (limits.ways, limits.least_ways), to_beat)
    }
}

/// The set of the first programs, at least one.
pub(crate) const fn first(programs: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - programs)
}

/// The programs of a set, in order.
pub(crate) fn members(set: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS - set.leading_zeros()).filter(move |program| set >> program & 1 == 1)
}
