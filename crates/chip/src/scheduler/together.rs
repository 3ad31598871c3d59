//! Who runs at the same time.

use std::time::Duration;

use fairways_core::{AppId, Counters, Event, Ran, ThreadId, Time, Together};

use super::Scheduler;
use crate::account::Account;
use crate::machine::{Chip, Due};

/// A time in which the same threads run.
#[derive(Clone, Debug)]
pub(crate) struct Gathering {
    /// Shorter ones are not told; on the policy's clock.
    shortest: Duration,
    since: Time,
    /// Who, by their ids, and what each had counted.
    from: Vec<(AppId, Account)>,
}

impl Chip {
    /// Watches from now on.
    pub(crate) fn watch_together(&mut self, shortest: Duration) {
        let (since, from) = (self.now, self.now_running());
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.gathering = Some(Gathering { shortest, since, from });
        }
    }

    /// Who runs, by their ids, and what each has counted.
    fn now_running(&self) -> Vec<(AppId, Account)> {
        let clock = self.clock(self.now);
        let on = self.apps.iter().filter(|app| app.cpu.is_some());
        // Ids are given in order, and programs are kept in the order in which they started.
        on.map(|app| (app.id, app.counted(clock))).collect()
    }

    /// Tells of a time that has ended, if others run now.
    pub(super) fn gather(&mut self, scheduler: &mut Scheduler) {
        let Some(gathering) = &mut scheduler.gathering else { return };
        let on = self.apps.iter().filter(|app| app.cpu.is_some()).map(|app| app.id);
        if on.eq(gathering.from.iter().map(|(app, _)| *app)) {
            return;
        }
        let clock = self.clock(self.now);
        let window = self.told(self.now).since(self.told(gathering.since));
        if !gathering.from.is_empty() && window >= gathering.shortest && !window.is_zero() {
            let times = u64::from(self.settings.time_scale);
            let (mut threads, mut group) = (Vec::new(), Counters::default());
            for (app, from) in &gathering.from {
                // One that has ended is still there until its exit is told.
                let Some(index) = self.find(*app) else { continue };
                let counters = self.apps[index].counted(clock).since(from, times);
                group = sum(&group, &counters);
                if self.apps[index].is_told {
                    threads.push(Ran { thread: ThreadId::first_of(*app), counters });
                }
            }
            if !threads.is_empty() {
                let together = Together { threads, group, window };
                self.due.push(Due::Event(Event::RanTogether(together)));
            }
        }
        (gathering.since, gathering.from) = (self.now, self.now_running());
    }
}

/// What two counted; a counter that none of them has is missing.
fn sum(one: &Counters, other: &Counters) -> Counters {
    one.with(other, |one, other| match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    })
}
