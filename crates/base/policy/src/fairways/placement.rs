//! Which cache each program runs on, decided together with how the caches are divided.
//!
//! A cache's best plan says nothing about whether its programs should be there, and the best
//! placement of an undivided machine is a bad one to divide. So a step moves a program to another
//! cache, or swaps two programs of different caches, and the ways of both caches are divided for
//! it. The programs of the whole machine count: unless throughput is the objective, a cache with
//! neither the slowest nor the fastest program needs no step. After each step the search of a
//! single cache (`search.rs`) improves both plans.

use alloc::vec::Vec;

use super::clusters::{Clusters, Row};
use super::divide::Division;
use super::limits::Limits;
use super::objective::{Aim, Outcome};
use super::program::members;
use super::search::Search;

/// The room on a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacementRoom {
    pub(crate) limits: Limits,
    pub(crate) cpus: u32,
}

/// The room that a program takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramRoom {
    pub(crate) threads: u32,
    /// The ways that were promised to it.
    pub(crate) promised: Option<u32>,
}

impl PlacementRoom {
    /// Whether these programs fit: their threads on the CPUs, and their promised ways side by side,
    /// with a cluster for the other programs.
    pub(crate) fn fits(&self, set: u64, programs: &[ProgramRoom]) -> bool {
        let Limits { ways, least_ways, clusters, .. } = self.limits;
        let (mut threads, mut promised, mut promises) = (0, 0, 0);
        for program in members(set) {
            let ProgramRoom { threads: own, promised: ways } = programs[program as usize];
            threads += u64::from(own);
            promised += ways.map_or(0, |ways| u64::from(ways.max(least_ways)));
            promises += u32::from(ways.is_some());
        }
        let has_others = promises > 0 && promises < set.count_ones();
        let others = u32::from(has_others);
        threads <= u64::from(self.cpus)
            && promised + u64::from(others * least_ways) <= u64::from(ways)
            && (promises + others) as usize <= clusters.max(1)
    }
}

/// The search, with its working memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlacementSearch {
    present: Vec<CachePlan>,
    best: Vec<CachePlan>,
    best_outcome: Option<Outcome>,
    /// The plans of two caches after the best step, and after the one that is tried.
    found: [CachePlan; 2],
    tried: [CachePlan; 2],
    arranged: CachePlan,
    /// The clusters of a cache without the program that leaves, and after a change.
    left: Vec<u64>,
    sets: Vec<u64>,
    search: Search,
    division: Division,
    rows: Vec<Row>,
    fewest: Vec<u32>,
    /// The slowdown that no program may exceed in a better placement, and what each must occupy for
    /// that, in units of 2^-32 of a way.
    slowest: u64,
    occupied: Vec<u64>,
    trials: u32,
}

/// The plan of a cache: its clusters as sets of programs, their ways, and how they fare.
#[derive(Clone, Debug)]
struct CachePlan {
    sets: Vec<u64>,
    ways: Vec<u32>,
    outcome: Outcome,
}

impl Default for CachePlan {
    fn default() -> Self {
        Self { sets: Vec::new(), ways: Vec::new(), outcome: Outcome::NONE }
    }
}

impl CachePlan {
    fn programs(&self) -> u64 {
        self.sets.iter().fold(0, |all, set| all | set)
    }
}

/// What a step does to a cache: the programs that leave it and that come, as sets of at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CacheChange {
    cache: usize,
    leaves: u64,
    comes: u64,
}

/// What a search is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) aim: Aim,
    pub(crate) rooms: &'a [PlacementRoom],
    pub(crate) programs: &'a [ProgramRoom],
    /// The most divisions of steps between caches to try.
    pub(crate) trials: u32,
}

impl PlacementSearch {
    /// Starts again without a placement.
    pub(crate) fn begin(&mut self) {
        self.best_outcome = None;
        self.best.clear();
        self.occupied.clear();
        self.trials = 0;
    }

    /// The programs of each cache in the best placement.
    pub(crate) fn best(&self) -> impl Iterator<Item = u64> {
        self.best.iter().map(CachePlan::programs)
    }

    /// How the programs of all caches but this one fare in the best placement.
    pub(crate) fn best_without(&self, cache: usize) -> Outcome {
        let others = self.best.iter().enumerate().filter(|(other, _)| *other != cache);
        others.fold(Outcome::NONE, |all, (_, plan)| all.with(&plan.outcome))
    }

    /// How all programs fare in the best placement.
    pub(crate) const fn outcome(&self) -> Option<Outcome> {
        self.best_outcome
    }

    /// Searches from a placement, given as the programs of each cache, and keeps the result if it
    /// is the best so far. One that is `near` the best begins with its clusters, as far as their
    /// programs are still together.
    pub(crate) fn run(
        &mut self,
        task: Task<'_>,
        (start, is_near): (&[u64], bool),
        clusters: &mut Clusters,
    ) {
        self.present.clear();
        self.present.resize_with(start.len(), CachePlan::default);
        for (cache, &programs) in start.iter().enumerate() {
            if is_near {
                self.divide_near(task, cache, programs, clusters);
            } else {
                self.divide(task, cache, programs, clusters);
            }
        }
        let mut outcome = self.outcome_of_all();
        while let Some(changes) = self.next_step(task, clusters, outcome) {
            for (change, found) in changes.into_iter().zip(&mut self.found) {
                core::mem::swap(&mut self.present[change.cache], found);
            }
            for change in changes {
                self.improve(task, change.cache, clusters);
            }
            outcome = self.outcome_of_all();
        }
        if self.best_outcome.is_none_or(|best| task.aim.is_better(&outcome, &best)) {
            self.best_outcome = Some(outcome);
            self.best.clone_from(&self.present);
        }
    }

    /// The limits of a cache's plan while nothing is known of the other caches but a bound on the
    /// smallest slowdown.
    fn limits(task: Task<'_>, cache: usize, clusters: &Clusters) -> Limits {
        let elsewhere = Outcome { smallest: clusters.ceiling_of_all(), ..Outcome::NONE };
        Limits { elsewhere, ..task.rooms[cache].limits }
    }

    /// Plans a cache from nothing: from one cluster, and from a cluster for each program.
    fn divide(&mut self, task: Task<'_>, cache: usize, programs: u64, clusters: &mut Clusters) {
        if programs == 0 {
            return;
        }
        let limits = Self::limits(task, cache, clusters);
        self.search.begin();
        self.search.start_with(programs, limits.ways);
        self.search.run(task.aim, limits, clusters);
        if programs.count_ones() as usize <= limits.clusters {
            members(programs).for_each(|program| self.search.start_with(1 << program, 0));
            self.search.run(task.aim, limits, clusters);
        }
        self.keep(cache, limits, clusters);
    }

    /// Plans a cache from the best placement's clusters.
    fn divide_near(
        &mut self,
        task: Task<'_>,
        cache: usize,
        programs: u64,
        clusters: &mut Clusters,
    ) {
        if programs == 0 {
            return;
        }
        let limits = Self::limits(task, cache, clusters);
        self.search.begin();
        let known = self.best.iter().flat_map(|plan| &plan.sets);
        known.for_each(|set| self.search.start_with(set & programs, 0));
        self.search.run(task.aim, limits, clusters);
        self.keep(cache, limits, clusters);
    }

    /// Improves a cache's plan by the search of a single cache, for the good of the machine.
    fn improve(&mut self, task: Task<'_>, cache: usize, clusters: &mut Clusters) {
        let PlacementRoom { limits, .. } = task.rooms[cache];
        if self.present[cache].sets.is_empty() {
            return;
        }
        let limits = Limits { elsewhere: self.without([cache, cache]), ..limits };
        self.search.begin();
        let plan = &self.present[cache];
        plan.sets
            .iter()
            .zip(&plan.ways)
            .for_each(|(&set, &ways)| self.search.start_with(set, ways));
        self.search.run(task.aim, limits, clusters);
        self.keep(cache, limits, clusters);
    }

    /// Makes the plan that the search of a single cache found that of the cache.
    fn keep(&mut self, cache: usize, limits: Limits, clusters: &mut Clusters) {
        let Self { present, search, .. } = self;
        let plan = &mut present[cache];
        plan.sets.clear();
        plan.sets.extend_from_slice(search.best_sets());
        plan.ways.clear();
        plan.ways.extend_from_slice(search.best_ways());
        let clustering = plan.sets.iter().copied().zip(plan.ways.iter().copied());
        let alone = Limits { elsewhere: Outcome::NONE, ..limits };
        plan.outcome = clusters.outcome_of(clustering, alone);
    }

    fn outcome_of_all(&self) -> Outcome {
        self.present.iter().fold(Outcome::NONE, |all, plan| all.with(&plan.outcome))
    }

    /// How the programs of all caches but these two fare.
    fn without(&self, two: [usize; 2]) -> Outcome {
        let others = self.present.iter().enumerate().filter(|(cache, _)| !two.contains(cache));
        others.fold(Outcome::NONE, |all, (_, plan)| all.with(&plan.outcome))
    }

    /// The best step from the present placement to a better one; the plans of the two caches are
    /// then in `found`.
    fn next_step(
        &mut self,
        task: Task<'_>,
        clusters: &mut Clusters,
        outcome: Outcome,
    ) -> Option<[CacheChange; 2]> {
        let mut best = (outcome, None);
        self.want(task.aim, clusters, &outcome);
        for from in 0..self.present.len() {
            for to in 0..self.present.len() {
                if from == to || !self.counts(task, outcome, [from, to]) {
                    continue;
                }
                let [leaving, coming] = [from, to].map(|at| self.present[at].programs());
                for program in members(leaving) {
                    self.consider(task, clusters, [from, to], [1 << program, 0], &mut best);
                    if from < to {
                        for other in members(coming) {
                            let both = [1 << program, 1 << other];
                            self.consider(task, clusters, [from, to], both, &mut best);
                        }
                    }
                }
            }
        }
        best.1
    }

    /// Whether other plans of two caches can be of any good: throughput counts, or the slowest or
    /// the fastest program is there.
    fn counts(&self, task: Task<'_>, outcome: Outcome, two: [usize; 2]) -> bool {
        task.aim.weighs_throughput()
            || two.iter().any(|&cache| {
                let there = &self.present[cache].outcome;
                there.largest == outcome.largest || there.smallest == outcome.smallest
            })
    }

    /// Keeps a step between two caches if it is better than the best so far.
    fn consider(
        &mut self,
        task: Task<'_>,
        clusters: &mut Clusters,
        [one, two]: [usize; 2],
        [leaves, comes]: [u64; 2],
        best: &mut (Outcome, Option<[CacheChange; 2]>),
    ) {
        let mut changes = [
            CacheChange { cache: one, leaves, comes },
            CacheChange { cache: two, leaves: comes, comes: leaves },
        ];
        let has_room = changes.iter().all(|&change| {
            let there = self.programs_after(change);
            task.rooms[change.cache].fits(there, task.programs) && self.can_do(task, change)
        });
        if self.trials >= task.trials || !has_room {
            return;
        }
        // A bad step most often fails on the cache with the slowest program: that one first.
        if self.present[two].outcome.largest > self.present[one].outcome.largest {
            changes.swap(0, 1);
        }
        let mut elsewhere = self.without([one, two]);
        for (place, change) in changes.into_iter().enumerate() {
            let limits = Limits { elsewhere, ..task.rooms[change.cache].limits };
            // A sum that lacks the second cache's programs can't be compared with the best.
            let is_partial = place == 0 && task.aim.is_sum();
            let to_beat = if is_partial { Outcome::BROKEN } else { best.0 };
            if !self.arrange(task.aim, limits, change, clusters, &to_beat) {
                return;
            }
            elsewhere = elsewhere.with(&self.arranged.outcome);
            core::mem::swap(&mut self.tried[place], &mut self.arranged);
        }
        if task.aim.is_better(&elsewhere, &best.0) {
            core::mem::swap(&mut self.found, &mut self.tried);
            *best = (elsewhere, Some(changes));
            self.want(task.aim, clusters, &elsewhere);
        }
    }

    /// Computes what each program must occupy in a placement that beats an outcome.
    fn want(&mut self, aim: Aim, clusters: &Clusters, to_beat: &Outcome) {
        let slowest = match aim.is_sum() {
            true => u64::MAX,
            false => aim.most_slowdown(to_beat, clusters.ceiling_of_all()),
        };
        if self.slowest != slowest || self.occupied.is_empty() {
            self.slowest = slowest;
            self.occupied.clear();
            self.occupied.extend(clusters.least_occupancies(slowest));
        }
    }

    /// Whether a cache has ways for what its programs must occupy after a change.
    fn can_do(&self, task: Task<'_>, change: CacheChange) -> bool {
        let there = members(self.programs_after(change));
        let wanted: u64 = there.map(|program| self.occupied[program as usize]).sum();
        wanted <= u64::from(task.rooms[change.cache].limits.ways) << 32
    }

    fn programs_after(&self, CacheChange { cache, leaves, comes }: CacheChange) -> u64 {
        self.present[cache].programs() & !leaves | comes
    }

    /// Finds the best plan of a cache after a change, with the program that comes in any cluster,
    /// in any two together, or in one of its own. It is in `arranged` if it can beat an outcome.
    fn arrange(
        &mut self,
        aim: Aim,
        limits: Limits,
        CacheChange { cache, leaves, comes }: CacheChange,
        clusters: &mut Clusters,
        to_beat: &Outcome,
    ) -> bool {
        self.left.clear();
        let left = self.present[cache].sets.iter().map(|set| set & !leaves);
        self.left.extend(left.filter(|&set| set != 0));
        let (mut target, mut found, count) = (*to_beat, false, self.left.len());
        if comes == 0 {
            return self.try_joined(aim, limits, clusters, [None; 2], 0, &mut target);
        }
        if count < limits.clusters.max(1) {
            found |= self.try_joined(aim, limits, clusters, [None; 2], comes, &mut target);
        }
        for place in 0..count {
            for other in (place..count).rev() {
                let joined = [Some(place), (other != place).then_some(other)];
                found |= self.try_joined(aim, limits, clusters, joined, comes, &mut target);
            }
        }
        found
    }

    /// Divides the ways of a cache among the clusters that are `left`, of which up to two are
    /// joined by the program that comes. If that beats the target, it is `arranged`, and the new
    /// target.
    fn try_joined(
        &mut self,
        aim: Aim,
        limits: Limits,
        clusters: &mut Clusters,
        joined: [Option<usize>; 2],
        comes: u64,
        target: &mut Outcome,
    ) -> bool {
        let Self { left, sets, arranged, rows, fewest, division, occupied, trials, .. } = self;
        *trials += 1;
        sets.clear();
        let others = left.iter().enumerate().filter(|(place, _)| !joined.contains(&Some(*place)));
        sets.extend(others.map(|(_, &set)| set));
        let own = joined.iter().flatten().fold(comes, |own, &place| own | left[place]);
        sets.extend((own != 0).then_some(own));
        // Often the ways are too few for what programs must occupy: no set need be evaluated.
        let needs = sets.iter().map(|&set| {
            let wanted: u64 = members(set).map(|program| occupied[program as usize]).sum();
            wanted.div_ceil(1 << 32).max(u64::from(limits.least_ways))
        });
        if needs.sum::<u64>() > u64::from(limits.ways) {
            return false;
        }
        rows.clear();
        rows.extend(sets.iter().map(|&set| clusters.row(set)));
        fewest.clear();
        fewest.extend(rows.iter().map(|&row| clusters.least(row, limits.least_ways)));
        let ceiling = clusters.ceiling_of_all().min(limits.elsewhere.smallest);
        let known = (&**rows, &**fewest, ceiling);
        let better = if rows.is_empty() {
            aim.is_better(&limits.elsewhere, target).then_some(limits.elsewhere)
        } else {
            division.divide_beyond(aim, clusters, known, limits, target)
        };
        let Some(better) = better else { return false };
        *target = better;
        arranged.sets.clone_from(sets);
        arranged.ways.clear();
        if !rows.is_empty() {
            arranged.ways.extend_from_slice(division.ways());
        }
        let each = rows.iter().zip(&arranged.ways);
        let each = each.map(|(&row, &ways)| clusters.outcome(row, ways));
        arranged.outcome = each.fold(Outcome::NONE, |all, one| all.with(&one));
        true
    }
}
