//! What a program did at every size that it had: its windows, by occupancy.
//!
//! A program whose partition grows fills it line by line. As long as lines are replaced least
//! recently used first, it has the same lines at each occupancy as it would with that many ways for
//! good: the footprint theory of Xiang, Ding, Luo and Bao (HOTL, ASPLOS 2013). So a window counts
//! for the occupancy that it was measured at, whatever ways the program had.

use fairways_core::{Curve, MAX_WAYS, Q32, Ways};

use super::points::CurvePoints;
use super::rates::{ObservedRates, SIZES};
use crate::lfoc;

/// The mean rates at each size that a program had in one phase.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// The number of the phase among its program's phases.
    pub(crate) number: u32,
    /// The mean of each size.
    sizes: [Option<ObservedRates>; SIZES],
    /// By number of its own ways: how many of them it filled.
    reached: [Option<Q32>; MAX_WAYS],
    /// Whether it was sampled up to the largest size that sampling reaches.
    pub(crate) is_sampled: bool,
    /// Whether its sampling ended before it had filled its partition.
    pub(crate) is_unfinished: bool,
}

impl Default for Observed {
    fn default() -> Self {
        Self {
            number: 0,
            sizes: [None; SIZES],
            reached: [None; MAX_WAYS],
            is_sampled: false,
            is_unfinished: false,
        }
    }
}

impl Observed {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a window; returns whether that changes its curves by more than noise would.
    pub(crate) fn add(&mut self, rates: &ObservedRates) -> bool {
        let size = &mut self.sizes[rates.size()];
        let Some(mean) = size else {
            *size = Some(*rates);
            return true;
        };
        let before = mean.cpi.raw();
        mean.blend(rates);
        mean.cpi.raw().abs_diff(before) > before / 256
    }

    /// Adds how many of its own ways it fills; whether that changes its curves.
    pub(crate) fn reach(&mut self, own: Q32, filled: Q32) -> bool {
        let ways = own.raw().saturating_add(1 << 31) >> 32;
        let place = usize::try_from(ways).ok().and_then(|ways| ways.checked_sub(1));
        // How it fills a partition with a part of a way says little about whole ways.
        let is_whole = own.raw().abs_diff(ways << 32) <= 1 << 29;
        let reached = place.filter(|_| is_whole).and_then(|place| self.reached.get_mut(place));
        let Some(reached) = reached else { return false };
        let filled = filled.raw().min(ways << 32);
        let before = reached.replace(Q32::from_raw(filled)).map_or(ways << 32, Q32::raw);
        before.abs_diff(filled) > 1 << 29
    }

    /// How many of its own ways it fills: fewer if its lines crowd into some sets, or if it has no
    /// more lines. Each further way adds no more lines than the one before it.
    fn filled(&self, ways: u32) -> Q32 {
        let own = u64::from(ways) << 32;
        let (below, here) = self.reached.split_at(ways as usize - 1);
        if let Some(known) = here.iter().flatten().min() {
            return Q32::from_raw(known.raw().min(own));
        }
        let mut known = (1..ways).zip(below).rev().filter_map(|(ways, of)| Some((ways, (*of)?)));
        let Some((most, filled)) = known.next() else { return Q32::from_raw(own) };
        let (fewer, less) = known.next().unwrap_or_default();
        let slope = filled.raw().saturating_sub(less.raw()) / u64::from(most - fewer);
        Q32::from_raw((filled.raw() + slope * u64::from(ways - most)).min(own))
    }

    fn means(&self) -> impl DoubleEndedIterator<Item = &ObservedRates> {
        self.sizes.iter().flatten()
    }

    /// The smallest and the largest occupancy that it was seen with.
    pub(crate) fn range(&self) -> Option<(Q32, Q32)> {
        let least = self.means().next()?;
        let most = self.means().next_back()?;
        Some((least.occupancy, most.occupancy))
    }

    /// Whether a window is unlike those before it at this size; `None` if the program was not seen
    /// at about this size.
    pub(crate) fn differs(&self, rates: &ObservedRates) -> Option<bool> {
        let mut near = self
            .means()
            .filter(|mean| mean.occupancy.raw().abs_diff(rates.occupancy.raw()) <= Q32::ONE.raw());
        let first = near.next()?;
        let last = near.next_back().unwrap_or(first);
        let known = first.references.max(last.references).zip(rates.references);
        if known.is_some_and(|(known, now)| differ(known, now, 4, Q32::ONE)) {
            return Some(true);
        }
        let [slower, faster] = [first.cpi.max(last.cpi), first.cpi.min(last.cpi)];
        // Unlike means an eighth slower or faster than both of its neighbours.
        let [slower, faster] = [slower, faster].map(Q32::raw);
        let now = rates.cpi.raw();
        // With more lines than ever before it may be faster, and with fewer it may be slower.
        let (least, most) = self.range()?;
        let is_slower = now > slower.saturating_add(slower / 8) && rates.occupancy >= least;
        let is_faster = now < faster - faster / 8 && rates.occupancy <= most;
        Some(is_slower || is_faster)
    }

    /// The largest share of its cycles that the program could save with more ways than it was ever
    /// seen with, in units of 2^-32; 0 once it was sampled.
    ///
    /// A miss costs up to 200 cycles. Most of that shows as a stall and the rest is small: 1.5
    /// times the stalls, plus two cycles for each miss. A program that misses less than a streaming
    /// one (LFOC Table 1) gains less and less from each way: at most twice as much as from each of
    /// the last two. A streaming program may gain much from a way after others brought nothing.
    pub(crate) fn possible_gain(&self, ways: Ways) -> u64 {
        let Some(most) = self.means().next_back().filter(|_| !self.is_sampled) else {
            return 0;
        };
        let misses = most.llcmpkc.raw();
        let by_misses = misses / 5;
        let by_stalls = most.stalls.map_or(u64::MAX, |stalls| stalls.raw() / 2 * 3 + misses / 500);
        let streams = most.llcmpkc >= lfoc::Parameters::plus().streaming_llcmpkc;
        let by_slope = if streams { None } else { self.gain_by_slope(most, ways) };
        by_misses.min(by_stalls).min(by_slope.unwrap_or(u64::MAX)).min(Q32::ONE.raw() / 10 * 9)
    }

    /// The share of its cycles that the program saves with all ways, if each way saves twice as
    /// much as each of the last two that it was seen with.
    fn gain_by_slope(&self, most: &ObservedRates, ways: Ways) -> Option<u64> {
        let two = 2 * Q32::ONE.raw();
        let before =
            self.means().rev().find(|mean| mean.occupancy.raw() + two <= most.occupancy.raw())?;
        let span = u128::from(most.occupancy.raw() - before.occupancy.raw());
        let left = Q32::from_int(ways.get()).raw().saturating_sub(most.occupancy.raw());
        // A 500th may be noise.
        let saved = before.cpi.raw().saturating_sub(most.cpi.raw()) + most.cpi.raw() / 500;
        let gain = 2 * u128::from(saved) * u128::from(left) / span;
        u64::try_from((gain << 32) / u128::from(most.cpi.raw())).ok()
    }

    /// The fewest cycles per instruction that it could take.
    pub(crate) fn least_cpi(&self, ways: Ways) -> Option<Q32> {
        let least = self.means().map(|mean| mean.cpi.raw()).min()?;
        let at_best =
            (u128::from(least) * u128::from(Q32::ONE.raw() - self.possible_gain(ways))) >> 32;
        Some(Q32::from_raw(u64::try_from(at_best).unwrap_or(u64::MAX)))
    }

    /// Its IPC and its LLCMPKC with each number of ways, and its IPC with hardly any cache if it
    /// was seen with part of a way; `None` if it was never seen.
    pub(crate) fn curves(&self, ways: Ways) -> Option<([Curve; 2], Option<Q32>)> {
        let mut points = CurvePoints::default();
        self.means().for_each(|mean| points.push(mean));
        let curves = points.curves(ways, |ways| self.filled(ways))?;
        let (least, _) = self.range()?;
        Some((curves, (least <= Q32::ONE).then(|| points.ipc(Q32::default()))))
    }
}

/// Whether two rates differ by more than one part in `part` of the larger one, which exceeds
/// `least`.
fn differ(one: Q32, other: Q32, part: u64, least: Q32) -> bool {
    let most = one.max(other);
    most > least && one.raw().abs_diff(other.raw()) > most.raw() / part
}

#[cfg(test)]
pub(crate) mod tests {
    use core::time::Duration;

    use fairways_core::Counters;

    use super::*;

    /// A window with this occupancy in quarters of a way, cycles per 1000 instructions, and misses
    /// per 1000 cycles; a quarter of its cycles are stalls.
    pub(crate) fn rates(quarters: u64, cycles: u64, misses: u64) -> ObservedRates {
        let counters = Counters {
            instructions: Some(1_000_000),
            cycles: Some(cycles * 1000),
            llc_misses: Some(misses * cycles),
            llc_references: Some(50_000),
            stalls_l2_miss: Some(cycles * 250),
            ..Counters::default()
        };
        let length = Duration::from_millis(50);
        ObservedRates::new(&counters, Q32::from_raw(quarters << 30), length).unwrap()
    }

    #[test]
    fn a_size_has_the_mean_of_its_windows() {
        let mut observed = Observed::default();
        assert!(observed.add(&rates(8, 1000, 4)));
        assert!(observed.add(&rates(8, 1020, 4)));
        // Less than a 256th.
        assert!(!observed.add(&rates(8, 1012, 4)));
        let range = observed.range().unwrap();
        assert_eq!(range.0, range.1);
        assert_eq!(range.0.raw() >> 30, 8);
        assert!(observed.add(&rates(9, 1000, 4)));
        assert_eq!(observed.range().unwrap().1.raw() >> 30, 9);
    }

    /// The cycles of all windows over their instructions.
    #[test]
    fn a_window_counts_for_as_long_as_it_is() {
        for (nanos, cycles) in [(50_000_000, 667), (25_000_000, 750), (1, 1000)] {
            let mut observed = Observed::default();
            observed.add(&rates(8, 1000, 4));
            observed.add(&ObservedRates { nanos, ..rates(8, 500, 4) });
            let least = observed.means().next().unwrap().cpi.raw();
            assert_eq!((least * 1000 + (1 << 31)) >> 32, cycles);
        }
    }

    #[test]
    fn a_window_differs_from_those_of_its_size_only() {
        let mut observed = Observed::default();
        observed.add(&rates(8, 1000, 4));
        assert_eq!(observed.differs(&rates(10, 1100, 4)), Some(false));
        assert_eq!(observed.differs(&rates(10, 1150, 4)), Some(true));
        // It may be as steep as that.
        assert_eq!(observed.differs(&rates(10, 850, 4)), Some(false));
        assert_eq!(observed.differs(&rates(8, 850, 4)), Some(true));
        assert_eq!(observed.differs(&rates(6, 850, 4)), Some(true));
        assert_eq!(observed.differs(&rates(6, 1150, 4)), Some(false));
        assert_eq!(observed.differs(&rates(16, 1150, 4)), None);
        let other = ObservedRates { references: Some(Q32::from_int(90)), ..rates(8, 1000, 4) };
        assert_eq!(observed.differs(&other), Some(true));
    }

    const EIGHT: Ways = Ways::new(8).unwrap();

    #[test]
    fn a_program_that_does_not_stream_gains_less_and_less() {
        let streaming = lfoc::Parameters::plus().streaming_llcmpkc.raw() >> 32;
        // Of a streaming one, 1.5 times the stalls and two cycles for each miss.
        for (misses, gain) in [(streaming - 1, 48), (streaming, 375 + 2 * streaming)] {
            let mut observed = Observed::default();
            observed.add(&rates(8, 1010, misses));
            observed.add(&rates(16, 1000, misses));
            // 10 and 2 cycles by two ways: twice that by each two of the four that are left.
            let gain_found = (observed.possible_gain(EIGHT) * 1000 + (1 << 31)) >> 32;
            assert_eq!(gain_found, gain, "{misses}");
        }
    }

    #[test]
    fn what_more_ways_may_bring_is_bounded_until_they_were_seen() {
        let mut observed = Observed::default();
        observed.add(&rates(8, 1000, 1));
        // One miss in 1000 cycles may cost a fifth of them; half a cycle is lost in rounding.
        assert_eq!((observed.possible_gain(EIGHT) * 1000 + (1 << 31)) >> 32, 200);
        observed.add(&rates(12, 1000, 10));
        // Three eighths by stalls, and two cycles for each miss.
        assert_eq!((observed.possible_gain(EIGHT) * 1000 + (1 << 31)) >> 32, 395);
        let least = observed.least_cpi(EIGHT).unwrap();
        assert_eq!((least.raw() * 1000 + (1 << 31)) >> 32, 605);
        observed.is_sampled = true;
        assert_eq!(observed.possible_gain(EIGHT), 0);
    }

    /// Its lines crowd into some sets, so that it fills 1.5 of two ways, and misses.
    #[test]
    fn a_program_that_does_not_fill_its_ways_is_as_slow_as_with_those_that_it_fills() {
        let mut observed = Observed::default();
        for (quarters, cycles) in [(4, 2000), (6, 1500), (8, 1000)] {
            observed.add(&rates(quarters, cycles, 4));
        }
        for (own, filled, is_news, cycles) in [
            (8, 6, true, [2000, 1500, 1000]),
            // A part of a way more says little of two.
            (9, 7, false, [2000, 1500, 1000]),
            // What it does not fill of more ways, it does not fill of fewer.
            (12, 5, true, [2000, 1750, 1750]),
        ] {
            let [own, filled] = [own, filled].map(|quarters| Q32::from_raw(quarters << 30));
            assert_eq!(observed.reach(own, filled), is_news);
            let ([ipc, _], _) = observed.curves(EIGHT).unwrap();
            let found = [1, 2, 3].map(|ways| ipc.at(ways).raw());
            assert_eq!(found.map(|ipc| ((1000 << 32) + ipc / 2) / ipc), cycles);
        }
    }

    /// Twice as slow with a quarter of a way as with one: down by 1000 cycles for 3/4 of a way.
    #[test]
    fn what_a_program_does_with_part_of_a_way_is_known_beside_its_curves() {
        let mut observed = Observed::default();
        for (quarters, cycles) in [(1, 2000), (4, 1000), (8, 1000)] {
            observed.add(&rates(quarters, cycles, 4));
        }
        let ([ipc, _], least) = observed.curves(EIGHT).unwrap();
        assert_eq!([ipc.at(1), ipc.at(2)].map(|ipc| (1000 << 32) / ipc.raw()), [1000; 2]);
        assert_eq!((1000 << 32) / least.unwrap().raw(), 2333);
        let mut observed = Observed::default();
        observed.add(&rates(5, 1000, 4));
        assert_eq!(observed.curves(EIGHT).unwrap().1, None);
    }

    fn quarters(quarters: u64) -> Q32 {
        Q32::from_raw(quarters << 30)
    }

    #[test]
    fn of_more_ways_it_fills_no_more_than_of_those_before() {
        let mut observed = Observed::default();
        assert_eq!(observed.filled(3), quarters(12));
        observed.reach(quarters(8), quarters(6));
        assert_eq!([2, 3].map(|ways| observed.filled(ways)), [quarters(6), quarters(9)]);
        observed.reach(quarters(16), quarters(10));
        assert_eq!([3, 5, 8].map(|ways| observed.filled(ways)), [10, 12, 18].map(quarters));
    }

    #[test]
    fn a_window_that_lacks_a_counter_shows_nothing() {
        let counters = Counters { instructions: Some(1), cycles: Some(1), ..Counters::default() };
        assert_eq!(ObservedRates::new(&counters, Q32::ONE, Duration::ZERO), None);
        let counters = Counters { instructions: Some(0), llc_misses: Some(0), ..counters };
        assert_eq!(ObservedRates::new(&counters, Q32::ONE, Duration::ZERO), None);
    }
}
