//! Windows that are under way.

use core::time::Duration;

use crate::{Time, WindowLength};

/// A window that is under way. `C` is the type of a machine's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenWindow<C> {
    /// Its requested length; at least a nanosecond or an instruction.
    pub length: WindowLength,
    /// When it began.
    pub start: Time,
    /// The counts when it began.
    pub start_counts: C,
    /// Whether a plan has come into force during the window.
    pub straddled: bool,
}

impl<C> OpenWindow<C> {
    /// Begins a window now.
    pub fn new(every: WindowLength, now: Time, from: C) -> Self {
        Self { length: every, start: now, start_counts: from, straddled: false }
    }

    /// When it ends, if time alone decides.
    #[must_use]
    pub fn ends_at(&self) -> Option<Time> {
        match self.length {
            WindowLength::Time(span) => Some(self.start.after(span.max(Duration::from_nanos(1)))),
            WindowLength::Instructions(_) => None,
        }
    }

    /// Whether it has ended, if the program has retired `retired` instructions since it began.
    #[must_use]
    pub fn has_ended(&self, now: Time, retired: u64) -> bool {
        match self.length {
            WindowLength::Time(_) => self.ends_at().is_some_and(|end| end <= now),
            WindowLength::Instructions(asked) => retired >= asked.max(1),
        }
    }

    /// Ends the window, and begins the next one of the same length. Returns the one that has ended.
    pub fn restart(&mut self, now: Time, from: C) -> Self {
        let next = Self::new(self.length, now, from);
        core::mem::replace(self, next)
    }

    /// Notes that a plan comes into force now. A window that begins at this time is all under the
    /// new plan.
    pub fn straddle(&mut self, now: Time) {
        self.straddled |= self.start < now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_nanos;

    fn by_time(nanos: u64) -> OpenWindow<()> {
        OpenWindow::new(WindowLength::Time(Duration::from_nanos(nanos)), AT(5), ())
    }

    fn by_count(count: u64) -> OpenWindow<()> {
        OpenWindow::new(WindowLength::Instructions(count), AT(5), ())
    }

    #[test]
    fn it_ends_by_time_or_by_instructions_and_never_at_once() {
        assert_eq!([3, 0].map(|nanos| by_time(nanos).ends_at()), [Some(AT(8)), Some(AT(6))]);
        assert!(!by_time(3).has_ended(AT(7), 9) && by_time(3).has_ended(AT(8), 0));
        assert_eq!(by_count(3).ends_at(), None);
        assert!(!by_count(3).has_ended(AT(99), 2) && by_count(3).has_ended(AT(5), 3));
        assert!(!by_count(0).has_ended(AT(99), 0) && by_count(0).has_ended(AT(5), 1));
    }

    #[test]
    fn the_next_one_begins_where_it_ends_and_straddles_nothing() {
        let mut window = OpenWindow::new(WindowLength::Instructions(3), AT(5), 10);
        window.straddle(AT(5));
        assert!(!window.straddled);
        window.straddle(AT(6));
        let ended = window.restart(AT(8), 13);
        assert_eq!((ended.start, ended.start_counts, ended.straddled), (AT(5), 10, true));
        assert_eq!(window, OpenWindow::new(WindowLength::Instructions(3), AT(8), 13));
    }
}
