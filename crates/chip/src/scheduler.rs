//! The operating system's scheduler: fixed priorities, and round robin among equals.
//!
//! Each CPU has a queue. A thread stays on its CPU for its quantum, up to the next clock tick, and for another
//! if nobody waits who may run there; then it goes to its CPU's queue. A CPU that is free takes, from whatever
//! queue, of the threads that may run there the one that has had the fewest turns, and of those the one that has
//! waited for longest. That is round robin, and where there are several CPUs it is so too of threads whose turns
//! are shorter than others': in the order of waiting alone they would come back sooner, and have more of them. So
//! the time that threads get is as their quanta are. A thread is at most a turn ahead of the others for having
//! slept, or waited for a CPU that it may run on.
//!
//! Where one that waits may run on no CPU that is free, others make room, if they may run on one that is.
//!
//! A raised thread takes the place of one that is not, and one of the operating system's
//! ([`Job::system`](crate::Job::system)) that of any other. Switching costs the caches' warmth and nothing else:
//! copies in the private caches of a core that a thread has left stay good, for nobody else writes to its lines.

mod queue;
mod together;

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{AppId, Cpus, Event, Slice, ThreadId, Time};

use crate::app::App;
use crate::job::{Job, Length, Phase};
use crate::machine::{Chip, Due};
use crate::program::{Accesses, Pattern, Program};

use queue::Queues;
pub(crate) use together::Gathering;

/// How an operating system lets threads take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// How long a thread stays on a CPU when another waits; more than nothing.
    pub quantum: Duration,
    /// How far apart clock ticks are, at which turns end; more than nothing.
    pub tick: Duration,
    /// Whether the operating system has a thread of its own, which wakes every now and then and runs for half a
    /// millisecond before all others: so that programs do not take turns like clockwork, and run beside
    /// everybody in time. Policies are not told of it.
    pub system: bool,
}

impl Default for Scheduling {
    /// Solaris 10: threads that never sleep get 200 ms at a time (`ts_dptbl(4)`), at ticks of 10 ms.
    fn default() -> Self {
        Self { quantum: Duration::from_millis(200), tick: Duration::from_millis(10), system: true }
    }
}

/// How long the system's thread sleeps, in twentieths of a quantum, and how long it runs then.
const NAPS: [u32; 5] = [19, 43, 31, 61, 23];
const BURST: Duration = Duration::from_micros(500);

impl Scheduling {
    /// The system's own thread, if it has one; it comes when a quantum has passed.
    pub(crate) fn system(&self) -> Option<Job> {
        let accesses = Accesses::Pattern(Pattern::Busy);
        let burst = Arc::new(Program { accesses, base_cpi: 1.0, overlap: 1.0 });
        let phases = NAPS.into_iter().flat_map(|nap| {
            let nap = Phase { program: None, length: Some(Length::Time(self.quantum * nap / 20)) };
            let program = Some(Arc::clone(&burst));
            let burst = BURST.min(self.quantum / 40);
            [nap, Phase { program, length: Some(Length::Time(burst)) }]
        });
        let (phases, at) = (phases.collect(), Time::ZERO.after(self.quantum));
        self.system.then_some(Job { phases, at, system: true, ..Job::default() })
    }
}

/// Who runs before whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    Normal,
    Raised,
    System,
}

/// How a thread takes turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// The CPUs that it may run on, a bit each.
    pub(crate) allowed: u64,
    pub(crate) priority: Priority,
    /// How long its next turn is to be, on the policy's clock.
    pub(crate) ordered: Option<Duration>,
    /// Since when it waits, if it does, and how many had come to wait before.
    pub(crate) waits: Option<(Time, u64)>,
    /// The CPU that it was on last.
    pub(crate) last: Option<usize>,
    /// The turns that it has had, in nanoseconds of the machine's quantum.
    pub(crate) turns: u64,
    /// Its run has ended.
    pub(crate) over: bool,
}

impl Thread {
    pub(crate) const NEW: Self = Self {
        allowed: u64::MAX,
        priority: Priority::Normal,
        ordered: None,
        waits: None,
        last: None,
        turns: 0,
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
    /// How many have come to wait.
    came: u64,
    /// The most turns that a thread had had when it had another, likewise.
    most_turns: u64,
    /// Whether something has changed since turns were last looked at.
    pub(crate) unsettled: bool,
}

impl Scheduler {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            turns: vec![None; cpus],
            queues: Queues::new(cpus),
            free: vec![0; cpus],
            gathering: None,
            came: 0,
            most_turns: 0,
            unsettled: true,
        }
    }

    /// When the first turn ends.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.turns.iter().flatten().map(|turn| turn.end).min()
    }

    fn is_free(&self, cpu: usize) -> bool {
        self.turns[cpu].is_none()
    }

    /// Who is to run next on a CPU, by index.
    fn first(&self, apps: &[App], cpu: usize, turn: u64) -> Option<usize> {
        self.queues.first(apps, cpu, self.most_turns.saturating_sub(turn))
    }
}

impl Chip {
    /// A turn, in nanoseconds.
    fn quantum(&self) -> u64 {
        let quantum = self.settings.scheduler.map_or(Duration::ZERO, |of| of.quantum);
        u64::try_from(quantum.as_nanos()).unwrap_or(u64::MAX)
    }

    /// What policies are told of the scheduler.
    pub(crate) fn cpus(scheduling: Scheduling, count: u32) -> Event {
        Event::Cpus(Cpus { count, quantum: scheduling.quantum })
    }

    /// Lets turns that are over end, and those that wait have theirs.
    pub(crate) fn reschedule(&mut self) {
        let Some(scheduler) = &self.scheduler else { return };
        // Who sleeps now, or does no longer.
        let is_out = |app: &App| app.can_run() != (app.cpu.is_some() || app.thread.waits.is_some());
        if !scheduler.unsettled
            && scheduler.next_end().is_none_or(|end| end > self.now)
            && !self.apps.iter().any(is_out)
        {
            return;
        }
        let Some(mut scheduler) = self.scheduler.take() else { return };
        scheduler.unsettled = false;
        self.queue_up(&mut scheduler);
        for cpu in 0..scheduler.turns.len() {
            self.end_turn(&mut scheduler, cpu);
            if scheduler.is_free(cpu) {
                self.occupy(&mut scheduler, cpu);
            }
        }
        self.preempt(&mut scheduler);
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
                app.thread.waits = Some((self.now, scheduler.came));
                // One that slept, or is new, has missed nothing.
                app.thread.turns = app.thread.turns.max(scheduler.most_turns);
                scheduler.came += 1;
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
            let priority = app.thread.priority;
            let next = scheduler.first(&self.apps, cpu, self.quantum());
            let gives_way = next.is_some_and(|next| self.apps[next].thread.priority >= priority);
            if gives_way {
                self.put_back(scheduler, cpu, self.now);
            } else {
                self.take_off(scheduler, cpu);
                self.put_on(scheduler, cpu, index);
            }
        }
    }

    /// Threads that wait take the places of others of lower priority.
    fn preempt(&mut self, scheduler: &mut Scheduler) {
        loop {
            let priority = |cpu: usize| {
                let index = self.find(scheduler.turns[cpu]?.app)?;
                Some(self.apps[index].thread.priority)
            };
            let place = |app: &App| {
                let may = |&cpu: &usize| app.thread.may(cpu);
                let cpus = app.thread.last.into_iter().chain(0..scheduler.turns.len()).filter(may);
                // Free CPUs are taken in any case.
                if cpus.clone().any(|cpu| scheduler.is_free(cpu)) {
                    return None;
                }
                let lowest = cpus.min_by_key(|&cpu| priority(cpu))?;
                (priority(lowest) < Some(app.thread.priority)).then_some(lowest)
            };
            let above = |app: &App| core::cmp::Reverse(app.thread.priority);
            let waiting = self
                .apps
                .iter()
                .filter_map(|app| Some((above(app), app.thread.waits?, app.id, place(app)?)));
            let Some((.., id, cpu)) = waiting.min() else { return };
            let since = scheduler.turns[cpu].map_or(self.now, |turn| turn.since);
            // As if it had waited since its turn began: it goes on before those that came later.
            self.put_back(scheduler, cpu, since);
            let Some(index) = self.find(id) else { return };
            self.put_on(scheduler, cpu, index);
        }
    }

    /// Lets somebody run on a CPU that is free, if anybody can: if need be, after others moved on to it.
    fn occupy(&mut self, scheduler: &mut Scheduler, cpu: usize) {
        let mut path = vec![cpu];
        if scheduler.queues.is_empty() || !self.leads_somewhere(scheduler, &mut path, &mut 0) {
            return;
        }
        for step in path.windows(2) {
            let (to, from) = (step[0], step[1]);
            scheduler.unsettled = true;
            // A turn goes on elsewhere.
            let moved = scheduler.turns[from].take();
            scheduler.turns[to] = moved;
            let Some(index) = moved.and_then(|turn| self.find(turn.app)) else { return };
            let app = &mut self.apps[index];
            (app.cpu, app.thread.last) = (Some(to), Some(to));
            scheduler.free[from] = app.runner.clock;
            app.runner.wait_until(scheduler.free[to]);
            self.apps[index].runner.fill = self.fill_of(index);
        }
        let last = path.last().copied().unwrap_or(cpu);
        if let Some(index) = scheduler.first(&self.apps, last, self.quantum()) {
            self.put_on(scheduler, last, index);
        }
    }

    /// Whether somebody waits for the last CPU of `path`, or, once its thread has moved to the CPU before it,
    /// for another, which is appended. `seen` are CPUs, a bit each, that were tried.
    fn leads_somewhere(
        &self,
        scheduler: &Scheduler,
        path: &mut Vec<usize>,
        seen: &mut u64,
    ) -> bool {
        let Some(&cpu) = path.last() else { return false };
        *seen |= 1 << cpu;
        if scheduler.first(&self.apps, cpu, self.quantum()).is_some() {
            return true;
        }
        for other in 0..scheduler.turns.len() {
            let Some(turn) = scheduler.turns[other] else { continue };
            let may = self.find(turn.app).is_some_and(|index| self.apps[index].thread.may(cpu));
            if *seen >> other & 1 == 1 || !may {
                continue;
            }
            path.push(other);
            if self.leads_somewhere(scheduler, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }

    fn put_on(&mut self, scheduler: &mut Scheduler, cpu: usize, index: usize) {
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
        let (by_order, ordered) = (ordered.is_some(), ordered.unwrap_or(scheduling.quantum));
        let tick = self.span(scheduling.tick).as_nanos();
        let ticks = u128::from(self.now.after(self.span(ordered)).nanos()).div_ceil(tick);
        let end = Time::from_nanos(u64::try_from(ticks * tick).unwrap_or(u64::MAX));
        let app = &mut self.apps[index];
        app.cpu = Some(cpu);
        app.runner.wait_until(clock);
        scheduler.turns[cpu] = Some(Turn { app: app.id, since: self.now, end, ordered, by_order });
        self.apps[index].runner.fill = self.fill_of(index);
    }

    /// Ends a turn, and tells of it.
    fn take_off(&mut self, scheduler: &mut Scheduler, cpu: usize) {
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
        self.due.push_back(Due::Event(Event::QuantumGiven(Slice { thread, cpu, ordered, ran })));
    }

    /// The same of one that goes back to a queue, if it can still run, as if it waited since then.
    fn put_back(&mut self, scheduler: &mut Scheduler, cpu: usize, waits: Time) {
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
