//! A machine's clock.

use alloc::format;
use core::fmt;
use core::time::Duration;

/// An instant on a machine's own clock: nanoseconds since the machine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Time(u64);

impl Time {
    /// When the machine began.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds after the machine began.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the machine began.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// `span` later; the end of time (584 years) if that is later still.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How long ago `earlier` was; 0 if it was not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    /// Seconds, to the millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:03} s", self.0 / 1_000_000_000, self.0 / 1_000_000 % 1000))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn spans_are_held_to_the_ends_of_time() {
        let second = Time::ZERO.after(Duration::from_secs(1));
        assert_eq!(second.nanos(), 1_000_000_000);
        assert_eq!(second.since(Time::ZERO), Duration::from_secs(1));
        assert_eq!(Time::ZERO.since(second), Duration::ZERO);
        assert_eq!(second.after(Duration::MAX).nanos(), u64::MAX);
        assert_eq!(std::format!("{:>10}", Time::from_nanos(62_004_999_999)), "  62.004 s");
    }
}
