//! How services answered.

use std::time::Duration;

use fairways_chip::Job;
use fairways_chip::service::Histogram;
use fairways_core::{Objective, Time};

/// Tails are judged in windows of this length.
pub(super) const WINDOW: Duration = Duration::from_millis(500);

/// A percentile of fewer requests says little: such a window is judged together with the next ones.
/// So a slow service is judged as often.
const FEWEST: u64 = 100;

/// How a service answered in some time, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceSummary {
    /// The requests answered.
    pub requests: u64,
    /// The requests answered per second.
    pub per_second: f64,
    /// The latencies; `None` without requests.
    pub latency: Option<Latency>,
    /// The result for its owner's objective, if it had one.
    pub objective: Option<ObjectiveOutcome>,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The mean.
    pub mean_ms: f64,
    /// The 50th percentile.
    pub median_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
}

/// An objective, and how far it was met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveOutcome {
    /// The objective; `None` if it changed.
    pub objective: Option<Objective>,
    /// The latency at the objective's percentile, ms; `None` without requests, or if the objective
    /// changed.
    pub tail_ms: Option<f64>,
    /// Windows of 500 ms that were judged: each with 100 requests or more, or together with others
    /// that follow, under the same objective.
    pub windows: u32,
    /// Judged windows whose tail was within the objective.
    pub windows_met: u32,
}

impl ServiceSummary {
    /// The mean latency over that of the service alone: in a closed loop without thinking time, the
    /// rate alone over the rate here. Not a number if either has no answers.
    #[must_use]
    pub fn slowdown(&self, alone: &Self) -> f64 {
        match (alone.latency, self.latency) {
            (Some(alone), Some(here)) => here.mean_ms / alone.mean_ms,
            _ => f64::NAN,
        }
    }
}

/// The answers of a service.
pub(super) struct Service {
    /// The owner's objectives, each with its start, in order; the first from the beginning.
    objectives: Vec<(Time, Option<Objective>)>,
    all: Histogram<u64>,
    /// The answers that are not judged yet, their start, and their number of windows.
    window: Histogram<u64>,
    began: Time,
    open: u32,
    windows: u32,
    windows_met: u32,
}

impl Service {
    pub(super) fn new(job: &Job) -> Self {
        let mut objectives = vec![(Time::ZERO, job.wish.objective)];
        objectives.extend(job.wishes.iter().map(|(at, wish)| (*at, wish.objective)));
        objectives.sort_by_key(|(at, _)| *at);
        fn none() -> Histogram<u64> {
            Histogram::new(3).expect("digits that can be")
        }
        let (all, window) = (none(), none());
        Self { objectives, all, window, began: Time::ZERO, open: 0, windows: 0, windows_met: 0 }
    }

    pub(super) fn forget(&mut self, now: Time) {
        self.all.reset();
        self.window.reset();
        (self.began, self.open, self.windows, self.windows_met) = (now, 0, 0, 0);
    }

    /// Adds the answers up to now; `is_end` is whether a window ends now.
    pub(super) fn take_in(&mut self, latencies: &Histogram<u64>, now: Time, is_end: bool) {
        add(&mut self.all, latencies);
        add(&mut self.window, latencies);
        if is_end {
            self.end_window(now);
        }
    }

    /// The objective from one time to another; `None` if it changes in between.
    fn objective(&self, from: Time, to: Time) -> Option<Option<Objective>> {
        let before = self.objectives.iter().take_while(|(at, _)| *at <= from).last()?;
        let changes =
            self.objectives.iter().any(|(at, next)| from < *at && *at < to && *next != before.1);
        (!changes).then_some(before.1)
    }

    /// Ends a window, and judges it if it has enough requests and the objective has not changed.
    fn end_window(&mut self, now: Time) {
        self.open += 1;
        match self.objective(self.began, now) {
            Some(Some(_)) if self.window.len() < FEWEST => return,
            Some(Some(objective)) => {
                let is_met = u128::from(tail(&self.window, objective)) <= objective.slo.as_nanos();
                self.windows += self.open;
                self.windows_met += if is_met { self.open } else { 0 };
            }
            Some(None) | None => {}
        }
        self.window.reset();
        (self.began, self.open) = (now, 0);
    }

    pub(super) fn summary(&self, since: Time, now: Time) -> ServiceSummary {
        let requests = self.all.len();
        let seconds = now.since(since).as_secs_f64();
        let at = |percentile| self.all.value_at_percentile(percentile) as f64 / 1e6;
        let has_objective = self.objectives.iter().any(|(_, objective)| objective.is_some());
        let objective = self.objective(since, now).flatten();
        let tail_ms = objective.filter(|_| requests > 0);
        let tail_ms = tail_ms.map(|objective| tail(&self.all, objective) as f64 / 1e6);
        let Self { windows, windows_met, .. } = *self;
        ServiceSummary {
            requests,
            per_second: if seconds > 0.0 { requests as f64 / seconds } else { 0.0 },
            latency: (requests > 0).then(|| Latency {
                mean_ms: self.all.mean() / 1e6,
                median_ms: at(50.0),
                p95_ms: at(95.0),
                p99_ms: at(99.0),
            }),
            objective: has_objective.then_some(ObjectiveOutcome {
                objective,
                tail_ms,
                windows,
                windows_met,
            }),
        }
    }
}

/// The latency at the objective's percentile, in nanoseconds.
fn tail(latencies: &Histogram<u64>, objective: Objective) -> u64 {
    let percentile = objective.percentile.raw() as f64 / (1_u64 << 32) as f64;
    latencies.value_at_percentile(percentile)
}

fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    to.add(from).expect("a histogram that grows");
}
