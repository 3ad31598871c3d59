//! The operating system's scheduler: fixed priorities, and round robin among equals.
//!
//! Each CPU has a queue, in which threads wait for longest first. A thread stays on its CPU for its quantum, up
//! to the next clock tick, and for another if nobody waits who may run there; then it goes to the end of its
//! CPU's queue. A CPU that is free takes the thread that has waited for longest of all that may run there, its
//! own queue's before others': so the time that threads get is as their quanta are, wherever they wait. Where
//! the one that waits may run on no CPU that is free, others make room, if they may run on one that is.
//!
//! A raised thread takes the place of one that is not. Switching costs the caches' warmth and nothing else.

mod queue;
mod together;

use std::time::Duration;

use fairways_core::{AppId, Cpus, Event, Slice, ThreadId, Time};

use crate::app::App;
use crate::machine::{Chip, Due};

use queue::Queues;
pub(crate) use together::Gathering;

/// How an operating system lets threads take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// How long a thread stays on a CPU when another waits; more than nothing.
    pub quantum: Duration,
    /// How far apart clock ticks are, at which turns end; more than nothing.
    pub tick: Duration,
}

impl Default for Scheduling {
    /// Solaris 10: threads that never sleep get 200 ms at a time (`ts_dptbl(4)`), at ticks of 10 ms.
    fn default() -> Self {
        Self { quantum: Duration::from_millis(200), tick: Duration::from_millis(10) }
    }
}

/// How a thread takes turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// The CPUs that it may run on, a bit each.
    pub(crate) allowed: u64,
    pub(crate) raised: bool,
    /// How long its next turn is to be, on the policy's clock.
    pub(crate) ordered: Option<Duration>,
    /// Since when it waits, if it does.
    pub(crate) waits: Option<Time>,
    /// The CPU that it was on last.
    pub(crate) last: Option<usize>,
    /// Its run has ended.
    pub(crate) over: bool,
}

impl Thread {
    pub(crate) const NEW: Self = Self {
        allowed: u64::MAX,
        raised: false,
        ordered: None,
        waits: None,
        last: None,
        over: false,
    };

    pub(crate) fn may(&self, cpu: usize) -> bool {
        self.allowed >> cpu & 1 == 1
    }
}

/// A thread's turn on a CPU.
#[derive(Clone, Copy, Debug)]
struct Turn {
    app: AppId,
    since: Time,
    end: Time,
    /// On the policy's clock.
    ordered: Duration,
    /// Whether a policy did.
    by_order: bool,
}

/// The scheduler's state.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    turns: Vec<Option<Turn>>,
    queues: Queues,
    /// In ticks of the account: from when on each CPU is free.
    free: Vec<u64>,
    pub(crate) gathering: Option<Gathering>,
}

impl Scheduler {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            turns: vec![None; cpus],
            queues: Queues::new(cpus),
            free: vec![0; cpus],
            gathering: None,
        }
    }

    /// When the first turn ends.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.turns.iter().flatten().map(|turn| turn.end).min()
    }

    fn is_free(&self, cpu: usize) -> bool {
        self.turns[cpu].is_none()
    }
}

impl Chip {
    /// What policies are told of the scheduler.
    pub(crate) fn cpus(scheduling: Scheduling, count: u32) -> Event {
        Event::Cpus(Cpus { count, quantum: scheduling.quantum })
    }

    /// Lets turns that are over end, and those that wait have theirs.
    pub(crate) fn reschedule(&mut self) {
        let Some(mut scheduler) = self.scheduler.take() else { return };
        self.queue_up(&mut scheduler);
        for cpu in 0..scheduler.turns.len() {
            self.end_turn(&mut scheduler, cpu);
        }
        self.preempt(&mut scheduler);
        for cpu in 0..scheduler.turns.len() {
            if scheduler.is_free(cpu) {
                self.occupy(&mut scheduler, cpu);
            }
        }
        self.gather(&mut scheduler);
        self.scheduler = Some(scheduler);
    }

    /// Takes a thread whose run has ended off its CPU, or out of its queue.
    pub(crate) fn leave(&mut self, index: usize) {
        let Some(mut scheduler) = self.scheduler.take() else { return };
        self.apps[index].thread.over = true;
        self.queue_up(&mut scheduler);
        if let Some(cpu) = self.apps[index].cpu {
            self.take_off(&mut scheduler, cpu);
        }
        self.gather(&mut scheduler);
        self.scheduler = Some(scheduler);
    }

    /// Who can run and does not, waits; who waits and can't run, or not there, does no longer.
    fn queue_up(&mut self, scheduler: &mut Scheduler) {
        for app in &mut self.apps {
            let runs = app.can_run();
            if app.thread.waits.is_some() {
                let stays = scheduler.queues.place(app.id).is_some_and(|cpu| app.thread.may(cpu));
                if !runs || !stays {
                    scheduler.queues.remove(app.id);
                }
                if !runs {
                    app.thread.waits = None;
                } else if !stays {
                    scheduler.queues.push(app);
                }
            } else if runs && app.cpu.is_none() {
                app.thread.waits = Some(self.now);
                scheduler.queues.push(app);
            }
        }
    }

    /// Ends a CPU's turn, if it is over, or if its thread can't run there any longer.
    fn end_turn(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let Some(turn) = scheduler.turns[cpu] else { return };
        let Some(index) = self.find(turn.app) else { return };
        let app = &self.apps[index];
        if !app.can_run() || !app.thread.may(cpu) {
            self.put_back(scheduler, cpu, self.now);
        } else if turn.end <= self.now {
            let raised = app.thread.raised;
            let next = scheduler.queues.first(&self.apps, cpu);
            let gives_way = next.is_some_and(|next| self.apps[next].thread.raised >= raised);
            if gives_way {
                self.put_back(scheduler, cpu, self.now);
            } else {
                self.take_off(scheduler, cpu);
                self.put_on(scheduler, cpu, index);
            }
        }
    }

    /// Raised threads that wait take the places of others.
    fn preempt(&mut self, scheduler: &mut Scheduler) {
        loop {
            let place = |app: &App| {
                let is_lower = |&cpu: &usize| {
                    let turn = scheduler.turns[cpu].and_then(|turn| self.find(turn.app));
                    app.thread.may(cpu) && turn.is_some_and(|index| !self.apps[index].thread.raised)
                };
                let is_free = |&cpu: &usize| app.thread.may(cpu) && scheduler.is_free(cpu);
                let mut cpus = app.thread.last.into_iter().chain(0..scheduler.turns.len());
                // Free CPUs are taken in any case.
                if cpus.clone().any(|cpu| is_free(&cpu)) { None } else { cpus.find(is_lower) }
            };
            let waiting = self.apps.iter().filter(|app| app.thread.raised);
            let waiting = waiting.filter_map(|app| Some((app.thread.waits?, app.id, place(app)?)));
            let Some((_, id, cpu)) = waiting.min() else { return };
            let since = scheduler.turns[cpu].map_or(self.now, |turn| turn.since);
            // As if it had waited since its turn began: it goes on before those that came later.
            self.put_back(scheduler, cpu, since);
            let Some(index) = self.find(id) else { return };
            self.put_on(scheduler, cpu, index);
        }
    }

    /// Lets somebody run on a CPU that is free, if anybody can.
    fn occupy(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        if let Some(index) = scheduler.queues.first(&self.apps, cpu) {
            self.put_on(scheduler, cpu, index);
        } else if let Some(other) = self.who_makes_room(scheduler, cpu, &mut 0) {
            // Its turn goes on here.
            let moved = scheduler.turns[other].take();
            scheduler.turns[cpu] = moved;
            if let Some(index) = moved.and_then(|turn| self.find(turn.app)) {
                let clock = self.apps[index].runner.clock;
                let app = &mut self.apps[index];
                (app.cpu, app.thread.last) = (Some(cpu), Some(cpu));
                app.runner.clock = clock.max(scheduler.free[cpu]);
                scheduler.free[other] = clock;
                self.apps[index].runner.fill = self.fill_of(index);
            }
            self.occupy(scheduler, other);
        }
    }

    /// A CPU whose thread may run on `cpu`, and whose place another then takes, if need be after others made
    /// room likewise. `seen` are CPUs, a bit each, that lead nowhere.
    fn who_makes_room(&self, scheduler: &Scheduler, cpu: usize, seen: &mut u64) -> Option<usize> {
        if scheduler.queues.is_empty() {
            return None;
        }
        *seen |= 1 << cpu;
        for other in 0..scheduler.turns.len() {
            let Some(turn) = scheduler.turns[other] else { continue };
            let may = self.find(turn.app).is_some_and(|index| self.apps[index].thread.may(cpu));
            if *seen >> other & 1 == 1 || !may {
                continue;
            }
            let is_wanted = scheduler.queues.first(&self.apps, other).is_some();
            if is_wanted || self.who_makes_room(scheduler, other, seen).is_some() {
                return Some(other);
            }
        }
        None
    }

    fn put_on(&mut self, scheduler: &mut Scheduler, cpu: usize, index: usize) {
        let Some(scheduling) = self.settings.scheduler else { return };
        scheduler.queues.remove(self.apps[index].id);
        let clock = self.clock(self.now).max(scheduler.free[cpu]);
        let thread = &mut self.apps[index].thread;
        let ordered = thread.ordered.take();
        (thread.waits, thread.last) = (None, Some(cpu));
        let (by_order, ordered) = (ordered.is_some(), ordered.unwrap_or(scheduling.quantum));
        let tick = self.span(scheduling.tick).as_nanos();
        let ticks = u128::from(self.now.after(self.span(ordered)).nanos()).div_ceil(tick);
        let end = Time::from_nanos(u64::try_from(ticks * tick).unwrap_or(u64::MAX));
        let app = &mut self.apps[index];
        app.cpu = Some(cpu);
        app.runner.clock = app.runner.clock.max(clock);
        scheduler.turns[cpu] = Some(Turn { app: app.id, since: self.now, end, ordered, by_order });
        self.apps[index].runner.fill = self.fill_of(index);
    }

    /// Ends a turn, and tells of it.
    fn take_off(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let Some(turn) = scheduler.turns[cpu].take() else { return };
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
        let (thread, cpu) = (ThreadId::first_of(app), u32::try_from(cpu).unwrap_or(u32::MAX));
        self.due.push_back(Due::Event(Event::QuantumGiven(Slice { thread, cpu, ordered, ran })));
    }

    /// The same of one that goes back to a queue, if it can still run, as if it waited since then.
    fn put_back(&mut self, scheduler: &mut Scheduler, cpu: usize, waits: Time) {
        let index = scheduler.turns[cpu].and_then(|turn| self.find(turn.app));
        self.take_off(scheduler, cpu);
        if let Some(app) = index.map(|index| &mut self.apps[index])
            && app.can_run()
        {
            app.thread.waits = Some(waits);
            scheduler.queues.push(app);
        }
    }
}
