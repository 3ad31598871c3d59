//! How long a program is watched.

use std::time::Duration;

use fairways_core::{Every, Time};

/// A window under way. `C` is what a machine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<C> {
    /// How long it is to be; at least a nanosecond, or an instruction.
    pub every: Every,
    /// When it began.
    pub since: Time,
    /// What had been counted by then.
    pub from: C,
    /// Whether a plan has come into force within it.
    pub straddled: bool,
}

impl<C> Window<C> {
    /// A window that begins now.
    pub fn new(every: Every, now: Time, from: C) -> Self {
        Self { every, since: now, from, straddled: false }
    }

    /// When it ends, if time alone decides.
    #[must_use]
    pub fn ends_at(&self) -> Option<Time> {
        match self.every {
            Every::Time(span) => Some(self.since.after(span.max(Duration::from_nanos(1)))),
            Every::Instructions(_) => None,
        }
    }

    /// Whether it has ended, if the program has retired so many instructions since it began.
    #[must_use]
    pub fn has_ended(&self, now: Time, retired: u64) -> bool {
        match self.every {
            Every::Time(_) => self.ends_at().is_some_and(|end| end <= now),
            Every::Instructions(asked) => retired >= asked.max(1),
        }
    }

    /// Ends it, and begins the next one, as long; the one that has ended.
    pub fn restart(&mut self, now: Time, from: C) -> Self {
        let next = Self::new(self.every, now, from);
        std::mem::replace(self, next)
    }

    /// A plan comes into force. A window that begins at that time is all under the new plan.
    pub fn straddle(&mut self, now: Time) {
        self.straddled |= self.since < now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_nanos;

    #[test]
    fn it_ends_by_time_or_by_instructions_and_never_at_once() {
        let by_time = |nanos| Window::new(Every::Time(Duration::from_nanos(nanos)), AT(5), ());
        assert_eq!([3, 0].map(|nanos| by_time(nanos).ends_at()), [Some(AT(8)), Some(AT(6))]);
        assert!(!by_time(3).has_ended(AT(7), 9) && by_time(3).has_ended(AT(8), 0));
        let by_count = |count| Window::new(Every::Instructions(count), AT(5), ());
        assert_eq!(by_count(3).ends_at(), None);
        assert!(!by_count(3).has_ended(AT(99), 2) && by_count(3).has_ended(AT(5), 3));
        assert!(!by_count(0).has_ended(AT(99), 0) && by_count(0).has_ended(AT(5), 1));
    }

    #[test]
    fn the_next_one_begins_where_it_ends_and_straddles_nothing() {
        let mut window = Window::new(Every::Instructions(3), AT(5), 10);
        window.straddle(AT(5));
        assert!(!window.straddled);
        window.straddle(AT(6));
        let ended = window.restart(AT(8), 13);
        assert_eq!((ended.since, ended.from, ended.straddled), (AT(5), 10, true));
        assert_eq!(window, Window::new(Every::Instructions(3), AT(8), 13));
    }
}
