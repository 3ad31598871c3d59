//! A clock that goes so many times as fast as real time, or stands still.

use std::time::Instant;

use fairways_core::Time;

/// Who has come so much too late goes on from where he is.
const LATE_NS: u64 = 200_000_000;

/// Maps real time to a journal's or a machine's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// It was so late then.
    since: (Instant, Time),
    speed: f64,
    pub(super) paused: bool,
}

impl Pacer {
    pub(super) fn new(speed: f64, at: Time) -> Self {
        Self { since: (Instant::now(), at), speed, paused: false }
    }

    /// Up to when it has come.
    pub(super) fn now(&self) -> Time {
        let (began, at) = self.since;
        if self.paused { at } else { at.after(began.elapsed().mul_f64(self.speed.min(1e6))) }
    }

    /// Goes on from there.
    pub(super) fn set(&mut self, at: Time) {
        self.since = (Instant::now(), at);
    }

    /// Goes on from there if that is far behind.
    pub(super) fn heed(&mut self, at: Time) {
        let late = self.now().nanos().saturating_sub(at.nanos()) as f64 / self.speed;
        if late > LATE_NS as f64 {
            self.set(at);
        }
    }

    pub(super) fn pause(&mut self, paused: bool) {
        self.set(self.now());
        self.paused = paused;
    }

    /// Doubles the speed, or halves it.
    pub(super) fn faster(&mut self, is_faster: bool) {
        self.set(self.now());
        let factor = if is_faster { 2.0 } else { 0.5 };
        self.speed = (self.speed * factor).clamp(0.001, 1e6);
    }

    /// In words.
    pub(super) fn shown(&self) -> String {
        if self.paused { "paused".to_owned() } else { format!("{}x", self.speed) }
    }

    /// How long until then in real time.
    pub(super) fn until(&self, at: Time) -> std::time::Duration {
        let nanos = at.nanos().saturating_sub(self.now().nanos()) as f64 / self.speed;
        std::time::Duration::try_from_secs_f64(nanos / 1e9).unwrap_or(std::time::Duration::MAX)
    }
}
