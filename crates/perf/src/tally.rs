//! What was counted, of events that were not always on a counter.

/// What one event counted for some time, summed over threads, CPUs, and the groups that it is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// What it counted.
    pub value: u64,
    /// Nanoseconds in which whom it counts ran.
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

    /// What was counted since `earlier`, which the kernel's numbers never fall below.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            value: self.value.saturating_sub(earlier.value),
            enabled: self.enabled.saturating_sub(earlier.enabled),
            running: self.running.saturating_sub(earlier.running),
        }
    }

    /// The count as it would be, had the event always been on a counter; `None` if it never was while there was something to count.
    ///
    /// An event in several groups has so many times the time, and takes the counters in turn with itself or counts twice at
    /// once: over all groups its rate is what it counted by the time on counters, whichever it was.
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
/// What is added is scaled when it is [told](Self::tell), by the times since it was told last: the scale of a while ago does not
/// change what was told then. What could not be counted yet waits for the next time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    waiting: Span,
    told: u64,
}

impl Tally {
    pub(super) fn add(&mut self, span: Span) {
        self.waiting = self.waiting.grown(span);
    }

    /// For how long, in nanoseconds, whom it counts has run while the event was on no counter, since the count was told last; 0 if it
    /// was on one.
    pub(super) const fn starved(&self) -> u64 {
        if self.waiting.running == 0 { self.waiting.enabled } else { 0 }
    }

    /// What waits is not counted: the groups that it is of are no longer.
    pub(super) fn drop_waiting(&mut self) {
        self.waiting = Span::default();
    }

    /// The count so far; `None` if the event was not on a counter since it was told last, though there was something to count.
    pub(super) fn tell(&mut self, groups: u32) -> Option<u64> {
        self.told = self.told.saturating_add(self.waiting.scaled(groups)?);
        self.waiting = Span::default();
        Some(self.told)
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
        assert_eq!(tally.tell(1), Some(0), "nothing ran yet");
        tally.add(span(0, 500, 0));
        assert_eq!((tally.tell(1), tally.starved()), (None, 500));
        tally.add(span(10, 500, 250));
        assert_eq!(tally.tell(1), Some(40), "10 in a quarter of the time, both windows'");
        assert_eq!(tally.tell(1), Some(40));
    }

    #[test]
    fn an_event_in_two_groups_counts_once() {
        let mut in_turn = Tally::default();
        in_turn.add(span(600, 1000, 600));
        in_turn.add(span(400, 1000, 400));
        assert_eq!(in_turn.tell(2), Some(1000));
        let mut at_once = Tally::default();
        at_once.add(span(1000, 1000, 1000));
        at_once.add(span(1000, 1000, 1000));
        assert_eq!(at_once.tell(2), Some(1000));
    }

    #[test]
    fn large_counts_are_scaled_exactly() {
        let mut tally = Tally::default();
        tally.add(span(u64::MAX / 4, 4_000_000_000_000, 1_000_000_000_000));
        assert_eq!(tally.tell(1), Some(u64::MAX / 4 * 4));
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
                let Some(count) = tally.tell(1) else { prop_assert_eq!(running, 0); continue };
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
                prop_assert_eq!(tally.tell(1), Some(values[..=index].iter().sum()));
            }
        }
    }
}
