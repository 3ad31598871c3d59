//! The chip's clock and the policy's clock.

use std::time::Duration;

use fairways_core::{Time, WindowLength};

use crate::account::TICKS;
use crate::settings::Settings;

/// The current time, and the factor between the chip's clock and the policy's: the policy sees
/// times and counts `scale` times larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// On the chip's clock, like all times inside the chip.
    pub(crate) now: Time,
    /// How many times larger the policy sees times and counts.
    pub(crate) scale: u64,
    mhz: u64,
}

impl Clock {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (scale, mhz) = (u64::from(settings.time_scale), u64::from(settings.chip.mhz));
        Self { now: Time::ZERO, scale, mhz }
    }

    /// Converts a time to the policy's clock.
    pub(crate) fn to_policy(self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_mul(self.scale))
    }

    /// The span since a time, on the policy's clock.
    pub(crate) fn policy_span_since(&self, time: Time) -> Duration {
        self.to_policy(self.now).since(self.to_policy(time))
    }

    /// The first time of the chip that is this one or later on the policy's clock.
    pub(crate) fn to_chip(self, time: Time) -> Time {
        Time::from_nanos(time.nanos().div_ceil(self.scale))
    }

    /// The last time of the chip that is this one or earlier on the policy's clock.
    pub(crate) fn to_chip_rounded_down(self, time: Time) -> Time {
        Time::from_nanos(time.nanos() / self.scale)
    }

    /// The shortest span of the chip that is this one or longer on the policy's clock; at least 1
    /// ns.
    pub(crate) fn chip_span(&self, span: Duration) -> Duration {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos.div_ceil(self.scale).max(1))
    }

    /// The fewest instructions of the chip that are as many or more on the policy's scale; at least
    /// 1.
    pub(crate) fn chip_instructions(&self, count: u64) -> u64 {
        count.div_ceil(self.scale).max(1)
    }

    /// The shortest window of the chip that is as long or longer on the policy's scale.
    pub(crate) fn chip_length(&self, length: WindowLength) -> WindowLength {
        match length {
            WindowLength::Instructions(count) => {
                WindowLength::Instructions(self.chip_instructions(count))
            }
            WindowLength::Time(span) => WindowLength::Time(self.chip_span(span)),
        }
    }

    /// A core's clock at this time, in ticks.
    pub(crate) fn ticks_at(&self, time: Time) -> u64 {
        if let Some(ticks) = time.nanos().checked_mul(self.mhz * TICKS) {
            return ticks / 1000;
        }
        let ticks = u128::from(time.nanos()) * u128::from(self.mhz);
        u64::try_from(ticks * u128::from(TICKS) / 1000).unwrap_or(u64::MAX)
    }

    /// A core's clock now, in ticks.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks_at(self.now)
    }
}
