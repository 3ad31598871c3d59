//! Which windows are under way.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{AppId, Counters, Latencies, Sample, Time, WindowLength};

use crate::plans::Plans;
use crate::promise::{self, hold};

#[derive(Clone, Copy, Debug)]
struct Window {
    since: Time,
    every: WindowLength,
}

/// A program's windows.
struct Watched {
    window: Window,
    /// The window that a new watch gave up: told still if it ended at that very instant.
    before: Option<Window>,
}

/// The windows of every program that is watched.
pub(crate) struct Windows {
    is_noisy: bool,
    watched: BTreeMap<AppId, Watched>,
    /// The sample that was told last, until something else is: when, of whom, and how long.
    last: Option<(Time, AppId, Duration)>,
}

impl Windows {
    pub(crate) fn new(is_noisy: bool) -> Self {
        Self { is_noisy, watched: BTreeMap::new(), last: None }
    }

    pub(crate) fn ask(&mut self, now: Time, app: AppId, every: WindowLength) {
        let window = Window { since: now, every };
        let before = self
            .watched
            .remove(&app)
            .and_then(|old| if old.window.since < now { Some(old.window) } else { old.before });
        self.watched.insert(app, Watched { window, before });
    }

    pub(crate) fn forget(&mut self, app: AppId) {
        self.watched.remove(&app);
    }

    /// Something else is told than a sample's latencies.
    pub(crate) fn go_on(&mut self) {
        self.last = None;
    }

    /// Latencies are those of the sample before.
    pub(crate) fn answered(&mut self, at: Time, latencies: &Latencies) {
        let told = format_args!("{latencies:?} at {at:?}, after {:?}", self.last);
        let Latencies { app, window, answered } = latencies;
        hold(self.last == Some((at, *app, *window)), promise::LATENCIES, told);
        let in_order = answered.is_sorted_by(|a, b| a.latency < b.latency);
        let are_some = answered.iter().all(|answered| answered.requests > 0);
        hold(in_order && are_some, promise::LATENCIES, told);
    }

    pub(crate) fn check(&mut self, at: Time, sample: &Sample, plans: &Plans) {
        let told = format_args!("{sample:?} at {at:?}");
        self.last = Some((at, sample.app, sample.window));
        let asked = self.watched.get_mut(&sample.app).and_then(|watched| {
            if watched.window.since == at {
                return watched.before.take();
            }
            let next = Window { since: at, ..watched.window };
            watched.before = None;
            Some(std::mem::replace(&mut watched.window, next))
        });
        let Some(Window { since, every }) = asked else {
            return hold(false, promise::ASKED, told);
        };
        hold(sample.window == at.since(since), promise::GAPLESS, format_args!("{told}, {since:?}"));
        let is_long = match every {
            WindowLength::Time(time) => sample.window >= time,
            WindowLength::Instructions(n) => {
                sample.counters.instructions.is_none_or(|did| did >= n.max(1))
            }
        };
        hold(is_long, promise::LONG, format_args!("{told}, {every:?}"));
        let (plan, straddled) = plans.of(since, at);
        hold(sample.plan == plan, promise::PLAN, format_args!("{told}, {plan:?}"));
        hold(sample.straddled == straddled, promise::STRADDLED, told);
        hold(agree(&sample.counters, self.is_noisy), promise::COUNTERS, told);
    }
}

/// Whether a window's counters are possible, give or take one where they are exact.
fn agree(counters: &Counters, are_noisy: bool) -> bool {
    let within = |part: Option<u64>, whole: Option<u64>| match (part, whole) {
        (Some(part), Some(whole)) => are_noisy || part <= whole.saturating_add(1),
        _ => true,
    };
    // One that was on no CPU ran no instruction.
    (counters.cycles != Some(0) || counters.instructions == Some(0))
        && within(counters.llc_misses, counters.llc_references)
        && within(counters.stalls_l2_miss, counters.cycles)
        && within(counters.stalls_llc_miss, counters.cycles)
        && within(counters.stalls_store_buffer, counters.cycles)
}
