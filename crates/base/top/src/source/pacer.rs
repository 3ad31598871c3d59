//! A clock that runs at a multiple of real time, or stands still.

use std::time::Instant;

use fairways_core::Time;

/// A machine that is later than this, in real time, continues from its own time.
const LATE_NS: u64 = 200_000_000;

/// Maps real time to a journal's or a machine's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// A moment in real time, and the time on the clock then.
    since: (Instant, Time),
    speed: f64,
    pub(super) is_paused: bool,
}

impl Pacer {
    pub(super) fn new(speed: f64, at: Time) -> Self {
        Self { since: (Instant::now(), at), speed, is_paused: false }
    }

    /// The time on the clock.
    pub(super) fn now(&self) -> Time {
        let (began, at) = self.since;
        if self.is_paused { at } else { at.after(began.elapsed().mul_f64(self.speed.min(1e6))) }
    }

    /// Sets the clock.
    pub(super) fn set(&mut self, at: Time) {
        self.since = (Instant::now(), at);
    }

    /// Sets the clock to the machine's time if that is far behind.
    pub(super) fn catch_up(&mut self, at: Time) {
        let late = self.now().nanos().saturating_sub(at.nanos()) as f64 / self.speed;
        if late > LATE_NS as f64 {
            self.set(at);
        }
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.set(self.now());
        self.is_paused = paused;
    }

    /// Doubles the speed, or halves it.
    pub(super) fn faster(&mut self, is_faster: bool) {
        self.set(self.now());
        let factor = if is_faster { 2.0 } else { 0.5 };
        self.speed = (self.speed * factor).clamp(0.001, 1e6);
    }

    /// The speed in words.
    pub(super) fn text(&self) -> String {
        if self.is_paused { "paused".to_owned() } else { format!("{}x", self.speed) }
    }

    /// The real time until the clock shows `at`.
    pub(super) fn time_until(&self, at: Time) -> std::time::Duration {
        let nanos = at.nanos().saturating_sub(self.now().nanos()) as f64 / self.speed;
        std::time::Duration::try_from_secs_f64(nanos / 1e9).unwrap_or(std::time::Duration::MAX)
    }
}
