//! The largest total performance (§3.5): of the way counts in the table of each workload, those
//! whose normalised IPCs have the largest sum.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::Q32;

use super::parameters::reaches;
use super::workload::{Workload, WorkloadClass};

/// The choices of one workload: ways, and its normalised IPC with them.
pub(super) type Entries = Vec<(u32, Q32)>;

/// Picks an entry of each table so that the ways are at most `budget` and the sum of normalised IPC
/// is the largest; of equal sums, the one that changes the fewest ways from `now`. `None` if none
/// fits.
pub(super) fn best(tables: &[Entries], now: &[u32], budget: u32) -> Option<Vec<u32>> {
    let stride = budget as usize + 1;
    let mut sums: Vec<Option<(u64, Reverse<u32>)>> = vec![None; stride];
    sums.fill(Some((0, Reverse(0))));
    let mut picks = vec![0u32; stride * tables.len()];
    for (place, (entries, &now)) in tables.iter().zip(now).enumerate() {
        let mut next = vec![None; stride];
        for left in 0..stride {
            for &(ways, value) in entries {
                let before = left.checked_sub(ways as usize).and_then(|left| sums[left]);
                let Some((sum, Reverse(moved))) = before else { continue };
                let here = (sum.saturating_add(value.raw()), Reverse(moved + ways.abs_diff(now)));
                if next[left].is_none_or(|best| here > best) {
                    next[left] = Some(here);
                    picks[place * stride + left] = ways;
                }
            }
        }
        sums = next;
    }
    sums[stride - 1]?;
    let mut left = stride - 1;
    let mut picked = vec![0; tables.len()];
    for place in (0..tables.len()).rev() {
        picked[place] = picks[place * stride + left];
        left -= picked[place] as usize;
    }
    Some(picked)
}

/// Divides the ways of the workloads that have their baseline and a table again, so that every
/// claim is met. With a threshold, only if that gains this percentage of a baseline's IPC.
pub(super) fn reallocate(workloads: &mut [Workload], total: u32, thr: Option<Q32>) {
    let others = workloads.iter().filter(|workload| !workload.takes_part());
    let fixed: u32 =
        others.map(|workload| workload.ways.max(workload.claim).max(workload.least)).sum();
    let Some(budget) = total.checked_sub(fixed) else { return };
    let tables: Vec<Entries> = workloads
        .iter()
        .filter(|workload| workload.takes_part())
        .map(|workload| {
            (workload.baseline..=budget)
                .filter_map(|ways| Some((ways, workload.normalised(ways)?)))
                .collect()
        })
        .collect();
    let now: Vec<u32> = workloads
        .iter()
        .filter(|workload| workload.takes_part())
        .map(|workload| workload.ways)
        .collect();
    let Some(picked) = best(&tables, &now, budget) else { return };
    if let Some(thr) = thr {
        let sums = sum(&tables, &picked).zip(sum(&tables, &now));
        let gain = sums.map(|(new, old)| new.saturating_sub(old));
        if !gain.is_some_and(|gain| gain > 0 && reaches(Q32::from_raw(gain), thr, Q32::ONE)) {
            return;
        }
    }
    for (workload, ways) in
        workloads.iter_mut().filter(|workload| workload.takes_part()).zip(picked)
    {
        while workload.ways > ways {
            workload.lose_way();
        }
        if ways > workload.ways {
            (workload.ways, workload.ways_before_growth) = (ways, None);
        }
    }
}

impl Workload {
    /// Whether it has its baseline and a table, so that its ways can be divided again.
    fn takes_part(&self) -> bool {
        matches!(
            self.class,
            WorkloadClass::Unknown | WorkloadClass::Receiver | WorkloadClass::Keeper
        ) && self.ways >= self.baseline.max(self.claim)
            && self.normalised(self.baseline).is_some()
    }
}

/// The sum of normalised IPC with these ways, in units of 2^-32; `None` if one was not seen.
fn sum(tables: &[Entries], ways: &[u32]) -> Option<u64> {
    let mut sum = 0u64;
    for (entries, ways) in tables.iter().zip(ways) {
        let (_, value) = entries.iter().find(|(seen, _)| seen == ways)?;
        sum = sum.saturating_add(value.raw());
    }
    Some(sum)
}
