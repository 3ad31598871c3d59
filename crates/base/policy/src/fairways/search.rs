//! A local search over clusterings. A step moves a program to another or a new cluster, swaps two
//! programs, or merges two clusters. The ways are divided from scratch for each step, unless bounds
//! show that it is no better. The search ends when no step is better.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::divide::Division;
use super::limits::Limits;
use super::needs::{ChangedRows, ClusterNeeds, Step};
use super::objective::{Aim, Objective, Outcome};
use super::program::members;

/// The search, with its working memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// The best plan: a set of programs for each cluster, and its ways.
    best_sets: Vec<u64>,
    best_ways: Vec<u32>,
    best: Option<Outcome>,
    /// The aim of the last search, if it was not the objective alone.
    weighed: Option<Aim>,
    /// The present plan, and the outcomes of its clusters.
    sets: Vec<u64>,
    ways: Vec<u32>,
    planned_rows: Vec<Row>,
    /// The ways after the best step from the present plan.
    found_ways: Vec<u32>,
    /// What the present plan's clusters need to beat the best step.
    needs: ClusterNeeds,
    /// The clusters after the step that is being tried, their outcomes, and their fewest ways.
    tried: Vec<u64>,
    rows: Vec<Row>,
    fewest: Vec<u32>,
    division: Division,
    /// The plans that any search has visited.
    visited: Vec<u64>,
    /// The ways after a step that only has a higher throughput.
    faster_ways: Vec<u32>,
    /// The program whose moves are tried next, and the one after a step to a higher throughput.
    next: u32,
    next_if_faster: u32,
    trials: u32,
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

    /// Makes another plan the best one.
    pub(crate) fn settle_on(&mut self, sets: &[u64], ways: &[u32]) {
        self.best_sets.clear();
        self.best_sets.extend_from_slice(sets);
        self.best_ways.clear();
        self.best_ways.extend_from_slice(ways);
    }

    /// Starts again without a plan.
    pub(crate) fn begin(&mut self) {
        (self.best, self.weighed) = (None, None);
        self.trials = 0;
        self.visited.clear();
        self.sets.clear();
        self.ways.clear();
    }

    /// Continues by weighing throughput against a loss of the objective; the searches that follow
    /// begin with the best plan so far. `None` if there is nothing to weigh.
    pub(crate) fn weigh(&mut self, objective: Objective, percent: u32) -> Option<Aim> {
        self.weighed = Aim::exchange(objective, self.best.as_ref()?, percent);
        if self.weighed.is_some() {
            self.visited.clear();
            self.sets.clone_from(&self.best_sets);
            self.ways.clone_from(&self.best_ways);
        }
        self.weighed
    }

    /// The aim by which the best plan is the best.
    pub(crate) fn aim(&self, objective: Objective) -> Aim {
        self.weighed.unwrap_or(Aim::Alone(objective))
    }

    /// Adds a cluster to the plan to start from, if it has programs.
    pub(crate) fn start_with(&mut self, set: u64, ways: u32) {
        if set != 0 {
            self.sets.push(set);
            self.ways.push(ways);
        }
    }

    /// Searches from the plan that was added, and keeps the result if it is the best so far. The
    /// result is never worse than the start, if that is within the limits.
    pub(crate) fn run(&mut self, aim: Aim, limits: Limits, clusters: &mut Clusters) {
        while self.sets.len() > limits.clusters.max(1) {
            let last = self.sets.pop().unwrap_or_default();
            if let Some(set) = self.sets.last_mut() {
                *set |= last;
            }
            // Ways that were planned for another number of clusters are of no use.
            self.ways.clear();
        }
        self.planned_rows.clear();
        self.planned_rows.extend(self.sets.iter().map(|&set| clusters.row(set)));
        let Self { planned_rows, division, .. } = self;
        let mut outcome = division.divide(aim, clusters, planned_rows, limits);
        if self.ways.len() == self.sets.len()
            && self.ways.iter().sum::<u32>() <= limits.ways
            && !self.ways.contains(&0)
        {
            let Self { planned_rows, division, ways, .. } = self;
            let known = (&**planned_rows, limits.elsewhere);
            outcome = division.improve(aim, clusters, known, ways, outcome);
        }
        self.ways.clear();
        self.ways.extend_from_slice(self.division.ways());
        self.next = 0;
        self.next_if_faster = 0;
        if !aim.tolerates(&outcome) {
            self.sets.clear();
            self.ways.clear();
            return;
        }
        // From a plan that another search visited, this one would do the same.
        while self.is_new()
            && let Some((better, step)) = self.next_step(aim, limits, clusters, outcome)
        {
            outcome = better;
            let changed = step.sets.map(|set| (set != 0).then(|| (clusters.row(set), 0)));
            self.apply(step, changed);
            core::mem::swap(&mut self.sets, &mut self.tried);
            core::mem::swap(&mut self.planned_rows, &mut self.rows);
            core::mem::swap(&mut self.ways, &mut self.found_ways);
        }
        if self.best.is_none_or(|best| aim.is_better(&outcome, &best)) {
            self.best = Some(outcome);
            self.best_sets.clone_from(&self.sets);
            self.best_ways.clone_from(&self.ways);
        }
        self.sets.clear();
        self.ways.clear();
    }

    /// Whether no search has visited the present plan before.
    fn is_new(&mut self) -> bool {
        let plan = self.sets.iter().map(|&set| mix(set)).fold(0, u64::wrapping_add);
        let is_new = !self.visited.contains(&plan);
        if is_new {
            self.visited.push(plan);
        }
        is_new
    }

    /// A step from the present plan to a better one: the best move, else the best swap, else the
    /// best merge. Only the objective counts at first, as a higher throughput at the same
    /// unfairness may lead away from fairer plans; if no step improves it, takes one to a higher
    /// throughput, of the next program that has one. If throughput is the objective, takes the best
    /// step.
    fn next_step(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        outcome: Outcome,
    ) -> Option<(Outcome, Step)> {
        let count = self.sets.len();
        let programs = self.sets.iter().fold(0, |all, set| all | set);
        let earlier = 1u64.checked_shl(self.next).map_or(u64::MAX, |next| next - 1);
        let mut target = self.target(aim, limits, clusters, outcome);
        for program in members(programs & !earlier).chain(members(programs & earlier)) {
            let from = self.cluster_of(program);
            let left = self.sets[from] & !(1 << program);
            let has_room = count < limits.clusters && left != 0;
            for to in (0..count + usize::from(has_room)).filter(|&to| to != from) {
                let joined = self.sets.get(to).unwrap_or(&0) | 1 << program;
                let step = Step { clusters: [from, to], sets: [left, joined] };
                self.consider(aim, limits, clusters, step, &mut target);
            }
            if self.set_aside(aim, limits, clusters, outcome, &mut target) {
                self.next_if_faster = program + 1;
            }
        }
        if target.step.is_some() {
            return target.found();
        }
        for program in members(programs) {
            let first = self.cluster_of(program);
            for second in (0..count).filter(|&second| second != first) {
                for other in members(self.sets[second] & (u64::MAX << program)) {
                    let both = 1 << program | 1 << other;
                    let sets = [self.sets[first] ^ both, self.sets[second] ^ both];
                    let step = Step { clusters: [first, second], sets };
                    self.consider(aim, limits, clusters, step, &mut target);
                }
            }
            self.set_aside(aim, limits, clusters, outcome, &mut target);
        }
        if target.step.is_some() {
            return target.found();
        }
        for first in 0..count {
            for second in first + 1..count {
                let sets = [self.sets[first] | self.sets[second], 0];
                let step = Step { clusters: [first, second], sets };
                self.consider(aim, limits, clusters, step, &mut target);
            }
        }
        if target.step.is_none() && target.faster.is_some() {
            self.next = self.next_if_faster;
            core::mem::swap(&mut self.found_ways, &mut self.faster_ways);
            return target.faster;
        }
        target.found()
    }

    /// If the best step so far only has a higher throughput, sets it aside and goes on to look for
    /// better steps by the objective alone. Returns whether it did.
    fn set_aside(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        outcome: Outcome,
        target: &mut StepTarget,
    ) -> bool {
        let Some(step) = target.step else { return false };
        let alone = Outcome { stp: u64::MAX, ..outcome };
        if aim.weighs_throughput() || aim.is_better(&target.to_beat, &alone) {
            return false;
        }
        core::mem::swap(&mut self.found_ways, &mut self.faster_ways);
        let faster = Some((target.to_beat, step));
        *target = StepTarget { faster, ..self.target(aim, limits, clusters, alone) };
        true
    }

    /// The cluster of a program in the plan at hand.
    fn cluster_of(&self, program: u32) -> usize {
        self.sets.iter().position(|set| set >> program & 1 == 1).unwrap_or(0)
    }

    /// The outcome to beat, and what the clusters of the present plan need for that.
    fn target(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        to_beat: Outcome,
    ) -> StepTarget {
        let Self { sets, planned_rows, ways, needs, .. } = self;
        needs.aim(aim, limits, clusters, (sets, planned_rows, ways), &to_beat);
        StepTarget { to_beat, step: None, faster: None }
    }

    /// Keeps a step if it is better than the present plan and the best step so far.
    fn consider(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        step: Step,
        target: &mut StepTarget,
    ) {
        if self.trials >= limits.trials {
            return;
        }
        self.trials += 1;
        let plan = (&*self.sets, &*self.planned_rows, &*self.ways);
        let Some(changed) = self.needs.after(limits, clusters, plan, &step) else { return };
        self.apply(step, changed);
        let Self { rows, fewest, division, needs, .. } = self;
        let known = (&**rows, &**fewest, needs.before(&step).1);
        if let Some(found) = division.divide_beyond(aim, clusters, known, limits, &target.to_beat) {
            self.found_ways.clear();
            self.found_ways.extend_from_slice(self.division.ways());
            self.needs.tighten(aim, &found);
            *target = StepTarget { to_beat: found, step: Some(step), faster: target.faster };
        }
    }

    /// Writes the clusters after a step into `tried`, their outcomes into `rows`, and their fewest
    /// ways into `fewest`; those of the changed clusters are given.
    fn apply(&mut self, step: Step, changed: ChangedRows) {
        let Self { sets, tried, planned_rows, rows, fewest, .. } = self;
        tried.clone_from(sets);
        rows.clone_from(planned_rows);
        fewest.clear();
        fewest.extend_from_slice(self.needs.before(&step).0);
        for ((cluster, set), changed) in step.clusters.into_iter().zip(step.sets).zip(changed) {
            let Some((row, needed)) = changed else { continue };
            if cluster == tried.len() {
                tried.push(set);
                rows.push(row);
                fewest.push(needed);
            } else {
                (tried[cluster], rows[cluster], fewest[cluster]) = (set, row, needed);
            }
        }
        if let Some(emptied) = changed.iter().position(Option::is_none) {
            tried.swap_remove(step.clusters[emptied]);
            rows.swap_remove(step.clusters[emptied]);
            fewest.swap_remove(step.clusters[emptied]);
        }
    }
}

/// What steps must beat: the present plan or the best step from it, which is kept here.
struct StepTarget {
    to_beat: Outcome,
    step: Option<Step>,
    /// A step that only has a higher throughput, and the outcome after it.
    faster: Option<(Outcome, Step)>,
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
