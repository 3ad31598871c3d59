//! The chip's clock, and the policy's.

use std::time::Duration;

use fairways_core::{Time, WindowLength};

use crate::account::TICKS;
use crate::settings::Settings;

/// What time it is, and how the chip's times and counts are told: so many times larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// On the chip's clock, like all times within.
    pub(crate) now: Time,
    /// How many times larger the policy is told what passes here.
    pub(crate) times: u64,
    mhz: u64,
}

impl Clock {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (times, mhz) = (u64::from(settings.time_scale), u64::from(settings.chip.mhz));
        Self { now: Time::ZERO, times, mhz }
    }

    /// A time, as the policy is told it.
    pub(crate) fn told(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_mul(self.times))
    }

    /// How long ago a time was, as the policy is told it.
    pub(crate) fn told_since(&self, time: Time) -> Duration {
        self.told(self.now).since(self.told(time))
    }

    /// The first time that is told as this one or later.
    pub(crate) fn here(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().div_ceil(self.times))
    }

    /// The last time that is told as this one or earlier.
    pub(crate) fn not_after(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos() / self.times)
    }

    /// The shortest span that is told as this one or longer, and is not nothing.
    pub(crate) fn span(&self, span: Duration) -> Duration {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos.div_ceil(self.times).max(1))
    }

    /// The same of instructions.
    pub(crate) fn instructions(&self, count: u64) -> u64 {
        count.div_ceil(self.times).max(1)
    }

    /// The same of a window.
    pub(crate) fn every(&self, every: WindowLength) -> WindowLength {
        match every {
            WindowLength::Instructions(count) => {
                WindowLength::Instructions(self.instructions(count))
            }
            WindowLength::Time(span) => WindowLength::Time(self.span(span)),
        }
    }

    /// A core's clock at this time, in ticks.
    pub(crate) fn ticks_at(&self, time: Time) -> u64 {
        let ticks = u128::from(time.nanos()) * u128::from(self.mhz);
        u64::try_from(ticks * u128::from(TICKS) / 1000).unwrap_or(u64::MAX)
    }

    /// The same of now.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks_at(self.now)
    }
}
