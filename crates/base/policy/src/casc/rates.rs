//! Miss rates of groups (§4.2), and their averages over intervals.

use core::time::Duration;

use fairways_core::{CoRun, Counters, Q32};

/// The largest miss rate and PCMR: every reference misses.
pub(super) const HUNDRED: Q32 = Q32::from_int(100);

/// The L2 misses per 100 references of a group, at most 100; `None` if they were not counted or
/// nothing was referenced. If the group was not counted, the counters of its threads are added up.
pub(super) fn miss_rate(together: &CoRun) -> Option<Q32> {
    let (misses, references) = misses_and_references(&together.group).or_else(|| {
        together.threads.iter().try_fold((0u64, 0u64), |sum, one| {
            let (misses, references) = misses_and_references(&one.counters)?;
            Some((sum.0.saturating_add(misses), sum.1.saturating_add(references)))
        })
    })?;
    let scaled = (u128::from(misses) * 100) << 32;
    let rate = scaled.checked_div(u128::from(references))?;
    Some(u64::try_from(rate).map_or(HUNDRED, Q32::from_raw).min(HUNDRED))
}

fn misses_and_references(counters: &Counters) -> Option<(u64, u64)> {
    Some((counters.llc_misses?, counters.llc_references?))
}

/// The average of numbers, each weighted by the length of its interval (§4.2.2.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    sum: i128,
    nanos: u64,
}

impl Average {
    pub(super) fn add(&mut self, value: i64, interval: Duration) {
        let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let before = self.nanos;
        self.nanos = before.saturating_add(nanos);
        // A saturated time adds nothing to the sum either; otherwise the sum would outgrow the
        // time.
        self.sum += i128::from(value) * i128::from(self.nanos - before);
    }

    /// The total length of the intervals.
    pub(super) const fn length(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// The average; `None` if there is no interval.
    pub(super) fn value(&self) -> Option<i64> {
        // An average of numbers that fit fits.
        i64::try_from(self.sum.checked_div(i128::from(self.nanos))?).ok()
    }
}

/// A number in units of 2^-32 as a score from 0 to 100 (decision CASC 11).
pub(super) fn score(raw: i64) -> Q32 {
    Q32::from_raw(u64::try_from(raw).unwrap_or(0)).min(HUNDRED)
}

/// A rate or score, which is 100 at most, in units of 2^-32.
pub(super) fn signed(rate: Q32) -> i64 {
    i64::try_from(rate.raw()).unwrap_or(i64::MAX)
}
