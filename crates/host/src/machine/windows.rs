//! Windows: how long a program is watched at a time.

use std::time::Duration;

use fairways_core::{Counters, Every, Time};

/// A window under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) every: Every,
    pub(super) since: Time,
    pub(super) from: Counters,
    pub(super) straddled: bool,
    /// Whether the counters' source tells when it ends.
    pub(super) told: bool,
    /// When to look whether its instructions have been retired, where the clock can't tell.
    pub(super) poll_at: Time,
    /// When that was last looked at, and how many it had retired then.
    seen: (Time, Option<u64>),
}

/// No program is looked at more often.
const SOONEST: Duration = Duration::from_millis(1);

/// How late a window's end may be found.
const LATE: Duration = Duration::from_millis(10);

/// How long to wait for instructions that can't be read, or are none.
const IDLE: Duration = Duration::from_millis(100);

impl Window {
    pub(super) fn new(every: Every, since: Time, from: Counters) -> Self {
        let poll_at = since.after(SOONEST);
        let seen = (since, from.instructions);
        Self { every, since, from, straddled: false, told: false, poll_at, seen }
    }

    /// The next window, which begins with the end of this one.
    pub(super) fn next(&self, now: Time, from: Counters) -> Self {
        let poll_at = now.after(soon(now.since(self.since)));
        let seen = (now, from.instructions);
        Self { since: now, from, straddled: false, poll_at, seen, ..*self }
    }

    /// When it ends, if that is a matter of time.
    pub(super) fn ends(&self) -> Option<Time> {
        match self.every {
            Every::Time(span) => Some(self.since.after(span.max(Duration::from_nanos(1)))),
            Every::Instructions(_) => None,
        }
    }

    /// How many instructions the program has retired in all when it ends, if it is a matter of those and they can be told.
    pub(super) fn ends_at(&self) -> Option<u64> {
        match self.every {
            Every::Time(_) => None,
            Every::Instructions(count) => {
                Some(self.from.instructions?.saturating_add(count.max(1)))
            }
        }
    }

    /// It has not ended by its instructions: when to look again. The answer is whether it begins now, as its instructions can be read
    /// again.
    pub(super) fn go_on(&mut self, now: Time, counters: &Counters) -> bool {
        let Every::Instructions(count) = self.every else { return false };
        let (Some(from), Some(to)) = (self.from.instructions, counters.instructions) else {
            let begins = counters.instructions.is_some();
            if begins {
                *self = Self::new(self.every, now, *counters);
            } else {
                // What was counted before is no beginning any longer: something after it was not.
                self.from = Counters::default();
                self.poll_at = now.after(IDLE);
            }
            return begins;
        };
        let did = u128::from(to.saturating_sub(from));
        let left = u128::from(count.max(1)).saturating_sub(did);
        // As fast as of late: it may have slept before.
        let (last, seen) = self.seen;
        let passed = now.since(last);
        let new = u128::from(to.saturating_sub(seen.unwrap_or(from)));
        let expected = passed.as_nanos().saturating_mul(left).checked_div(new);
        let wait = match expected {
            None => (passed * 2).clamp(SOONEST, IDLE),
            Some(nanos) => soon(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))),
        };
        (self.poll_at, self.seen) = (now.after(wait), (now, Some(to)));
        false
    }
}

/// When to look at what is expected after so long: half-way, unless that is so close that it can't be much too late.
fn soon(expected: Duration) -> Duration {
    if expected > LATE { (expected / 2).max(LATE) } else { expected.max(SOONEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(instructions: Option<u64>) -> Counters {
        Counters { instructions, ..Counters::default() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(millis))
    }

    /// What a program does whose rate changes: how late its windows' ends are found, and how often it is looked at.
    fn follow(instructions: u64, rate: impl Fn(u64) -> u64) -> (Duration, u32) {
        let mut window = Window::new(Every::Instructions(instructions), at(0), counted(Some(0)));
        let (mut ran, mut looks, mut ended) = (0, 0, None);
        for micro in 0_u64.. {
            let now = Time::ZERO.after(Duration::from_micros(micro));
            if ran >= instructions && ended.is_none() {
                ended = Some(now);
            }
            if now >= window.poll_at {
                looks += 1;
                if let Some(ended) = ended {
                    return (now.since(ended), looks);
                }
                window.go_on(now, &counted(Some(ran)));
            }
            ran += rate(micro);
        }
        (Duration::MAX, looks)
    }

    #[test]
    fn an_end_is_found_soon_without_looking_often() {
        // A second of a steady program.
        let (late, looks) = follow(1_000_000_000, |_| 1000);
        assert!(late <= LATE && looks < 20, "{late:?} {looks}");
        // One that goes twice as fast from any moment on.
        for turns in [0, 100_000, 400_000, 490_000, 499_000] {
            let (late, looks) =
                follow(1_000_000_000, |micro| if micro < turns { 1000 } else { 2000 });
            assert!(late <= LATE && looks < 20, "{late:?} {looks}");
        }
        // One that sleeps for a second first.
        let (late, _) = follow(50_000_000, |micro| if micro < 1_000_000 { 0 } else { 1000 });
        assert!(late <= IDLE, "{late:?}");
    }

    #[test]
    fn what_cannot_be_read_ends_no_window() {
        let mut window = Window::new(Every::Instructions(5), at(0), counted(None));
        assert_eq!(window.ends_at(), None);
        window.go_on(at(1), &counted(None));
        assert_eq!((window.ends_at(), window.since), (None, at(0)));
        window.go_on(at(101), &counted(Some(7)));
        assert_eq!((window.ends_at(), window.since), (Some(12), at(101)));
        window.straddled = true;
        window.go_on(at(102), &counted(None));
        assert_eq!((window.ends_at(), window.poll_at), (None, at(202)));
        assert_eq!(window.ends(), None);
        // It begins anew with what is counted then: of what was not, nobody knows how much it was.
        assert!(window.go_on(at(202), &counted(Some(9))));
        assert_eq!((window.ends_at(), window.since), (Some(14), at(202)));
        assert!(!window.straddled && !window.go_on(at(203), &counted(Some(10))));
    }

    #[test]
    fn the_least_windows_are_not_none() {
        let now = at(3);
        let by_time = Window::new(Every::Time(Duration::ZERO), now, counted(Some(9)));
        assert_eq!(by_time.ends(), Some(now.after(Duration::from_nanos(1))));
        let by_count = Window::new(Every::Instructions(0), now, counted(Some(9)));
        assert_eq!(by_count.ends_at(), Some(10));
    }
}
