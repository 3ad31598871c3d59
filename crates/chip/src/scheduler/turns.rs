//! Turns on a CPU.

use fairways_core::{AppId, EndedTurn, Event, ThreadId, Time};

use crate::settings::SchedulingClass;

use super::state::{Scheduler, Threads, Turn};

impl Scheduler {
    /// A turn, in nanoseconds.
    pub(super) fn quantum(&self) -> u64 {
        u64::try_from(self.scheduling.quantum.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Ends a CPU's turn, if it is over, or if its thread can't run there any longer.
    pub(super) fn end_turn(&mut self, of: &mut Threads<'_>, cpu: usize) {
        let Some(turn) = self.turns[cpu] else { return };
        let Some(app) = of.apps.find_mut(turn.app) else { return };
        let now = of.clock.now;
        if !app.can_run() || !app.thread.may(cpu) {
            self.put_back(of, cpu, now);
        } else if turn.end <= now {
            if self.next_second.is_some() {
                app.thread.level = app.thread.level.expired();
            }
            let rank = app.thread.rank();
            if self.first(of.apps, cpu).is_some_and(|next| next.thread.rank() >= rank) {
                self.put_back(of, cpu, now);
            } else {
                self.take_off(of, cpu);
                self.put_on(of, cpu, turn.app);
            }
        }
    }

    pub(super) fn put_on(&mut self, of: &mut Threads<'_>, cpu: usize, id: AppId) {
        let turn = self.quantum();
        let Some(app) = of.apps.find_mut(id) else { return };
        self.unsettled = true;
        self.queues.remove(id);
        let thread = &mut app.thread;
        thread.turns = thread.turns.max(self.most_turns.saturating_sub(turn));
        self.most_turns = self.most_turns.max(thread.turns);
        let ordered = thread.ordered.take();
        (thread.waits, thread.last) = (None, Some(cpu));
        let longest = self.scheduling.quantum;
        let usual = match self.scheduling.class {
            SchedulingClass::FixedPriority => longest,
            SchedulingClass::TimeSharing => thread.level.quantum(longest),
        };
        let left = thread.left.take();
        let length = ordered.or(left).unwrap_or(usual);
        let (by_order, ordered) = (ordered.is_some(), ordered.unwrap_or(longest));
        let (clock, now) = (of.clock, of.clock.now);
        let tick = clock.span(self.scheduling.tick).as_nanos();
        let ticks = u128::from(now.after(clock.span(length)).nanos()).div_ceil(tick);
        let end = Time::from_nanos(u64::try_from(ticks * tick).unwrap_or(u64::MAX));
        app.cpu = Some(cpu);
        app.runner.wait_until(clock.ticks().max(self.free[cpu]));
        of.fills.allow(app);
        self.turns[cpu] = Some(Turn { app: id, since: now, end, ordered, by_order });
    }

    /// Ends a turn, and tells of it.
    pub(super) fn take_off(&mut self, of: &mut Threads<'_>, cpu: usize) {
        let Some(turn) = self.turns[cpu].take() else { return };
        self.unsettled = true;
        let Turn { app: id, since, ordered, by_order, .. } = turn;
        let Some(app) = of.apps.find_mut(id) else { return };
        self.free[cpu] = app.runner.clock;
        app.cpu = None;
        if since == of.clock.now {
            // It was none: what was ordered is still to be given.
            app.thread.ordered = app.thread.ordered.or(Some(ordered).filter(|_| by_order));
            return;
        }
        let ran = of.clock.told_since(since);
        // A turn is one, however long it was ordered to be.
        let part = ran.min(ordered).as_nanos() * u128::from(self.quantum());
        let part = part.checked_div(ordered.as_nanos()).unwrap_or(0);
        let turns = &mut app.thread.turns;
        *turns = turns.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        if app.is_told {
            let (thread, cpu) = (ThreadId::first_of(id), u32::try_from(cpu).unwrap_or(u32::MAX));
            of.agenda.tell(Event::QuantumGiven(EndedTurn { thread, cpu, ordered, ran }));
        }
    }

    /// The same of one that goes back to a queue, if it can still run, as if it waited since then.
    pub(super) fn put_back(&mut self, of: &mut Threads<'_>, cpu: usize, waits: Time) {
        let Some(turn) = self.turns[cpu] else { return };
        self.take_off(of, cpu);
        if let Some(app) = of.apps.find_mut(turn.app).filter(|app| app.can_run()) {
            self.wait(app, waits);
        }
    }
}
