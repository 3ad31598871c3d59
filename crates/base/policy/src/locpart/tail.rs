//! GetTL: the tail of a service's latencies (Algorithm 1, lines 25 to 28).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Latencies, LatencyBin, Objective, Q32, Time};

use super::parameters::{Parameters, TailWindow as Which};

/// How many windows of a service are kept at most.
const MOST_WINDOWS: usize = 64;

/// A span of time in nanoseconds, up to 584 years: products of two fit 128 bits.
pub(super) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The requests that a tail is computed from.
#[derive(Clone, Copy, Debug)]
pub(super) enum TailOf {
    /// All of them.
    All,
    /// Requests that were answered in windows that began at this time or later.
    AnsweredSince(Time),
    /// Requests that came at this time or later, in windows that also began then or later, and
    /// ended at least this much later.
    CameSince(Time, Duration),
}

impl TailOf {
    /// The longest latency that counts in a window; `None` if the window does not count.
    fn longest(self, window: &AnsweredWindow) -> Option<u64> {
        match self {
            Self::All => Some(u64::MAX),
            Self::AnsweredSince(time) => (window.began >= time).then_some(u64::MAX),
            Self::CameSince(time, settles) => {
                let past = window.ended.since(time);
                (window.began >= time && past >= settles).then(|| nanos(past))
            }
        }
    }
}

/// The latencies of one service in the windows that ended last.
#[derive(Clone, Debug, Default)]
pub(super) struct Tails {
    /// From the oldest to the newest.
    windows: VecDeque<AnsweredWindow>,
    /// Memory for later windows.
    spare: Vec<Vec<LatencyBin>>,
    /// Latencies in nanoseconds, and how many requests had each.
    counted: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
struct AnsweredWindow {
    began: Time,
    ended: Time,
    answered: Vec<LatencyBin>,
}

impl Tails {
    /// Adds a window that ended `at` this time. It replaces a window that ended at the same time.
    pub(super) fn push(&mut self, at: Time, latencies: &Latencies, reach: Duration) {
        if self.windows.back().is_some_and(|last| last.ended >= at) {
            self.spare.extend(self.windows.pop_back().map(|window| window.answered));
        }
        while self.windows.len() >= MOST_WINDOWS
            || self.windows.front().is_some_and(|first| at.since(first.ended) >= reach)
        {
            self.spare.extend(self.windows.pop_front().map(|window| window.answered));
        }
        let mut answered = self.spare.pop().unwrap_or_default();
        answered.clear();
        answered.extend_from_slice(&latencies.answered);
        let began = Time::from_nanos(at.nanos().saturating_sub(nanos(latencies.window)));
        self.windows.push_back(AnsweredWindow { began, ended: at, answered });
    }

    /// The tail in nanoseconds; `None` if too few requests were answered, or none in the past
    /// interval.
    pub(super) fn tail(
        &mut self,
        now: Time,
        objective: Objective,
        of: TailOf,
        parameters: &Parameters,
    ) -> Option<u64> {
        let (period, least) = (parameters.period(), u64::from(parameters.least_requests.max(1)));
        let reach = match parameters.window {
            Which::Sliding => parameters.reach(),
            Which::PastInterval => period,
        };
        let last = self.windows.back()?;
        if now.since(last.ended) >= period || last.answered.is_empty() {
            return None;
        }
        self.counted.clear();
        let (mut requests, mut covered) = (0_u64, Duration::ZERO);
        for window in self.windows.iter().rev() {
            let is_enough = requests >= least && covered >= period;
            if is_enough || now.since(window.ended) >= reach {
                break;
            }
            let Some(longest) = of.longest(window) else { break };
            covered = covered.saturating_add(window.ended.since(window.began));
            for answered in &window.answered {
                let latency = nanos(answered.latency);
                if latency <= longest {
                    requests = requests.saturating_add(answered.requests);
                    self.counted.push((latency, answered.requests));
                }
            }
            if parameters.window == Which::PastInterval {
                break;
            }
        }
        if requests < least {
            return None;
        }
        self.counted.sort_unstable();
        percentile(&self.counted, requests, objective.percentile)
    }
}

/// The least latency such that at least `percentile` percent of `requests` took no longer; `None`
/// if there is no latency.
pub(super) fn percentile(sorted: &[(u64, u64)], requests: u64, percentile: Q32) -> Option<u64> {
    const HUNDRED: u128 = 100 << 32;
    let rank = (u128::from(percentile.raw()) * u128::from(requests)).div_ceil(HUNDRED);
    let rank = u64::try_from(rank).unwrap_or(u64::MAX).min(requests).max(1);
    let mut passed = 0_u64;
    let at = sorted.iter().find(|&&(_, requests)| {
        passed = passed.saturating_add(requests);
        passed >= rank
    });
    at.map(|&(latency, _)| latency)
}
