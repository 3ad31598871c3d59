//! Co-runs: threads that run at the same time.

use std::time::Duration;

use fairways_core::{AppId, CoRun, Counters, ThreadCounters, ThreadId, Time};

use crate::account::Account;
use crate::clock::Clock;
use crate::running_programs::RunningPrograms;

/// A co-run under way.
#[derive(Clone, Debug)]
pub(super) struct CoRunWatch {
    /// Shorter co-runs are not reported; on the policy's clock.
    shortest: Duration,
    since: Time,
    /// The programs, by their ids, and the counts of each at the start.
    from: Vec<(AppId, Account)>,
}

impl CoRunWatch {
    /// Watches from now on.
    pub(super) fn new(shortest: Duration, apps: &RunningPrograms, clock: Clock) -> Self {
        Self { shortest, since: clock.now, from: running_accounts(apps, clock) }
    }

    /// If other threads run now, ends the co-run and begins the next; returns the report.
    pub(super) fn end(&mut self, apps: &RunningPrograms, clock: Clock) -> Option<CoRun> {
        let on = apps.iter().filter(|app| app.cpu.is_some()).map(|app| app.id);
        if on.eq(self.from.iter().map(|(app, _)| *app)) {
            return None;
        }
        let window = clock.policy_span_since(self.since);
        let next = Self::new(self.shortest, apps, clock);
        let Self { from, .. } = std::mem::replace(self, next);
        if from.is_empty() || window < self.shortest || window.is_zero() {
            return None;
        }
        let (mut threads, mut group) = (Vec::new(), Counters::default());
        for (id, from) in &from {
            // A program that has ended is still there until its exit is reported.
            let Some(app) = apps.find(*id) else { continue };
            let counters = app.account_at(clock.ticks()).since(from, clock.scale);
            group = sum(&group, &counters);
            if app.is_reported {
                threads.push(ThreadCounters { thread: ThreadId::first_of(*id), counters });
            }
        }
        (!threads.is_empty()).then_some(CoRun { threads, group, window })
    }
}

/// The programs that run, by their ids, and the counts of each.
fn running_accounts(apps: &RunningPrograms, clock: Clock) -> Vec<(AppId, Account)> {
    let on = apps.iter().filter(|app| app.cpu.is_some());
    on.map(|app| (app.id, app.account_at(clock.ticks()))).collect()
}

/// The sum of two readings; a counter that neither has is missing.
fn sum(one: &Counters, other: &Counters) -> Counters {
    one.zip_with(other, |one, other| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    })
}
