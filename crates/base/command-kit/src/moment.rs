//! Dates and times of day, which a host has, but not a simulated machine.

use std::fmt;
use std::time::{Duration, SystemTime};

use fairways_core::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// A date and time, in RFC 3339 and in UTC: to the second where people read it, to the millisecond
/// in JSON and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(SystemTime);

impl Moment {
    /// The time by the host's clock.
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// The moment that is `time` later; `None` after the year 9999, where RFC 3339 ends. A damaged
    /// journal may name such times.
    pub fn after(self, time: Time) -> Option<Self> {
        let later = self.0.checked_add(Duration::from_nanos(time.nanos()))?;
        let seconds = later.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        (seconds < 253_402_300_800).then_some(Self(later))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&humantime::format_rfc3339_seconds(self.0).to_string())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_rfc3339_millis(self.0))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        humantime::parse_rfc3339(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// The time of day in a line of the log.
pub struct TimeOfDay;

impl FormatTime for TimeOfDay {
    fn format_time(&self, to: &mut Writer<'_>) -> fmt::Result {
        write!(to, "{}", humantime::format_rfc3339_millis(SystemTime::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_in_utc_and_read_again() {
        let moment: Moment = serde_json::from_str("\"2026-11-23T18:30:44.25Z\"").unwrap();
        assert_eq!(serde_json::to_string(&moment).unwrap(), "\"2026-11-23T18:30:44.250Z\"");
        let later = moment.after(Time::from_nanos(16_000_000_000)).unwrap();
        assert_eq!(later.to_string(), "2026-11-23T18:31:00Z");
        let last: Moment = serde_json::from_str("\"9999-12-31T23:59:59Z\"").unwrap();
        assert_eq!(last.after(Time::from_nanos(1_000_000_000)), None);
        assert!(serde_json::from_str::<Moment>("\"tomorrow\"").is_err());
    }
}
