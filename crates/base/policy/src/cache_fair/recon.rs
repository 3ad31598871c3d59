//! Reconnaissance (§4.1): how a thread's misses depend on its co-runners, and its fair miss rate.
//!
//! "The scheduler does not force T to run with specific co-runners, but observes any co-runner
//! combinations that appear on the processor." Each time in which the same threads ran is a data
//! point. A line through the points (Equation 1) shows what T would do beside co-runners that miss
//! as often as T itself (Equation 2).

use alloc::collections::{BTreeMap, VecDeque};

use fairways_core::{CoRun, Counters, Q32, ThreadId};

use crate::regression::{Line, least_squares, nearest, saturate};

/// How many data points of a reconnaissance are kept; the oldest is forgotten first. Ours: memory
/// has a bound, however long 100 million instructions take.
pub const MOST_POINTS: usize = 64;

/// The most misses per cycle of a thread, and of all its co-runners together: counters that show
/// more are broken. Sums of such numbers do not overflow.
const MOST_RATE: Q32 = Q32::from_int(31);

/// The rates of a thread while it ran beside the same co-runners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPoint {
    /// The thread's misses of the last-level cache per cycle.
    pub own: Q32,
    /// The sum of its co-runners' misses per cycle; 0 if there was none.
    pub others: Q32,
    /// The threads that ran beside it: the same number for the same group of threads (§4.1).
    pub group: u64,
    /// The share of the thread's cycles that its misses took beyond what hits would have taken
    /// ([`memory_stalls`]), 0 to 1; `None` if it could not be counted.
    pub memory_stalls: Option<Q32>,
    /// The share of the thread's cycles stalled for room in the store buffer, likewise.
    pub store_buffer_stalls: Option<Q32>,
}

impl DataPoint {
    /// The data point of one of the threads that ran together; `None` if that thread did not run,
    /// or if its own misses or a co-runner's could not be counted.
    ///
    /// Misses of threads that are not listed but share the cache count as a co-runner's, over the
    /// thread's own cycles.
    #[must_use]
    pub fn from_group(together: &CoRun, thread: ThreadId) -> Option<Self> {
        let counters = together.threads.iter().find(|ran| ran.thread == thread)?.counters;
        let own = misses_per_cycle(&counters)?;
        let (mut others, mut listed, mut group) = (0u64, 0u64, 0u64);
        for ran in &together.threads {
            listed = listed.saturating_add(ran.counters.llc_misses?);
            if ran.thread != thread {
                others = others.saturating_add(misses_per_cycle(&ran.counters)?.raw());
                group = group.wrapping_add(mixed(ran.thread));
            }
        }
        let rest = together.group.llc_misses.map_or(0, |all| all.saturating_sub(listed));
        others = others.saturating_add(Q32::ratio(rest, counters.cycles?).raw());
        let others = Q32::from_raw(others);
        (own <= MOST_RATE && others <= MOST_RATE).then(|| Self {
            own,
            others,
            group,
            memory_stalls: memory_stalls(&counters),
            store_buffer_stalls: share(&counters, counters.stalls_store_buffer),
        })
    }
}

/// A number for a thread. A group's number is the sum, whatever the order. Two groups hardly ever
/// have the same number, and if they do, two means become one.
fn mixed(thread: ThreadId) -> u64 {
    let bits = u64::from(thread.app.0) << 32 | u64::from(thread.number);
    let bits = (bits ^ bits >> 30).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Misses of the last-level cache per cycle, the paper's miss rate (§3.1; decision cache-fair 1).
fn misses_per_cycle(counters: &Counters) -> Option<Q32> {
    let cycles = counters.cycles.filter(|&cycles| cycles > 0)?;
    Some(Q32::ratio(counters.llc_misses?, cycles))
}

/// A part of the cycles, 0 to 1; `None` if it could not be counted.
pub(super) fn share(counters: &Counters, part: Option<u64>) -> Option<Q32> {
    let cycles = counters.cycles.filter(|&cycles| cycles > 0)?;
    Some(Q32::ratio(part?, cycles).min(Q32::ONE))
}

/// The share of a thread's cycles that its misses of the last-level cache took beyond what hits
/// would have taken, 0 to 1; `None` if its stalls could not be counted.
///
/// The ideal CPI is the CPI "when there are no L2 cache misses" (§3.2): then each miss is a hit,
/// and a hit takes time, too. The time of a hit is what the thread itself waits for the references
/// that hit: its stalls for L2 misses, less those for memory, over its hits. If these are not
/// counted, or nothing hit, a hit counts as free (decision cache-fair 9).
#[must_use]
pub fn memory_stalls(counters: &Counters) -> Option<Q32> {
    let whole = counters.stalls_llc_miss?;
    share(counters, Some(whole.saturating_sub(as_hits(counters).unwrap_or(0))))
}

/// The cycles that a thread would have waited for its misses if they had been hits.
fn as_hits(counters: &Counters) -> Option<u64> {
    let misses = counters.llc_misses?;
    let hits = counters.llc_references?.checked_sub(misses).filter(|&hits| hits > 0)?;
    let waited = counters.stalls_l2_miss?.checked_sub(counters.stalls_llc_miss?)?;
    u64::try_from(u128::from(misses) * u128::from(waited) / u128::from(hits)).ok()
}

/// The value of Equation 2, FairMissRate(T) = b / (1 - a n), for a line whose values are in units
/// of 2^-32 misses per cycle, and n co-runners; in the same unit, to within one.
///
/// `None` if a n is 1 or more, where there is no such rate (decision cache-fair 2).
#[must_use]
pub fn equation_2(line: &Line, co_runners: u32) -> Option<i64> {
    let rest = (1i128 << 32) - i128::from(line.slope()) * i128::from(co_runners);
    if rest <= 0 {
        return None;
    }
    i64::try_from(nearest(i128::from(line.at_zero()) << 32, rest)).ok()
}

/// The line of Equation 1 through the points: a thread's misses per cycle over the sum of its
/// co-runners', both in units of 2^-32; `None` if there is none ([`least_squares`]).
#[must_use]
pub fn equation_1<'a>(points: impl IntoIterator<Item = &'a DataPoint>) -> Option<Line> {
    least_squares(points.into_iter().map(|point| (signed(point.others), signed(point.own))))
}

/// The fair miss rate of a thread with these points and this number of co-runners at a time, in
/// misses per cycle; `None` if the points do not determine it (decision cache-fair 2).
#[must_use]
pub fn fair_miss_rate<'a>(
    points: impl IntoIterator<Item = &'a DataPoint>,
    co_runners: u32,
) -> Option<Q32> {
    let rate = equation_2(&equation_1(points)?, co_runners)?;
    u64::try_from(rate).ok().map(Q32::from_raw)
}

/// The least and the greatest of a thread's mean rates beside each group of co-runners: between
/// them, the line through the points is known to be valid (decision cache-fair 15). `None` without
/// points.
#[must_use]
pub fn observed_range<'a>(points: impl IntoIterator<Item = &'a DataPoint>) -> Option<(Q32, Q32)> {
    let mut groups = BTreeMap::<u64, (u64, u64)>::new();
    for point in points {
        let (count, sum) = groups.entry(point.group).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(point.own.raw()));
    }
    let means = groups.values().map(|(count, sum)| Q32::from_raw(sum / count));
    Some((means.clone().min()?, means.max()?))
}

fn signed(value: Q32) -> i64 {
    saturate(i128::from(value.raw()))
}

/// The result of a reconnaissance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    /// The fair miss rate, misses per cycle.
    pub(super) rate: Q32,
    /// The share of cycles stalled for memory at that rate.
    pub(super) memory_stalls: Q32,
    /// The share of cycles stalled for the store buffer at that rate; `None` where these are not
    /// counted. Then they belong to the ideal CPI, whatever the miss rate.
    pub(super) store_buffer_stalls: Option<Q32>,
}

impl Fit {
    /// The fit by the line through the points; within the observed rates unless it `extrapolates`.
    /// `None` if points are missing, or do not determine a fair miss rate.
    pub(super) fn through(
        points: &VecDeque<DataPoint>,
        co_runners: u32,
        extrapolates: bool,
    ) -> Option<Self> {
        let rate = fair_miss_rate(points, co_runners)?;
        if extrapolates {
            return Self::at(rate, points);
        }
        let (least, greatest) = observed_range(points)?;
        Self::at(rate.clamp(least, greatest), points)
    }

    /// The fit at a known fair miss rate. `None` if no stalls could be counted.
    pub(super) fn at(rate: Q32, points: &VecDeque<DataPoint>) -> Option<Self> {
        Some(Self {
            rate,
            memory_stalls: stalls_at(rate, points, |point| point.memory_stalls)?,
            store_buffer_stalls: stalls_at(rate, points, |point| point.store_buffer_stalls),
        })
    }
}

/// Stalls at a miss rate, by the line through a thread's stalls over its own miss rate (§4.1:
/// "express them as linear functions of T's cache miss rate"). If that rate is always the same, it
/// is also the fair one, and the stalls are the mean.
fn stalls_at(
    rate: Q32,
    points: &VecDeque<DataPoint>,
    stalls: fn(&DataPoint) -> Option<Q32>,
) -> Option<Q32> {
    let counted = points.iter().filter_map(|point| Some((point.own, stalls(point)?)));
    let line = least_squares(counted.clone().map(|(own, share)| (signed(own), signed(share))));
    let share = match line {
        Some(line) => u64::try_from(line.at(signed(rate))).map_or(Q32::default(), Q32::from_raw),
        None => mean(counted.map(|(_, share)| share))?,
    };
    Some(share.min(Q32::ONE))
}

/// The mean; `None` if there are no values.
pub(super) fn mean(values: impl Iterator<Item = Q32>) -> Option<Q32> {
    let (count, sum) =
        values.fold((0u128, 0u128), |(n, sum), value| (n + 1, sum + u128::from(value.raw())));
    u64::try_from(sum.checked_div(count)?).ok().map(Q32::from_raw)
}
