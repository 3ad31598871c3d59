//! Latency targets of services, and the latencies of their requests.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::{AppId, Q32};

/// The latency target of a latency-critical service: its tail latency is to be at most `slo`
/// (Locpart eq. 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Objective {
    /// The service-level objective, Locpart's L_SLO; more than 0.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub slo: Duration,
    /// The percentile that counts as the tail latency, above 0 and up to 100.
    pub percentile: Q32,
}

impl fmt::Display for Objective {
    /// Such as `p99 2ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nine decimals distinguish any two percentiles.
        const BILLION: u128 = 1_000_000_000;
        let billionths = (u128::from(self.percentile.raw()) * BILLION + (1 << 31)) >> 32;
        write!(f, "p{}", billionths / BILLION)?;
        if !billionths.is_multiple_of(BILLION) {
            let digits = alloc::format!("{:09}", billionths % BILLION);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        write!(f, " {:?}", self.slo)
    }
}

/// The latencies of the requests that a service answered in a window, measured from each request's
/// arrival, not from the start of its processing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latencies {
    /// The service.
    pub app: AppId,
    /// The window's length, as measured.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub window: Duration,
    /// A histogram of the latencies, from the shortest to the longest; empty if no request was
    /// answered.
    pub answered: Vec<LatencyBin>,
}

/// A bar of a histogram of latencies: requests that took equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyBin {
    /// Their latency, as exactly as it was recorded; never less than the real one.
    #[cfg_attr(feature = "serde", serde(with = "crate::nanos"))]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub latency: Duration,
    /// How many requests, at least 1.
    pub requests: u64,
}

impl Latencies {
    /// The number of answered requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.answered.iter().map(|answered| answered.requests).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use alloc::vec;
    use std::string::ToString;

    use super::*;

    fn shown(percentile: Q32, micros: u64) -> std::string::String {
        Objective { slo: Duration::from_micros(micros), percentile }.to_string()
    }

    #[test]
    fn objectives_read_as_people_say_them() {
        assert_eq!(shown(Q32::from_int(99), 2000), "p99 2ms");
        assert_eq!(shown(Q32::ratio(999, 10), 1500), "p99.9 1.5ms");
        assert_eq!(shown(Q32::ratio(9995, 100), 3_000_000), "p99.95 3s");
        assert_eq!(shown(Q32::ratio(9_999_999, 100_000), 2000), "p99.99999 2ms");
        assert_eq!(shown(Q32::ratio(1, 10_000), 2000), "p0.0001 2ms");
    }

    fn bin(requests: u64) -> LatencyBin {
        LatencyBin { latency: Duration::from_millis(1), requests }
    }

    fn latencies(answered: Vec<LatencyBin>) -> Latencies {
        Latencies { app: AppId(0), window: Duration::ZERO, answered }
    }

    #[test]
    fn requests_are_counted_by_how_many_took_so_long() {
        assert_eq!(latencies(vec![]).requests(), 0);
        assert_eq!(latencies(vec![bin(3), bin(4)]).requests(), 7);
        assert_eq!(latencies(vec![bin(u64::MAX), bin(4)]).requests(), u64::MAX);
    }
}
