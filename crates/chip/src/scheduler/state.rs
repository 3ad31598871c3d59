//! What the scheduler keeps, and when it acts.

use std::time::Duration;

use fairways_core::{AppId, Event, Time};

use crate::agenda::Agenda;
use crate::app::App;
use crate::apps::Apps;
use crate::clock::Clock;
use crate::fills::Fills;
use crate::settings::{Scheduling, SchedulingClass, Settings};

use super::queue::Queues;
use super::time_sharing::SECOND;
use super::together::Gathering;

/// A thread's turn on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) app: AppId,
    pub(super) since: Time,
    pub(super) end: Time,
    /// On the policy's clock.
    pub(super) ordered: Duration,
    /// Whether a policy did.
    pub(super) by_order: bool,
}

/// The scheduler's state.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(super) scheduling: Scheduling,
    pub(super) turns: Vec<Option<Turn>>,
    pub(super) queues: Queues,
    /// In ticks of the account: from when on each CPU is free.
    pub(super) free: Vec<u64>,
    gathering: Option<Gathering>,
    /// How many have come to wait.
    came: u64,
    /// The most turns that a thread had had when it had another, likewise.
    pub(super) most_turns: u64,
    /// When those that wait are raised next, in the time-sharing class.
    pub(super) next_second: Option<Time>,
    /// Whether something has changed since turns were last looked at.
    pub(crate) unsettled: bool,
}

/// The threads, and what moving them takes.
pub(crate) struct Threads<'a> {
    pub(crate) apps: &'a mut Apps,
    pub(crate) fills: &'a Fills,
    pub(crate) agenda: &'a mut Agenda,
    pub(crate) clock: Clock,
}

impl Scheduler {
    /// The scheduler of a chip; `None`: every program has a CPU to itself.
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let (scheduling, cpus) = (settings.scheduler?, settings.chip.cpus() as usize);
        let is_time_sharing = scheduling.class == SchedulingClass::TimeSharing;
        let first_second = Time::ZERO.after(SECOND / settings.time_scale);
        Some(Self {
            scheduling,
            turns: vec![None; cpus],
            queues: Queues::new(cpus),
            free: vec![0; cpus],
            gathering: None,
            came: 0,
            most_turns: 0,
            next_second: is_time_sharing.then_some(first_second),
            unsettled: true,
        })
    }

    /// When the first turn ends, or those that wait are raised.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.turns.iter().flatten().map(|turn| turn.end).chain(self.next_second).min()
    }

    pub(super) fn is_free(&self, cpu: usize) -> bool {
        self.turns[cpu].is_none()
    }

    /// Who is to run next on a CPU.
    pub(super) fn first<'a>(&self, apps: &'a Apps, cpu: usize) -> Option<&'a App> {
        // In the time-sharing class nobody counts turns: levels see to it that all have some.
        let few = match self.next_second {
            Some(_) => u64::MAX,
            None => self.most_turns.saturating_sub(self.quantum()),
        };
        self.queues.first(apps, cpu, few)
    }

    /// Watches who runs together from now on.
    pub(crate) fn watch_together(&mut self, shortest: Duration, of: &Threads<'_>) {
        self.gathering = Some(Gathering::new(shortest, of.apps, of.clock));
    }

    /// Lets turns that are over end, and those that wait have theirs.
    pub(crate) fn reschedule(&mut self, of: &mut Threads<'_>) {
        // Who sleeps now, or does no longer.
        let is_out = |app: &App| app.can_run() != (app.cpu.is_some() || app.thread.waits.is_some());
        if !self.unsettled
            && self.next_end().is_none_or(|end| end > of.clock.now)
            && !of.apps.iter().any(is_out)
        {
            return;
        }
        self.unsettled = false;
        self.queue_up(of);
        self.raise_waiting(of);
        for cpu in 0..self.turns.len() {
            self.end_turn(of, cpu);
            if self.is_free(cpu) {
                self.occupy(of, cpu);
            }
        }
        self.preempt(of);
        self.gather(of);
    }

    /// Takes a thread whose run has ended off its CPU, or out of its queue.
    pub(crate) fn leave(&mut self, of: &mut Threads<'_>, id: AppId) {
        let Some(app) = of.apps.find_mut(id) else { return };
        app.thread.over = true;
        let cpu = app.cpu;
        self.queue_up(of);
        if let Some(cpu) = cpu {
            self.take_off(of, cpu);
        }
        self.gather(of);
    }

    /// Who can run and does not, waits; who waits and can't run, or not there, does no longer.
    fn queue_up(&mut self, of: &mut Threads<'_>) {
        for app in of.apps.iter_mut() {
            let runs = app.can_run();
            if app.thread.waits.is_some() {
                let stays = self.queues.place(app.id).is_some_and(|cpu| app.thread.may(cpu));
                if !runs || !stays {
                    self.queues.remove(app.id);
                }
                if !runs {
                    app.thread.waits = None;
                } else if !stays {
                    self.queues.push(app);
                }
            } else if runs && app.cpu.is_none() {
                if self.next_second.is_some() && app.thread.last.is_some() {
                    app.thread.level = app.thread.level.slept();
                    app.thread.left = None;
                }
                // One that slept, or is new, has missed nothing.
                app.thread.turns = app.thread.turns.max(self.most_turns);
                self.wait(app, of.clock.now);
            }
        }
    }

    /// Puts a thread into a queue, as if it waited since then.
    pub(super) fn wait(&mut self, app: &mut App, since: Time) {
        app.thread.waits = Some((since, self.came));
        self.came += 1;
        self.queues.push(app);
    }

    /// When a second begins, raises those that wait.
    fn raise_waiting(&mut self, of: &mut Threads<'_>) {
        let Some(next) = self.next_second.filter(|&next| next <= of.clock.now) else { return };
        for app in of.apps.iter_mut().filter(|app| app.thread.waits.is_some()) {
            app.thread.level = app.thread.level.waited();
        }
        self.next_second = Some(next.after(of.clock.span(SECOND)));
        self.unsettled = true;
    }

    /// Tells of who ran together, if others run now.
    fn gather(&mut self, of: &mut Threads<'_>) {
        let gathering = self.gathering.as_mut();
        if let Some(together) = gathering.and_then(|from| from.end(of.apps, of.clock)) {
            of.agenda.tell(Event::RanTogether(together));
        }
    }
}
