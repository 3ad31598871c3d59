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
//! In the time-sharing class ([`TimeSharing`](crate::SchedulingClass::TimeSharing)) the highest level
//! comes first, and within a level the thread that has waited longest. A thread that waits takes the
//! place of one of a lower level, which later uses what is left of its quantum.
//!
//! A raised thread takes the place of one that is not, and one of the operating system's
//! ([`Job::system`](crate::Job::system)) that of any other. Switching costs the caches' warmth and nothing else:
//! copies in the private caches of a core that a thread has left stay good, for nobody else writes to its lines.

mod placing;
mod queue;
mod system;
mod time_sharing;
mod together;
mod turns;

use std::time::Duration;

use fairways_core::{AppId, Cpus, Event, Time};

use crate::app::App;
use crate::machine::Chip;
use crate::settings::Scheduling;

use queue::Queues;
pub(crate) use time_sharing::Level;
pub(crate) use together::Gathering;

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
    pub(crate) level: Level,
    /// What is left of a quantum when another took its place, on the policy's clock.
    pub(crate) left: Option<Duration>,
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
        level: Level::FIXED,
        left: None,
        ordered: None,
        waits: None,
        last: None,
        turns: 0,
        over: false,
    };

    /// The order in which threads get a CPU: the highest first.
    pub(crate) fn rank(&self) -> (Priority, Level) {
        (self.priority, self.level)
    }

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
    /// When those that wait are raised next, in the time-sharing class.
    next_second: Option<Time>,
    /// Whether something has changed since turns were last looked at.
    pub(crate) unsettled: bool,
}

impl Scheduler {
    pub(crate) fn new(cpus: usize, next_second: Option<Time>) -> Self {
        Self {
            turns: vec![None; cpus],
            queues: Queues::new(cpus),
            free: vec![0; cpus],
            gathering: None,
            came: 0,
            most_turns: 0,
            next_second,
            unsettled: true,
        }
    }

    /// When the first turn ends, or those that wait are raised.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.turns.iter().flatten().map(|turn| turn.end).chain(self.next_second).min()
    }

    fn is_free(&self, cpu: usize) -> bool {
        self.turns[cpu].is_none()
    }

    /// Who is to run next on a CPU, by index.
    fn first(&self, apps: &[App], cpu: usize, turn: u64) -> Option<usize> {
        // In the time-sharing class nobody counts turns: levels see to it that all have some.
        let few = match self.next_second {
            Some(_) => u64::MAX,
            None => self.most_turns.saturating_sub(turn),
        };
        self.queues.first(apps, cpu, few)
    }
}

impl Chip {
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
        self.raise_waiting(&mut scheduler);
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
                if scheduler.next_second.is_some() && app.thread.last.is_some() {
                    app.thread.level = app.thread.level.slept();
                    app.thread.left = None;
                }
                // One that slept, or is new, has missed nothing.
                app.thread.turns = app.thread.turns.max(scheduler.most_turns);
                scheduler.came += 1;
                scheduler.queues.push(app);
            }
        }
    }
}
