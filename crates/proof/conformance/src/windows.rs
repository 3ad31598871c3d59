//! Checks of windows.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Counters, Latencies, Sample, Time, WindowLength};

use crate::plans::PlanChecker;
use crate::promise::{self, Reported, require};

#[derive(Clone, Copy, Debug)]
struct RequestedWindow {
    since: Time,
    length: WindowLength,
}

/// A program's windows.
struct WatchedProgram {
    window: RequestedWindow,
    /// The window that a new watch dropped: it is still reported if it ended at that very instant.
    before: Option<RequestedWindow>,
}

/// The windows of every program that is watched.
pub(crate) struct WindowChecker {
    is_noisy: bool,
    watched: BTreeMap<AppId, WatchedProgram>,
    /// The last sample, until another event is reported: its time, program and length.
    last: Option<(Time, AppId, Duration)>,
}

impl WindowChecker {
    pub(crate) fn new(is_noisy: bool) -> Self {
        Self { is_noisy, watched: BTreeMap::new(), last: None }
    }

    pub(crate) fn request(&mut self, now: Time, app: AppId, length: WindowLength) {
        let window = RequestedWindow { since: now, length };
        let before = self
            .watched
            .remove(&app)
            .and_then(|old| if old.window.since < now { Some(old.window) } else { old.before });
        self.watched.insert(app, WatchedProgram { window, before });
    }

    pub(crate) fn forget(&mut self, app: AppId) {
        self.watched.remove(&app);
    }

    /// Notes that the event is not the latencies of the last sample.
    pub(crate) fn note_other_event(&mut self) {
        self.last = None;
    }

    /// Checks that latencies belong to the sample before them.
    pub(crate) fn check_latencies(&mut self, at: Time, latencies: &Latencies) {
        let (report, last) = (Reported(latencies, at), self.last);
        let Latencies { app, window, answered } = latencies;
        let follow = last == Some((at, *app, *window));
        require(follow, promise::LATENCIES, format_args!("{report}, after {last:?}"));
        let in_order = answered.is_sorted_by(|a, b| a.latency < b.latency);
        let are_counted = answered.iter().all(|answered| answered.requests > 0);
        require(in_order && are_counted, promise::LATENCIES, report);
    }

    pub(crate) fn check_sample(&mut self, at: Time, sample: &Sample, plans: &PlanChecker) {
        let report = Reported(sample, at);
        self.last = Some((at, sample.app, sample.window));
        let requested = self.watched.get_mut(&sample.app).and_then(|watched| {
            if watched.window.since == at {
                return watched.before.take();
            }
            let next = RequestedWindow { since: at, ..watched.window };
            watched.before = None;
            Some(std::mem::replace(&mut watched.window, next))
        });
        let Some(RequestedWindow { since, length }) = requested else {
            return require(false, promise::REQUESTED, report);
        };
        require(
            sample.window == at.since(since),
            promise::GAPLESS,
            format_args!("{report}, {since:?}"),
        );
        let is_long = match length {
            WindowLength::Time(time) => sample.window >= time,
            WindowLength::Instructions(n) => {
                sample.counters.instructions.is_none_or(|count| count >= n.max(1))
            }
        };
        require(is_long, promise::LONG, format_args!("{report}, {length:?}"));
        let (plan, straddled) = plans.in_window(since, at);
        require(sample.plan == plan, promise::PLAN, format_args!("{report}, {plan:?}"));
        require(sample.straddled == straddled, promise::STRADDLED, report);
        require(are_possible(&sample.counters, self.is_noisy), promise::COUNTERS, report);
    }
}

/// Whether a window's counters are possible, with a tolerance of one where they are exact.
fn are_possible(counters: &Counters, are_noisy: bool) -> bool {
    let parts = [
        (counters.llc_misses, counters.llc_references),
        (counters.stalls_l2_miss, counters.cycles),
        (counters.stalls_llc_miss, counters.cycles),
        (counters.stalls_store_buffer, counters.cycles),
    ];
    // A program that was on no CPU ran no instruction.
    (counters.cycles != Some(0) || counters.instructions == Some(0))
        && parts.into_iter().all(|pair| match pair {
            (Some(part), Some(whole)) => are_noisy || part <= whole.saturating_add(1),
            _ => true,
        })
}
