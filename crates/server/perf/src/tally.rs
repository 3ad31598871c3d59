//! Counts of events that were not always on a counter.

/// An event's count over some time, summed over threads, CPUs, and the groups that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What it counted.
    pub value: u64,
    /// Nanoseconds that the counted threads ran.
    pub enabled: u64,
    /// Nanoseconds of those in which it was on a counter.
    pub running: u64,
}

impl Span {
    pub(super) fn grown(self, by: Self) -> Self {
        Self {
            value: self.value.saturating_add(by.value),
            enabled: self.enabled.saturating_add(by.enabled),
            running: self.running.saturating_add(by.running),
        }
    }

    /// The count since `earlier`; the kernel's numbers never fall.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            value: self.value.saturating_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }

    /// The count as it would be if the event had always been on a counter; `None` if it never was
    /// while there was something to count.
    ///
    /// An event in several groups has that multiple of the time, and takes the counters in turn
    /// with itself or counts twice at once: over all groups its rate is its count divided by its
    /// time on counters, in either case.
    pub(super) fn scaled(self, groups: u32) -> Option<u64> {
        let (enabled, running) = (u128::from(self.enabled), u128::from(self.running));
        if enabled == 0 {
            return Some(0);
        }
        let time = running * u128::from(groups.max(1));
        let scaled = (u128::from(self.value) * enabled + time / 2).checked_div(time)?;
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// A count that only grows.
///
/// Additions are scaled when the total is [taken](Self::take_total), by the times since it was last
/// taken: a later scale does not change an earlier total. Additions that could not be counted yet
/// wait for the next time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    waiting: Span,
    total: u64,
}

impl Tally {
    pub(super) fn add(&mut self, span: Span) {
        self.waiting = self.waiting.grown(span);
    }

    /// Nanoseconds that the counted threads have run while the event was on no counter, since the
    /// total was last taken; 0 if it was on one.
    pub(super) const fn starved(&self) -> u64 {
        if self.waiting.running == 0 { self.waiting.enabled } else { 0 }
    }

    /// Discards the waiting counts: their groups no longer exist.
    pub(super) fn drop_waiting(&mut self) {
        self.waiting = Span::default();
    }

    /// The count so far; `None` if the event was not on a counter since the last call, though there
    /// was something to count.
    pub(super) fn take_total(&mut self, groups: u32) -> Option<u64> {
        self.total = self.total.saturating_add(self.waiting.scaled(groups)?);
        self.waiting = Span::default();
        Some(self.total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn span(value: u64, enabled: u64, running: u64) -> Span {
        Span { value, enabled, running }
    }

    #[test]
    fn what_was_never_on_a_counter_is_missing_and_not_zero() {
        let mut tally = Tally::default();
        assert_eq!(tally.take_total(1), Some(0), "nothing ran yet");
        tally.add(span(0, 500, 0));
        assert_eq!((tally.take_total(1), tally.starved()), (None, 500));
        tally.add(span(10, 500, 250));
        assert_eq!(tally.take_total(1), Some(40), "10 in a quarter of the time, both windows'");
        assert_eq!(tally.take_total(1), Some(40));
    }

    #[test]
    fn an_event_in_two_groups_counts_once() {
        let mut in_turn = Tally::default();
        in_turn.add(span(600, 1000, 600));
        in_turn.add(span(400, 1000, 400));
        assert_eq!(in_turn.take_total(2), Some(1000));
        let mut at_once = Tally::default();
        at_once.add(span(1000, 1000, 1000));
        at_once.add(span(1000, 1000, 1000));
        assert_eq!(at_once.take_total(2), Some(1000));
    }

    #[test]
    fn large_counts_are_scaled_exactly() {
        let mut tally = Tally::default();
        tally.add(span(u64::MAX / 4, 4_000_000_000_000, 1_000_000_000_000));
        assert_eq!(tally.take_total(1), Some(u64::MAX / 4 * 4));
    }

    proptest! {
        #[test]
        fn a_count_never_goes_backwards_and_a_steady_rate_is_found(
            windows in prop::collection::vec((1_u64..1 << 30, 0_u64..=100), 1..20),
            rate in 1_u64..50,
        ) {
            let (mut tally, mut before, mut all) = (Tally::default(), 0, 0);
            for (time, share) in windows {
                let running = u64::try_from(u128::from(time) * u128::from(share) / 100).unwrap();
                tally.add(span(running * rate, time, running));
                all += time * rate;
                let Some(count) = tally.take_total(1) else { prop_assert_eq!(running, 0); continue };
                prop_assert!(count >= before);
                prop_assert!(count.abs_diff(all) <= 20, "{count} of {all}");
                before = count;
            }
        }

        #[test]
        fn what_was_always_on_a_counter_is_exact(values in prop::collection::vec(0_u64..1 << 40, 1..20)) {
            let mut tally = Tally::default();
            for (index, &value) in values.iter().enumerate() {
                tally.add(span(value, 1 << 20, 1 << 20));
                prop_assert_eq!(tally.take_total(1), Some(values[..=index].iter().sum()));
            }
        }
    }
}
