//! Who runs at the same time.

use std::time::Duration;

use fairways_core::{AppId, CoRun, Counters, ThreadCounters, ThreadId, Time};

use crate::account::Account;
use crate::apps::Apps;
use crate::clock::Clock;

/// A time in which the same threads run.
#[derive(Clone, Debug)]
pub(super) struct Gathering {
    /// Shorter ones are not told; on the policy's clock.
    shortest: Duration,
    since: Time,
    /// Who, by their ids, and what each had counted.
    from: Vec<(AppId, Account)>,
}

impl Gathering {
    /// Watches from now on.
    pub(super) fn new(shortest: Duration, apps: &Apps, clock: Clock) -> Self {
        Self { shortest, since: clock.now, from: running(apps, clock) }
    }

    /// If others run now, ends this time and begins the next; what is to be told of it.
    pub(super) fn end(&mut self, apps: &Apps, clock: Clock) -> Option<CoRun> {
        let on = apps.iter().filter(|app| app.cpu.is_some()).map(|app| app.id);
        if on.eq(self.from.iter().map(|(app, _)| *app)) {
            return None;
        }
        let window = clock.told_since(self.since);
        let next = Self::new(self.shortest, apps, clock);
        let Self { from, .. } = std::mem::replace(self, next);
        if from.is_empty() || window < self.shortest || window.is_zero() {
            return None;
        }
        let (mut threads, mut group) = (Vec::new(), Counters::default());
        for (id, from) in &from {
            // One that has ended is still there until its exit is told.
            let Some(app) = apps.find(*id) else { continue };
            let counters = app.counted(clock.ticks()).since(from, clock.times);
            group = sum(&group, &counters);
            if app.is_told {
                threads.push(ThreadCounters { thread: ThreadId::first_of(*id), counters });
            }
        }
        (!threads.is_empty()).then_some(CoRun { threads, group, window })
    }
}

/// Who runs, by their ids, and what each has counted.
fn running(apps: &Apps, clock: Clock) -> Vec<(AppId, Account)> {
    let on = apps.iter().filter(|app| app.cpu.is_some());
    on.map(|app| (app.id, app.counted(clock.ticks()))).collect()
}

/// What two counted; a counter that none of them has is missing.
fn sum(one: &Counters, other: &Counters) -> Counters {
    one.zip_with(other, |one, other| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    })
}
