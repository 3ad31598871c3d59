//! Turns on a CPU.

use std::time::Duration;

use fairways_core::{Event, Slice, ThreadId, Time};

use crate::machine::{Chip, Due};
use crate::settings::SchedulingClass;

use super::{Scheduler, Turn};

impl Chip {
    /// A turn, in nanoseconds.
    pub(super) fn quantum(&self) -> u64 {
        let quantum = self.settings.scheduler.map_or(Duration::ZERO, |of| of.quantum);
        u64::try_from(quantum.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Ends a CPU's turn, if it is over, or if its thread can't run there any longer.
    pub(super) fn end_turn(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let Some(turn) = scheduler.turns[cpu] else { return };
        let Some(index) = self.find(turn.app) else { return };
        let app = &self.apps[index];
        if !app.can_run() || !app.thread.may(cpu) {
            self.put_back(scheduler, cpu, self.now);
        } else if turn.end <= self.now {
            if scheduler.next_second.is_some() {
                let level = &mut self.apps[index].thread.level;
                *level = level.expired();
            }
            let rank = self.apps[index].thread.rank();
            let next = scheduler.first(&self.apps, cpu, self.quantum());
            let gives_way = next.is_some_and(|next| self.apps[next].thread.rank() >= rank);
            if gives_way {
                self.put_back(scheduler, cpu, self.now);
            } else {
                self.take_off(scheduler, cpu);
                self.put_on(scheduler, cpu, index);
            }
        }
    }

    pub(super) fn put_on(&mut self, scheduler: &mut Scheduler, cpu: usize, index: usize) {
        let Some(scheduling) = self.settings.scheduler else { return };
        scheduler.unsettled = true;
        scheduler.queues.remove(self.apps[index].id);
        let clock = self.clock(self.now).max(scheduler.free[cpu]);
        let turn = self.quantum();
        let thread = &mut self.apps[index].thread;
        thread.turns = thread.turns.max(scheduler.most_turns.saturating_sub(turn));
        scheduler.most_turns = scheduler.most_turns.max(thread.turns);
        let ordered = thread.ordered.take();
        (thread.waits, thread.last) = (None, Some(cpu));
        let usual = match scheduling.class {
            SchedulingClass::FixedPriority => scheduling.quantum,
            SchedulingClass::TimeSharing => thread.level.quantum(scheduling.quantum),
        };
        let left = thread.left.take();
        let length = ordered.or(left).unwrap_or(usual);
        let (by_order, ordered) = (ordered.is_some(), ordered.unwrap_or(scheduling.quantum));
        let tick = self.span(scheduling.tick).as_nanos();
        let ticks = u128::from(self.now.after(self.span(length)).nanos()).div_ceil(tick);
        let end = Time::from_nanos(u64::try_from(ticks * tick).unwrap_or(u64::MAX));
        let app = &mut self.apps[index];
        app.cpu = Some(cpu);
        app.runner.wait_until(clock);
        scheduler.turns[cpu] = Some(Turn { app: app.id, since: self.now, end, ordered, by_order });
        self.apps[index].runner.fill = self.fill_of(index);
    }

    /// Ends a turn, and tells of it.
    pub(super) fn take_off(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let Some(turn) = scheduler.turns[cpu].take() else { return };
        scheduler.unsettled = true;
        let Turn { app, since, ordered, by_order, .. } = turn;
        let Some(index) = self.find(app) else { return };
        scheduler.free[cpu] = self.apps[index].runner.clock;
        self.apps[index].cpu = None;
        if since == self.now {
            // It was none: what was ordered is still to be given.
            let order = &mut self.apps[index].thread.ordered;
            *order = order.or(Some(ordered).filter(|_| by_order));
            return;
        }
        let ran = self.told(self.now).since(self.told(since));
        // A turn is one, however long it was ordered to be.
        let part = ran.min(ordered).as_nanos() * u128::from(self.quantum());
        let part = part.checked_div(ordered.as_nanos()).unwrap_or(0);
        let turns = &mut self.apps[index].thread.turns;
        *turns = turns.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        if !self.apps[index].is_told {
            return;
        }
        let (thread, cpu) = (ThreadId::first_of(app), u32::try_from(cpu).unwrap_or(u32::MAX));
        self.due.push(Due::Event(Event::QuantumGiven(Slice { thread, cpu, ordered, ran })));
    }

    /// The same of one that goes back to a queue, if it can still run, as if it waited since then.
    pub(super) fn put_back(&mut self, scheduler: &mut Scheduler, cpu: usize, waits: Time) {
        let index = scheduler.turns[cpu].and_then(|turn| self.find(turn.app));
        self.take_off(scheduler, cpu);
        if let Some(app) = index.map(|index| &mut self.apps[index])
            && app.can_run()
        {
            app.thread.waits = Some((waits, scheduler.came));
            scheduler.came += 1;
            scheduler.queues.push(app);
        }
    }
}
