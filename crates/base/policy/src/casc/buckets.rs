//! Bucketization: which threads may run on which CPUs (§4.3, Figure 4).
//!
//! Each CPU has a bucket, and allows the threads whose PCMR is at most its `MAX_PCMR` (decision
//! CASC 3). At first every `MAX_PCMR` is 100. Then they are decreased step by step, each time for
//! the CPU where that restricts the fewest threads, until the average is at the threshold. No
//! thread loses its last CPU.
//!
//! If that would not keep all CPUs busy, the threshold is raised and everything is done again
//! (§4.3.1). The steps depend on the threshold only for where they end, and each step leaves less
//! choice than the one before. So a single way down passes the points where the higher thresholds
//! end. The last of these points that keeps the CPUs busy is the one that raising the threshold
//! would find.

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::Q32;

use super::matching::keeps_busy_sorted;
use super::parameters::{Parameters, PenaltyRule};
use super::rates::HUNDRED;

/// The `MAX_PCMR`s, and how they were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The largest PCMR that each CPU allows, by the CPUs' numbers, in misses per 100 references.
    pub max_pcmrs: Vec<Q32>,
    /// The threshold that was finally used, in misses per 100 references: the parameter's, or a
    /// higher one that leaves no CPU idle.
    pub threshold: Q32,
    /// Whether the average of `max_pcmrs` is at most this threshold; otherwise it is as low as
    /// possible.
    pub is_reached: bool,
    /// How many times a `MAX_PCMR` was decreased.
    pub steps: u32,
}

impl Assignment {
    /// The miss rate that the system will not exceed: the average of `max_pcmrs`.
    #[must_use]
    pub fn projected(&self) -> Q32 {
        average(&self.max_pcmrs)
    }
}

/// The average; 0 if there are no rates.
#[must_use]
pub fn average(rates: &[Q32]) -> Q32 {
    let sum: u128 = rates.iter().map(|rate| u128::from(rate.raw())).sum();
    let mean = sum.checked_div(rates.len() as u128).and_then(|mean| u64::try_from(mean).ok());
    Q32::from_raw(mean.unwrap_or(0))
}

/// The CPUs that a thread with this PCMR may run on, in order.
pub fn allowed(max_pcmrs: &[Q32], pcmr: Q32) -> impl Iterator<Item = u32> {
    (0..).zip(max_pcmrs).filter(move |&(_, &max)| pcmr <= max).map(|(cpu, _)| cpu)
}

/// The `MAX_PCMR`s for threads with these PCMRs (misses per 100 references; more than 100 counts as
/// 100) on `cpus` CPUs: §4.3.1's bucketization algorithm, with the threshold raised where
/// necessary.
///
/// It takes at most 100 over the unit, times CPUs, steps.
#[must_use]
pub fn assign(pcmrs: &[Q32], cpus: usize, parameters: &Parameters) -> Assignment {
    let mut down = Descent::new(pcmrs, cpus, parameters);
    let mut rising = thresholds(parameters.threshold.min(HUNDRED), parameters, down.unit);
    let lowest = rising[0];
    let mut best = down.assignment(HUNDRED, true);
    loop {
        // The thresholds that are reached here, from the highest down.
        while let Some(threshold) = rising.pop_if(|threshold| down.is_within(*threshold)) {
            if !down.keeps_busy(parameters.m) {
                return best;
            }
            best = down.assignment(threshold, true);
        }
        if rising.is_empty() {
            return best;
        }
        if !down.step(parameters.penalty) {
            break;
        }
    }
    // No remaining threshold can be reached: the lowest average counts, if it keeps the CPUs busy.
    if down.keeps_busy(parameters.m) { down.assignment(lowest, false) } else { best }
}

/// The thresholds to try one after the other, up to 100.
fn thresholds(first: Q32, parameters: &Parameters, unit: Q32) -> Vec<Q32> {
    let mut all = vec![first];
    let mut last = first;
    while last < HUNDRED {
        let product = u128::from(last.raw()) * u128::from(parameters.threshold_factor.raw());
        let raised = u64::try_from(product >> 32).map_or(HUNDRED, Q32::from_raw);
        // At least a unit more, or it might never end.
        last = raised.max(Q32::from_raw(last.raw() + unit.raw())).min(HUNDRED);
        all.push(last);
    }
    all
}

/// The level whose `MAX_PCMR` allows this PCMR.
fn needed_level(pcmr: Q32, unit: Q32) -> usize {
    usize::try_from(pcmr.min(HUNDRED).raw().div_ceil(unit.raw())).unwrap_or(0)
}

/// The way down: `MAX_PCMR`s in whole units, called levels.
struct Descent {
    unit: Q32,
    levels: Vec<usize>,
    /// The sum of the `MAX_PCMR`s, in units of 2^-32.
    sum: u128,
    /// By level: how many threads need at most that level.
    below: Vec<usize>,
    /// The level that the greediest thread needs.
    greediest: usize,
    /// How many CPUs that thread may run on.
    reachable: usize,
    steps: u32,
}

impl Descent {
    fn new(pcmrs: &[Q32], cpus: usize, parameters: &Parameters) -> Self {
        let unit = parameters.unit.clamp(Q32::from_raw(Q32::ONE.raw() / 16), HUNDRED);
        let top = needed_level(HUNDRED, unit);
        let mut below = vec![0; top + 1];
        for &pcmr in pcmrs {
            below[needed_level(pcmr, unit)] += 1;
        }
        let greediest = below.iter().rposition(|&threads| threads > 0).unwrap_or(0);
        for at in 1..=top {
            below[at] += below[at - 1];
        }
        let sum = u128::from(HUNDRED.raw()) * cpus as u128;
        let levels = vec![top; cpus];
        Self { unit, levels, sum, below, greediest, reachable: cpus, steps: 0 }
    }

    fn max_pcmr(&self, level: usize) -> Q32 {
        Q32::from_raw((level as u64).saturating_mul(self.unit.raw())).min(HUNDRED)
    }

    fn assignment(&self, threshold: Q32, is_reached: bool) -> Assignment {
        let max_pcmrs = self.levels.iter().map(|&level| self.max_pcmr(level)).collect();
        Assignment { max_pcmrs, threshold, is_reached, steps: self.steps }
    }

    /// Whether the projected miss rate is at most this threshold.
    fn is_within(&self, threshold: Q32) -> bool {
        self.sum <= u128::from(threshold.raw()) * self.levels.len() as u128
    }

    fn keeps_busy(&self, m: u32) -> bool {
        let mut levels = self.levels.clone();
        levels.sort_unstable();
        let threads = self.below.last().copied().unwrap_or(0);
        keeps_busy_sorted(&levels, m, threads, |level| self.below[level])
    }

    /// Decreases the `MAX_PCMR` of the CPU with the least penalty; of several, the one with the
    /// largest `MAX_PCMR`, and of these the one with the highest number (decision CASC 4). Whether
    /// there is one.
    fn step(&mut self, penalty: PenaltyRule) -> bool {
        let candidates = self.levels.iter().enumerate().filter(|&(_, &level)| {
            // The last CPU that allows the greediest thread goes on allowing it.
            level > 0 && (level != self.greediest || self.reachable > 1)
        });
        // The levels in order, each with the lowest CPU that has it, whose bucket contains the
        // threads.
        let mut buckets: Vec<(usize, usize)> = match penalty {
            PenaltyRule::Restricted => Vec::new(),
            PenaltyRule::InBucket => {
                (0..).zip(&self.levels).map(|(cpu, &level)| (level, cpu)).collect()
            }
        };
        buckets.sort_unstable();
        buckets.dedup_by_key(|(level, _)| *level);
        let cost = |cpu: usize, level: usize| match penalty {
            PenaltyRule::Restricted => self.below[level] - self.below[level - 1],
            PenaltyRule::InBucket => match buckets.binary_search(&(level, cpu)) {
                Ok(0) => self.below[level],
                Ok(at) => self.below[level] - self.below[buckets[at - 1].0],
                Err(_) => 0,
            },
        };
        let least = candidates
            .min_by_key(|&(cpu, &level)| (cost(cpu, level), usize::MAX - level, usize::MAX - cpu));
        let Some((cpu, _)) = least else { return false };
        let level = self.levels[cpu];
        self.sum -= u128::from(self.max_pcmr(level).raw() - self.max_pcmr(level - 1).raw());
        self.reachable -= usize::from(level == self.greediest);
        self.levels[cpu] = level - 1;
        self.steps += 1;
        true
    }
}
