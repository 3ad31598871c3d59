//! Turns on a CPU.

use fairways_core::{AppId, EndedTurn, Event, ThreadId, Time};

use crate::settings::SchedulingClass;

use super::state::{CpuTurn, ScheduledThreads, Scheduler};

impl Scheduler {
    /// The quantum, in nanoseconds.
    pub(super) fn quantum(&self) -> u64 {
        u64::try_from(self.scheduling.quantum.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Ends a CPU's turn, if it is over, or if its thread can't run there any longer.
    pub(super) fn end_turn(&mut self, threads: &mut ScheduledThreads<'_>, cpu: usize) {
        let Some(turn) = self.turns[cpu] else { return };
        let Some(app) = threads.apps.find_mut(turn.app) else { return };
        let now = threads.clock.now;
        if !app.can_run() || !app.thread.may_run_on(cpu) {
            self.put_back(threads, cpu, now);
        } else if turn.end <= now {
            if self.next_second.is_some() {
                app.thread.level = app.thread.level.expired();
            }
            let rank = app.thread.rank();
            if self.first(threads.apps, cpu).is_some_and(|next| next.thread.rank() >= rank) {
                self.put_back(threads, cpu, now);
            } else {
                self.take_off(threads, cpu);
                self.put_on(threads, cpu, turn.app);
            }
        }
    }

    pub(super) fn put_on(&mut self, threads: &mut ScheduledThreads<'_>, cpu: usize, id: AppId) {
        let turn = self.quantum();
        let Some(app) = threads.apps.find_mut(id) else { return };
        self.needs_reschedule = true;
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
        let (is_ordered, ordered) = (ordered.is_some(), ordered.unwrap_or(longest));
        let (clock, now) = (threads.clock, threads.clock.now);
        let tick = clock.chip_span(self.scheduling.tick).as_nanos();
        let ticks = u128::from(now.after(clock.chip_span(length)).nanos()).div_ceil(tick);
        let end = Time::from_nanos(u64::try_from(ticks * tick).unwrap_or(u64::MAX));
        app.cpu = Some(cpu);
        app.runner.wait_until(clock.ticks().max(self.free[cpu]));
        threads.fills.allow(app);
        self.turns[cpu] = Some(CpuTurn { app: id, since: now, end, ordered, is_ordered });
    }

    /// Ends a turn, and reports it.
    pub(super) fn take_off(&mut self, threads: &mut ScheduledThreads<'_>, cpu: usize) {
        let Some(turn) = self.turns[cpu].take() else { return };
        self.needs_reschedule = true;
        let CpuTurn { app: id, since, ordered, is_ordered, .. } = turn;
        let Some(app) = threads.apps.find_mut(id) else { return };
        self.free[cpu] = app.runner.clock;
        app.cpu = None;
        if since == threads.clock.now {
            // The turn was empty: its order stays for the next turn.
            app.thread.ordered = app.thread.ordered.or(Some(ordered).filter(|_| is_ordered));
            return;
        }
        let ran = threads.clock.policy_span_since(since);
        // A full turn counts as one, whatever its ordered length.
        let part = ran.min(ordered).as_nanos() * u128::from(self.quantum());
        let part = part.checked_div(ordered.as_nanos()).unwrap_or(0);
        let turns = &mut app.thread.turns;
        *turns = turns.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        if app.is_reported {
            let (thread, cpu) = (ThreadId::first_of(id), u32::try_from(cpu).unwrap_or(u32::MAX));
            threads.agenda.report(Event::QuantumGiven(EndedTurn { thread, cpu, ordered, ran }));
        }
    }

    /// Ends a turn and puts the thread back into a queue, if it can still run, as if it had waited
    /// since `waits`.
    pub(super) fn put_back(&mut self, threads: &mut ScheduledThreads<'_>, cpu: usize, waits: Time) {
        let Some(turn) = self.turns[cpu] else { return };
        self.take_off(threads, cpu);
        if let Some(app) = threads.apps.find_mut(turn.app).filter(|app| app.can_run()) {
            self.wait(app, waits);
        }
    }
}
