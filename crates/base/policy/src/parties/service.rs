//! A service: its resources, and its slack.

use fairways_core::{AppId, BandwidthLevel, Latencies, Objective, Q32};

use crate::announce::{Announcer, raw_ways};
use crate::words;

/// The resources, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizedResource {
    Ways,
    Bandwidth,
}

impl SizedResource {
    pub(super) const ALL: [Self; 2] = [Self::Ways, Self::Bandwidth];

    /// The next one on the wheel.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Ways => Self::Bandwidth,
            Self::Bandwidth => Self::Ways,
        }
    }
}

/// A service that has resources of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SizedService {
    pub(super) app: AppId,
    pub(super) objective: Objective,
    pub(super) ways: u32,
    pub(super) level: Option<BandwidthLevel>,
    /// The resource at which it is.
    pub(super) wheel: SizedResource,
    /// The resource of which it gave a unit last.
    pub(super) given: Option<SizedResource>,
    /// The tail latency of the last window, in nanoseconds; `None` if nothing was answered.
    pub(super) tail: Option<u64>,
}

impl SizedService {
    pub(super) const fn new(app: AppId, objective: Objective) -> Self {
        let (level, given, tail) = (None, None, None);
        Self { app, objective, ways: 0, level, wheel: SizedResource::Ways, given, tail }
    }

    /// Records the latencies of a window.
    pub(super) fn record(&mut self, latencies: &Latencies) {
        let all = u128::from(latencies.requests());
        let percentile = u128::from(self.objective.percentile.raw());
        // The share of requests that are no slower than the tail.
        let needed = all * percentile / (100 << 32);
        let mut seen = 0_u128;
        let bin = latencies.answered.iter().find(|bin| {
            seen += u128::from(bin.requests);
            seen > needed || seen == all
        });
        self.tail = bin.map(|bin| u64::try_from(bin.latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// (target - tail) / target, in units of 2^-32; `None` if its tail is not known.
    pub(super) fn slack(&self) -> Option<i64> {
        let target =
            i128::try_from(self.objective.slo.as_nanos()).unwrap_or(i128::MAX >> 33).max(1);
        let slack = ((target - i128::from(self.tail?)) << 32) / target;
        Some(i64::try_from(slack).unwrap_or(i64::MIN))
    }

    pub(super) fn announce(&self, announcer: &mut Announcer<'_>) {
        announcer.announce_class(self.app, "service", "it has an objective");
        let tail = self.tail.map(|tail| Q32::ratio(tail, 1_000_000));
        let tail = tail.map(|tail| i64::try_from(tail.raw()).unwrap_or(i64::MAX));
        let known = tail.and(self.slack());
        announcer.announce_numbers(
            self.app,
            [words::WAYS, words::TAIL, words::SLACK],
            [raw_ways(self.ways), tail, known],
        );
    }
}
