//! The effect of memory bandwidth on a plan, if the capacity and the demands of programs are known.
//! Programs slow each other down at memory whatever clusters they are in, so a plan must be rated
//! with the memory traffic of all its programs.
//!
//! The estimate is the `simple` model of PBBCache (LFOC §3): if the demands b exceed the capacity B
//! in total, a program is slower by 1 / (1 - m b), with m = (sum b - B) / sum b². A search uses one
//! fixed m, which makes programs independent of each other; the plans found at some values of m are
//! then compared, each at its own m.

use alloc::vec::Vec;

use fairways_core::{Curve, Llc, Q32};

use super::objective::Outcome;

/// The most searches with memory in a decision.
const MOST_SEARCHES: usize = 4;

/// The least part of its speed that memory leaves a program, in units of 2^-32.
const LEAST_LEFT: u64 = (1 << 32) / 64;

/// How much programs slow each other down at memory: m as a fraction; demands are in MB/s times
/// 2^8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contention {
    excess: u128,
    squares: u128,
}

impl Contention {
    /// The contention of these demands, in MB/s.
    pub(super) fn new(demands: impl Iterator<Item = Q32>, capacity_mbps: u32) -> Self {
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

    /// Whether memory has capacity for all demands.
    pub(super) const fn is_none(self) -> bool {
        self.excess == 0
    }

    /// The slowdown, with this contention, of a program with this demand and this slowdown without
    /// contention.
    pub(crate) fn slow_down(self, slowdown: u64, demand: Q32) -> u64 {
        let taken = ((self.excess * scaled(demand)) << 32) / self.squares.max(1);
        let taken = u64::try_from(taken).unwrap_or(u64::MAX);
        let left = (1_u64 << 32).saturating_sub(taken).max(LEAST_LEFT);
        let slowdown = (u128::from(slowdown) << 32) / u128::from(left);
        u64::try_from(slowdown).unwrap_or(u64::MAX).min(Q32::MAX_IN_CURVE.raw())
    }

    /// The slowdowns, with this contention, of a program with these demands, by ways.
    pub(crate) fn slow_down_all(self, slowdowns: &Curve, demands: &Curve, llc: &Llc) -> Curve {
        Curve::from_fn(llc.ways, |ways| {
            Q32::from_raw(self.slow_down(slowdowns.at(ways).raw(), demands.at(ways)))
        })
    }
}

fn scaled(demand: Q32) -> u128 {
    u128::from(demand.raw() >> 24)
}

/// Plans with their outcomes when programs contend for memory; reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryWeighing {
    pub(super) candidates: Vec<PlanWithMemory>,
    /// The number of plans.
    pub(super) count: usize,
    pub(super) searched: Vec<Contention>,
    /// The slowdown of each program without contention, and its demand.
    pub(super) demands: Vec<(u64, Q32)>,
}

/// A plan, with its contention for memory and the outcome under that.
#[derive(Clone, Debug)]
pub(super) struct PlanWithMemory {
    pub(super) sets: Vec<u64>,
    pub(super) ways: Vec<u32>,
    pub(super) outcome: Outcome,
    pub(super) contention: Contention,
}

impl MemoryWeighing {
    /// Begins a candidate.
    pub(super) fn next(&mut self) -> &mut PlanWithMemory {
        if self.count == self.candidates.len() {
            self.candidates.push(PlanWithMemory {
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

    pub(super) fn all(&self) -> &[PlanWithMemory] {
        &self.candidates[..self.count]
    }

    /// The contention for the next search: that of the last candidate whose contention was not
    /// searched yet; `None` if there is none, or after `MOST_SEARCHES`.
    pub(super) fn next_contention(&self) -> Option<Contention> {
        if self.searched.len() == MOST_SEARCHES {
            return None;
        }
        let mut next = self.all().iter().rev().map(|one| one.contention);
        next.find(|one| !one.is_none() && !self.searched.contains(one))
    }
}
