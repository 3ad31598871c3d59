//! The time, and when to look again.

use std::io;
use std::time::Duration;

use fairways_core::{AppId, Time};

use crate::clock::{Clock, Wait};

/// Calls for attention are handled no more often: every fork on the host may be such a call.
const CALLS: Duration = Duration::from_millis(50);

/// What others did is looked at no more often: no call reports it, and nothing waits for it.
pub(super) const SELDOM: Duration = Duration::from_secs(1);

/// Threads are listed no more often where nothing reports new ones.
pub(super) const RARELY: Duration = Duration::from_secs(5);

/// A look waits no longer for announcements that come one after the other.
const LATE: Duration = Duration::from_secs(1);

/// No wait is longer, even if nothing is to be looked at for an hour.
const LONGEST: Duration = Duration::from_secs(60);

/// The time, and when to look at what.
pub(super) struct Agenda {
    clock: Box<dyn Clock>,
    /// The time of the events that are reported now.
    now: Time,
    /// How often to look, at the latest.
    interval: Duration,
    /// When to look again for programs, at what others did, and for threads if nothing reports
    /// them.
    look_at: Time,
    others_at: Time,
    threads_at: Time,
    /// When to handle calls for attention again, and whether one came that was not handled.
    calls_at: Time,
    is_called: bool,
    /// When an alarm rang last, after which nothing but alarms happens at that instant.
    rang_at: Option<Time>,
}

/// What ends a wait, except descriptors: see [`Wait`].
pub(super) struct Deadlines {
    pub(super) until: Time,
    pub(super) about: Time,
    pub(super) instructions: Vec<(AppId, u64)>,
}

impl Agenda {
    /// An agenda by which everything is looked at now, and then this often.
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

    /// Whether a wait ends by itself as soon as a program has retired instructions.
    pub(super) fn ends_by_instructions(&self) -> bool {
        self.clock.notices_instructions()
    }

    /// An alarm rings now.
    pub(super) fn ring(&mut self) {
        self.rang_at = Some(self.now);
    }

    /// Whether an alarm has rung at this instant.
    pub(super) fn has_rung(&self) -> bool {
        self.rang_at == Some(self.now)
    }

    /// Lets the next look be now.
    pub(super) fn look_soon(&mut self) {
        self.look_at = self.now;
    }

    /// Lets the next look be now, at what others did, too.
    pub(super) fn look_at_others_soon(&mut self) {
        (self.look_at, self.others_at) = (self.now, self.now);
    }

    /// Lets the next look list threads.
    pub(super) fn list_threads_soon(&mut self) {
        self.threads_at = self.now;
    }

    /// Threads were listed: they are listed again after this time, but not in every look.
    pub(super) fn list_threads_after(&mut self, span: Duration) {
        self.threads_at = self.now.after(self.interval.max(span));
    }

    /// Whether to list threads though nothing reports any.
    pub(super) fn is_time_for_threads(&self) -> bool {
        self.now >= self.threads_at
    }

    /// Whether it is time to look; if so, the next look is due later.
    pub(super) fn begin_look(&mut self) -> bool {
        let is_time = self.now >= self.look_at;
        if is_time {
            self.look_at = self.now.after(self.interval);
        }
        is_time
    }

    /// Whether a look is due for long.
    pub(super) fn is_late(&self) -> bool {
        self.now >= self.look_at.after(LATE)
    }

    /// Whether it is time to look at what others did; if so, the next such look is due later.
    pub(super) fn begin_look_at_others(&mut self) -> bool {
        let is_time = self.now >= self.others_at;
        if is_time {
            self.others_at = self.now.after(self.interval.max(SELDOM));
        }
        is_time
    }

    /// Whether something called for attention that was not handled.
    pub(super) const fn is_called(&self) -> bool {
        self.is_called
    }

    /// Calls are handled now.
    pub(super) fn handle_calls(&mut self) {
        self.is_called = false;
        self.calls_at = self.now.after(CALLS);
    }

    /// Until when calls have to wait, if they have to.
    pub(super) fn calls_at(&self) -> Option<Time> {
        Some(self.calls_at).filter(|at| self.now < *at)
    }

    /// Until when to wait as far as looks go, at most until `end`.
    pub(super) fn deadlines(&self, end: Option<Time>) -> Deadlines {
        let mut until = end.unwrap_or(Time::from_nanos(u64::MAX));
        // A watcher that sees the host at every turn may take a missing turn for the host's end.
        let mut about = self.look_at.min(self.now.after(LONGEST));
        if self.has_rung() && (about <= self.now || self.is_called) {
            // What there is to see is of the next instant.
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
