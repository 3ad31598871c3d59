//! Chooses a plan with its memory traffic taken into account (`memory.rs`).

use fairways_core::{Curve, Llc, Q32};

use super::limits::Limits;
use super::memory::{Contention, MemoryWeighing, PlanWithMemory};
use super::objective::{Aim, Outcome};
use super::parameters::Parameters;
use super::planner::{Knowledge, Planner};
use super::search::first;

/// The most rounds in which all moves are tried.
const MOST_STEPS: usize = 8;

impl Planner {
    /// Replaces the search's plan by one that is better with memory traffic, if all programs have
    /// profiles.
    pub(super) fn weigh_memory(&mut self, p: &Parameters, llc: &Llc, capacity_mbps: u32) {
        if self.knowledge.iter().any(|&knowledge| knowledge != Knowledge::Profiled) {
            return;
        }
        let limits = Self::limits(p, llc);
        self.memory.count = 0;
        self.memory.searched.clear();
        self.add_found(limits, capacity_mbps);
        if self.memory.all().first().is_none_or(|found| found.contention.is_none()) {
            return;
        }
        let all = first(self.known.len());
        let whole = self.memory.next();
        whole.sets.push(all);
        whole.ways.push(limits.ways);
        self.rate(limits, capacity_mbps);
        self.add_rules(limits, capacity_mbps);
        while let Some(next) = self.memory.next_contention() {
            self.memory.searched.push(next);
            self.search_at(p, llc, next, false);
            self.restart_clusters(p, llc, Contention::default());
            self.add_found(limits, capacity_mbps);
        }
        // Each candidate also stays as it is: a fairer one may be far slower.
        for place in 0..self.memory.count {
            let copy = self.memory.count;
            self.copy(place);
            self.rate(limits, capacity_mbps);
            if self.memory.count > copy {
                self.climb(p, limits, copy, capacity_mbps);
            }
        }
        let best = self.best_candidate(Aim::Alone(p.objective));
        let least = &self.memory.candidates[best].outcome;
        let exchange = Aim::exchange(p.objective, least, p.fairness_tolerance_percent);
        let best = exchange.map_or(best, |aim| self.best_candidate(aim));
        if let Some(PlanWithMemory { sets, ways, contention, .. }) = self.memory.all().get(best) {
            self.search.settle_on(sets, ways);
            let contention = *contention;
            self.restart_clusters(p, llc, contention);
        }
    }

    /// The first of the best candidates.
    fn best_candidate(&self, aim: Aim) -> usize {
        let all = self.memory.all();
        (1..all.len()).fold(0, |best, one| {
            if aim.is_better(&all[one].outcome, &all[best].outcome) { one } else { best }
        })
    }

    /// Improves a candidate as long as moving a way or a program to another cluster helps: a search
    /// at one m does not see how a move changes the memory that is left for all.
    fn climb(&mut self, p: &Parameters, limits: Limits, place: usize, capacity_mbps: u32) {
        let (count, aim) = (self.memory.count, Aim::Alone(p.objective));
        for _ in 0..MOST_STEPS {
            let clusters = self.memory.candidates[place].sets.len();
            let pairs = (0..clusters).flat_map(|from| (0..clusters).map(move |to| (from, to)));
            let mut is_done = true;
            for (from, to) in pairs.filter(|(from, to)| from != to) {
                let programs = (0..self.known.len()).map(Some);
                for program in programs.chain([None]) {
                    // A step may have reduced the number of clusters.
                    if from.max(to) < self.memory.candidates[place].sets.len()
                        && self.move_one(limits, place, (from, to), program)
                    {
                        self.rate(limits, capacity_mbps);
                        let [now, then] =
                            [count, place].map(|one| &self.memory.candidates[one].outcome);
                        if self.memory.count > count && aim.is_better(now, then) {
                            self.memory.candidates.swap(place, count);
                            is_done = false;
                        }
                        self.memory.count = count;
                    }
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Begins a candidate as a copy of another one.
    fn copy(&mut self, place: usize) {
        self.memory.next();
        let (others, next) = self.memory.candidates.split_at_mut(self.memory.count);
        if let Some(next) = next.first_mut() {
            next.sets.extend_from_slice(&others[place].sets);
            next.ways.extend_from_slice(&others[place].ways);
        }
    }

    /// Begins a candidate as a copy of another one, with a program, or else a way, moved to another
    /// cluster; returns whether that is possible.
    fn move_one(
        &mut self,
        limits: Limits,
        place: usize,
        (from, to): (usize, usize),
        program: Option<usize>,
    ) -> bool {
        self.copy(place);
        let (others, next) = self.memory.candidates.split_at_mut(self.memory.count);
        let (Some(next), before) = (next.first_mut(), &others[place]) else { return false };
        match program {
            Some(program) if before.sets[from] >> program & 1 == 1 => {
                next.sets[from] &= !(1 << program);
                next.sets[to] |= 1 << program;
                if next.sets[from] == 0 {
                    next.ways[to] += next.ways[from];
                    next.sets.remove(from);
                    next.ways.remove(from);
                }
                true
            }
            None if before.ways[from] > limits.least_ways => {
                next.ways[from] -= 1;
                next.ways[to] += 1;
                true
            }
            _ => false,
        }
    }

    /// Adds the search's plan.
    fn add_found(&mut self, limits: Limits, capacity_mbps: u32) {
        let found = self.memory.next();
        found.sets.extend_from_slice(self.search.best_sets());
        found.ways.extend_from_slice(self.search.best_ways());
        self.rate(limits, capacity_mbps);
    }

    /// Adds LFOC+'s plan.
    fn add_rules(&mut self, limits: Limits, capacity_mbps: u32) {
        self.memory.next();
        for (cluster, mask) in (0..).zip(self.start.masks()) {
            let set = self.set_in_start(cluster);
            let rules = &mut self.memory.candidates[self.memory.count];
            if set != 0 {
                rules.sets.push(set);
                rules.ways.push(mask.count());
            }
        }
        self.rate(limits, capacity_mbps);
    }

    /// Computes how memory slows the programs of the plan that was begun, and adds the plan unless
    /// it breaks a promise. The clusters' outcomes are without contention.
    fn rate(&mut self, limits: Limits, capacity_mbps: u32) {
        let Self { clusters, known, memory, .. } = self;
        let MemoryWeighing { candidates, count, demands, .. } = memory;
        let PlanWithMemory { sets, ways, outcome, contention } = &mut candidates[*count];
        let plan = sets.iter().copied().zip(ways.iter().copied());
        if clusters.outcome_of(plan.clone(), limits) == Outcome::BROKEN {
            return;
        }
        demands.clear();
        demands.resize(known.len(), (0, Q32::default()));
        for (set, owned) in plan {
            clusters.slowdowns(set, owned, |program, slowdown, occupied| {
                let profile = known[program].profile.as_deref();
                let demand = profile.map(|profile| demand_at(&profile.bandwidth_mbps, occupied));
                demands[program] = (slowdown, demand.unwrap_or_default());
            });
        }
        *contention = Contention::new(demands.iter().map(|(_, demand)| *demand), capacity_mbps);
        *outcome = Outcome::NONE;
        for (program, &(slowdown, demand)) in demands.iter().enumerate() {
            clusters.add_to(program, outcome, contention.slow_down(slowdown, demand));
        }
        *count += 1;
    }
}

/// The memory demand of a program that occupies some ways, times 2^32: interpolated.
fn demand_at(demands: &Curve, occupied: u64) -> Q32 {
    let whole = u32::try_from(occupied >> 32).unwrap_or(u32::MAX - 1);
    let [below, above] = [whole.max(1), whole + 1].map(|ways| demands.at(ways).raw());
    let part = u128::from(occupied & 0xffff_ffff);
    let sum = u128::from(below) * ((1 << 32) - part) + u128::from(above) * part;
    Q32::from_raw(u64::try_from(sum >> 32).unwrap_or(u64::MAX))
}
