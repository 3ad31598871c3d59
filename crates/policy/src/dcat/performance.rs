//! The largest total performance (§3.5): of the counts that each workload's table has, those whose
//! normalised IPC adds up to most.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::Q32;

use super::parameters::reaches;
use super::workload::{Workload, WorkloadClass};

/// What one workload could have: ways, and its normalised IPC with them.
pub(super) type Entries = Vec<(u32, Q32)>;

/// Picks an entry of each table so that the ways are at most `budget` and the sum of normalised IPC is
/// the largest; of several such, one that changes the fewest ways from `now`. `None` if none fits.
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

/// Divides the ways of those that have their baseline and a table anew, so that everybody's claim is
/// met. Given a threshold, only if that gains so many percent of a baseline's IPC.
pub(super) fn reallocate(workloads: &mut [Workload], total: u32, thr: Option<Q32>) {
    let takes_part = |one: &Workload| {
        matches!(
            one.class,
            WorkloadClass::Unknown | WorkloadClass::Receiver | WorkloadClass::Keeper
        ) && one.ways >= one.baseline.max(one.claim)
            && one.normalised(one.baseline).is_some()
    };
    let others = workloads.iter().filter(|one| !takes_part(one));
    let fixed: u32 = others.map(|one| one.ways.max(one.claim).max(one.least)).sum();
    let Some(budget) = total.checked_sub(fixed) else { return };
    let tables: Vec<Entries> = workloads
        .iter()
        .filter(|one| takes_part(one))
        .map(|one| {
            let seen = |ways| Some((ways, one.normalised(ways)?));
            (one.baseline..=budget).filter_map(seen).collect()
        })
        .collect();
    let now: Vec<u32> =
        workloads.iter().filter(|one| takes_part(one)).map(|one| one.ways).collect();
    let Some(picked) = best(&tables, &now, budget) else { return };
    if let Some(thr) = thr {
        let sum = |ways: &[u32]| -> Option<u64> {
            let value = |(entries, ways): (&Entries, &u32)| {
                entries.iter().find(|(seen, _)| seen == ways).map(|(_, value)| value.raw())
            };
            tables
                .iter()
                .zip(ways)
                .map(value)
                .try_fold(0, |sum: u64, value| Some(sum.saturating_add(value?)))
        };
        let gain = sum(&picked).zip(sum(&now)).map(|(new, old)| new.saturating_sub(old));
        if !gain.is_some_and(|gain| gain > 0 && reaches(Q32::from_raw(gain), thr, Q32::ONE)) {
            return;
        }
    }
    for (one, ways) in workloads.iter_mut().filter(|one| takes_part(one)).zip(picked) {
        while one.ways > ways {
            one.lose_way();
        }
        if ways > one.ways {
            (one.ways, one.ways_before_growth) = (ways, None);
        }
    }
}
