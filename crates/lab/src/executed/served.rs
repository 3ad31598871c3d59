//! How services answer.

use std::time::Duration;

use fairways_chip::Job;
use fairways_chip::service::Histogram;
use fairways_core::{Objective, Time};

/// A tail is looked at in windows of this length.
pub(super) const WINDOW: Duration = Duration::from_millis(500);

/// A percentile of fewer requests says little: their windows are judged together with the next ones. Those who
/// answer less are not judged less for it.
const FEWEST: u64 = 100;

/// How a service answered in some time, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// The requests that it answered.
    pub requests: u64,
    /// The same in a second.
    pub per_second: f64,
    /// How long they took; `None` if there were none.
    pub latency: Option<Latency>,
    /// How it was against what its owner asked for, if that was anything.
    pub kept: Option<Kept>,
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

/// An objective, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// What was asked for; `None` if that changed.
    pub objective: Option<Objective>,
    /// The objective's percentile in milliseconds; `None` of no requests, or if the objective changed.
    pub tail_ms: Option<f64>,
    /// Windows of 500 ms that were judged: each with 100 requests or more, or together with others that follow each
    /// other, under the same objective.
    pub windows: u32,
    /// Those among them of which the tail was within the objective.
    pub held: u32,
}

impl Served {
    /// How many times as long as by itself a request took in the mean: of a closed loop without thinking, the rate
    /// alone over the rate here. Not a number if none was answered here, or by itself.
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
    /// What its owner asks for, from when on, in order; the first from the beginning.
    objectives: Vec<(Time, Option<Objective>)>,
    all: Histogram<u64>,
    /// Those that are not judged yet, since when, and of how many windows.
    window: Histogram<u64>,
    began: Time,
    open: u32,
    windows: u32,
    held: u32,
}

impl Service {
    pub(super) fn of(job: &Job) -> Self {
        let mut objectives = vec![(Time::ZERO, job.wish.objective)];
        objectives.extend(job.wishes.iter().map(|(at, wish)| (*at, wish.objective)));
        objectives.sort_by_key(|(at, _)| *at);
        let none = || Histogram::new(3).expect("digits that can be");
        let (all, window) = (none(), none());
        Self { objectives, all, window, began: Time::ZERO, open: 0, windows: 0, held: 0 }
    }

    pub(super) fn forget(&mut self, now: Time) {
        self.all.reset();
        self.window.reset();
        (self.began, self.open, self.windows, self.held) = (now, 0, 0, 0);
    }

    /// Takes in what was answered up to now, which may be the end of a window.
    pub(super) fn take_in(&mut self, latencies: &Histogram<u64>, now: Time, is_end: bool) {
        add(&mut self.all, latencies);
        add(&mut self.window, latencies);
        if is_end {
            self.end_window(now);
        }
    }

    /// The objective that holds from one time to another; `None` if it changes in between.
    fn objective(&self, from: Time, to: Time) -> Option<Option<Objective>> {
        let before = self.objectives.iter().take_while(|(at, _)| *at <= from).last()?;
        let changes =
            self.objectives.iter().any(|(at, next)| from < *at && *at < to && *next != before.1);
        (!changes).then_some(before.1)
    }

    /// A window ends, and is judged if there are enough requests, and the objective has not changed.
    fn end_window(&mut self, now: Time) {
        self.open += 1;
        match self.objective(self.began, now) {
            Some(Some(_)) if self.window.len() < FEWEST => return,
            Some(Some(objective)) => {
                let held = u128::from(tail(&self.window, objective)) <= objective.slo.as_nanos();
                self.windows += self.open;
                self.held += if held { self.open } else { 0 };
            }
            Some(None) | None => {}
        }
        self.window.reset();
        (self.began, self.open) = (now, 0);
    }

    pub(super) fn served(&self, since: Time, now: Time) -> Served {
        let requests = self.all.len();
        let seconds = now.since(since).as_secs_f64();
        let at = |percentile| self.all.value_at_percentile(percentile) as f64 / 1e6;
        let latency = || Latency {
            mean_ms: self.all.mean() / 1e6,
            median_ms: at(50.0),
            p95_ms: at(95.0),
            p99_ms: at(99.0),
        };
        let is_asked = self.objectives.iter().any(|(_, objective)| objective.is_some());
        let objective = self.objective(since, now).flatten();
        let tail_ms = objective.filter(|_| requests > 0);
        let tail_ms = tail_ms.map(|objective| tail(&self.all, objective) as f64 / 1e6);
        let Self { windows, held, .. } = *self;
        Served {
            requests,
            per_second: if seconds > 0.0 { requests as f64 / seconds } else { 0.0 },
            latency: (requests > 0).then(latency),
            kept: is_asked.then_some(Kept { objective, tail_ms, windows, held }),
        }
    }
}

/// The objective's percentile, in nanoseconds.
fn tail(latencies: &Histogram<u64>, objective: Objective) -> u64 {
    let percentile = objective.percentile.raw() as f64 / (1_u64 << 32) as f64;
    latencies.value_at_percentile(percentile)
}

fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    to.add(from).expect("a histogram that grows");
}
