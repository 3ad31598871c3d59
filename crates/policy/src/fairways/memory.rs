//! What memory does to a plan, where it is known how much it can move and what programs want of it:
//! they slow each other down together, whatever clusters they are in, so that a plan is worth what
//! all of its programs leave of memory.
//!
//! The estimate is the `simple` model of PBBCache (LFOC §3): where demands b exceed the capacity B
//! together, a program is slower by 1 / (1 - m b), with m = (sum b - B) / sum b². A search goes by
//! one m, at which programs do not depend on each other; the plans that searches find at some m are
//! compared at their own.

use alloc::vec::Vec;

use fairways_core::{Curve, Llc, Q32};

use super::divide::Limits;
use super::objective::Outcome;
use super::parameters::Parameters;
use super::planner::{Knowledge, Planner};
use super::search::first;

/// How many times a decision searches with memory, at most.
const MOST_SEARCHES: usize = 4;

/// The part of its speed that memory leaves a program at least, in units of 2^-32.
const LEAST_LEFT: u64 = (1 << 32) / 64;

/// How much programs slow each other down at memory: m as a fraction, of demands in MB/s times 2^8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contention {
    excess: u128,
    squares: u128,
}

impl Contention {
    /// Of these demands, in MB/s.
    fn new(demands: impl Iterator<Item = Q32>, capacity_mbps: u32) -> Self {
        let (mut sum, mut squares) = (0, 0);
        for demand in demands {
            let demand = scaled(demand);
            sum += demand;
            squares += demand * demand;
        }
        match sum.saturating_sub(u128::from(capacity_mbps) << 8) {
            0 => Self::default(),
            excess => Self { excess, squares },
        }
    }

    /// Whether memory has room for all.
    fn is_none(self) -> bool {
        self.excess == 0
    }

    /// How slow a program with this demand is that is as slow as this beside no others.
    pub(crate) fn slow_down(self, slowdown: u64, demand: Q32) -> u64 {
        let taken = (self.excess * scaled(demand) << 32) / self.squares.max(1);
        let taken = u64::try_from(taken).unwrap_or(u64::MAX);
        let left = (1_u64 << 32).saturating_sub(taken).max(LEAST_LEFT);
        let slowdown = (u128::from(slowdown) << 32) / u128::from(left);
        u64::try_from(slowdown).unwrap_or(u64::MAX).min(Q32::MAX_IN_CURVE.raw())
    }

    /// The slowdowns of a program with these demands, by ways.
    pub(crate) fn slow_down_all(self, slowdowns: &Curve, demands: &Curve, llc: &Llc) -> Curve {
        Curve::from_fn(llc.ways, |ways| {
            Q32::from_raw(self.slow_down(slowdowns.at(ways).raw(), demands.at(ways)))
        })
    }
}

fn scaled(demand: Q32) -> u128 {
    u128::from(demand.raw() >> 24)
}

/// Plans, and how their programs fare with memory; reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryWeighing {
    candidates: Vec<Candidate>,
    /// How many there are.
    count: usize,
    searched: Vec<Contention>,
    /// The slowdown of each program beside no others, and its demand.
    demands: Vec<(u64, Q32)>,
}

/// A plan, and how its programs fare with memory.
#[derive(Clone, Debug)]
struct Candidate {
    sets: Vec<u64>,
    ways: Vec<u32>,
    outcome: Outcome,
    contention: Contention,
}

impl MemoryWeighing {
    /// Begins a candidate.
    fn next(&mut self) -> &mut Candidate {
        if self.count == self.candidates.len() {
            self.candidates.push(Candidate {
                sets: Vec::new(),
                ways: Vec::new(),
                outcome: Outcome::BROKEN,
                contention: Contention::default(),
            });
        }
        let next = &mut self.candidates[self.count];
        next.sets.clear();
        next.ways.clear();
        next
    }

    fn all(&self) -> &[Candidate] {
        &self.candidates[..self.count]
    }

    /// The contention to search at next: that of the candidate that was added last, of those that
    /// no search was at.
    fn next_contention(&self) -> Option<Contention> {
        if self.searched.len() == MOST_SEARCHES {
            return None;
        }
        let mut next = self.all().iter().rev().map(|one| one.contention);
        next.find(|one| !one.is_none() && !self.searched.contains(one))
    }
}

impl Planner {
    /// The search's plan, or a better one with memory, where its capacity and all demands are known.
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
        let tolerance = p.fairness_tolerance_percent;
        let best = self.memory.all().iter().reduce(|best, one| {
            let is_better = p.objective.is_better_within(tolerance, &best.outcome, &one.outcome);
            if is_better { one } else { best }
        });
        if let Some(Candidate { sets, ways, contention, .. }) = best {
            self.search.settle_on(sets, ways);
            let contention = *contention;
            self.restart_clusters(p, llc, contention);
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

    /// Finds out how the programs of the plan that was begun fare with memory, and adds it, unless
    /// it breaks a promise. There is no contention in the clusters.
    fn rate(&mut self, limits: Limits, capacity_mbps: u32) {
        let Self { clusters, known, memory, .. } = self;
        let MemoryWeighing { candidates, count, demands, .. } = memory;
        let Candidate { sets, ways, outcome, contention } = &mut candidates[*count];
        let plan = || sets.iter().copied().zip(ways.iter().copied());
        if clusters.outcome_of(plan(), limits.least_ways) == Outcome::BROKEN {
            return;
        }
        demands.clear();
        demands.resize(known.len(), (0, Q32::default()));
        for (set, owned) in plan() {
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

/// What a program wants of memory where it occupies some ways, times 2^32: on the line between
/// its neighbours.
fn demand_at(demands: &Curve, occupied: u64) -> Q32 {
    let whole = u32::try_from(occupied >> 32).unwrap_or(u32::MAX - 1);
    let [below, above] = [whole.max(1), whole + 1].map(|ways| demands.at(ways).raw());
    let part = u128::from(occupied & 0xffff_ffff);
    let sum = u128::from(below) * ((1 << 32) - part) + u128::from(above) * part;
    Q32::from_raw(u64::try_from(sum >> 32).unwrap_or(u64::MAX))
}
