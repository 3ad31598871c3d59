//! The time, and when to look at what again.

use std::io;
use std::time::Duration;

use fairways_core::{AppId, Time};

use crate::clock::{Clock, Wait};

/// The shortest time between two handlings of calls: every fork on the host may be such a call.
const CALLS: Duration = Duration::from_millis(50);

/// The shortest time between two looks at others' changes: no call reports them, and nothing waits
/// for them.
pub(super) const SELDOM: Duration = Duration::from_secs(1);

/// The shortest time between two listings of threads, if nothing reports new ones.
pub(super) const RARELY: Duration = Duration::from_secs(5);

/// The longest time that a look is put off for announcements that follow each other.
const LATE: Duration = Duration::from_secs(1);

/// The longest wait, even if the next look is due later.
const LONGEST: Duration = Duration::from_secs(60);

/// The time, and when to look at what.
pub(super) struct Agenda {
    clock: Box<dyn Clock>,
    /// The time of the events that are reported now.
    now: Time,
    /// The longest time between two looks.
    interval: Duration,
    /// When to look again for programs, for others' changes, and for threads if nothing reports
    /// them.
    look_at: Time,
    others_at: Time,
    threads_at: Time,
    /// When calls are handled again, and whether one is waiting for that.
    calls_at: Time,
    is_called: bool,
    /// When an alarm rang last. At that instant only alarms happen after it.
    rang_at: Option<Time>,
}

/// What ends a wait, except descriptors: see [`Wait`].
pub(super) struct Deadlines {
    pub(super) until: Time,
    pub(super) about: Time,
    pub(super) instructions: Vec<(AppId, u64)>,
}

impl Agenda {
    /// An agenda by which everything is due now, and then in this interval.
    pub(super) fn new(clock: Box<dyn Clock>, interval: Duration) -> Self {
        let now = clock.now();
        Self {
            clock,
            now,
            interval,
            look_at: now,
            others_at: now,
            threads_at: now,
            calls_at: now,
            is_called: false,
            rang_at: None,
        }
    }

    /// The time of the events that are reported.
    pub(super) const fn now(&self) -> Time {
        self.now
    }

    /// The clock's time, which is a little later.
    pub(super) fn clock_now(&self) -> Time {
        self.clock.now()
    }

    /// Whether a wait ends as soon as a program has retired its instructions.
    pub(super) fn ends_by_instructions(&self) -> bool {
        self.clock.notices_instructions()
    }

    /// Records that an alarm rings now.
    pub(super) fn ring(&mut self) {
        self.rang_at = Some(self.now);
    }

    /// Whether an alarm has rung at this instant.
    pub(super) fn has_rung(&self) -> bool {
        self.rang_at == Some(self.now)
    }

    /// Makes the next look due now.
    pub(super) fn look_soon(&mut self) {
        self.look_at = self.now;
    }

    /// Makes the next look due now, with one at others' changes.
    pub(super) fn look_at_others_soon(&mut self) {
        (self.look_at, self.others_at) = (self.now, self.now);
    }

    /// Makes threads due for listing in the next look.
    pub(super) fn list_threads_soon(&mut self) {
        self.threads_at = self.now;
    }

    /// Records that threads were listed: they are due again after this time, but not in every look.
    pub(super) fn list_threads_after(&mut self, span: Duration) {
        self.threads_at = self.now.after(self.interval.max(span));
    }

    /// Whether threads are due for listing although nothing reports new ones.
    pub(super) fn is_time_for_threads(&self) -> bool {
        self.now >= self.threads_at
    }

    /// Whether a look is due; if so, plans the next one.
    pub(super) fn begin_look(&mut self) -> bool {
        let is_time = self.now >= self.look_at;
        if is_time {
            self.look_at = self.now.after(self.interval);
        }
        is_time
    }

    /// Whether a look has been due for at least [`LATE`].
    pub(super) fn is_late(&self) -> bool {
        self.now >= self.look_at.after(LATE)
    }

    /// Whether a look at others' changes is due; if so, plans the next one.
    pub(super) fn begin_look_at_others(&mut self) -> bool {
        let is_time = self.now >= self.others_at;
        if is_time {
            self.others_at = self.now.after(self.interval.max(SELDOM));
        }
        is_time
    }

    /// Whether a call for attention was not handled yet.
    pub(super) const fn is_called(&self) -> bool {
        self.is_called
    }

    /// Records that calls are handled now.
    pub(super) fn handle_calls(&mut self) {
        self.is_called = false;
        self.calls_at = self.now.after(CALLS);
    }

    /// The time until which calls have to wait, if they do.
    pub(super) fn calls_at(&self) -> Option<Time> {
        Some(self.calls_at).filter(|at| self.now < *at)
    }

    /// How long to wait as far as looks are concerned, at most until `end`.
    pub(super) fn deadlines(&self, end: Option<Time>) -> Deadlines {
        let mut until = end.unwrap_or(Time::from_nanos(u64::MAX));
        // A watcher that is shown the host in every turn may take a missing turn for the host's
        // end.
        let mut about = self.look_at.min(self.now.after(LONGEST));
        if self.has_rung() && (about <= self.now || self.is_called) {
            // Whatever there is to see belongs to the next instant.
            about = self.now.after(Duration::from_nanos(1));
            until = about;
        }
        Deadlines { until, about, instructions: Vec::new() }
    }

    /// Lets time pass until something may have happened.
    pub(super) fn wait(&mut self, wait: &Wait<'_>) -> io::Result<()> {
        let called = self.clock.wait(wait);
        self.now = self.now.max(self.clock.now());
        self.is_called |= called?;
        Ok(())
    }

    /// Whether the machine was suspended since the last call.
    pub(super) fn was_suspended(&mut self) -> bool {
        self.clock.was_suspended()
    }
}
