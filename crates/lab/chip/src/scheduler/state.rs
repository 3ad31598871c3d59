//! The scheduler's state, and when it acts.

use std::time::Duration;

use fairways_core::{AppId, Event, Time};

use crate::agenda::Agenda;
use crate::clock::Clock;
use crate::fills::FillRules;
use crate::running_program::RunningProgram;
use crate::running_programs::RunningPrograms;
use crate::settings::{Scheduling, SchedulingClass, Settings};
use crate::time_sharing::SECOND;

use super::co_run::CoRunWatch;
use super::queue::RunQueues;

/// A thread's turn on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuTurn {
    pub(super) app: AppId,
    pub(super) since: Time,
    pub(super) end: Time,
    /// On the policy's clock.
    pub(super) ordered: Duration,
    /// Whether a policy ordered that length.
    pub(super) is_ordered: bool,
}

/// The scheduler's state.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(super) scheduling: Scheduling,
    pub(super) turns: Vec<Option<CpuTurn>>,
    pub(super) queues: RunQueues,
    /// The time from which each CPU is free, in ticks.
    pub(super) free: Vec<u64>,
    watch: Option<CoRunWatch>,
    /// The number of threads that have started to wait so far.
    arrivals: u64,
    /// The most turns that a thread had had when it got another, in nanoseconds of the machine's
    /// quantum.
    pub(super) most_turns: u64,
    /// When waiting threads are raised next, in the time-sharing class.
    pub(super) next_second: Option<Time>,
    /// Whether something has changed since the last rescheduling.
    pub(crate) needs_reschedule: bool,
}

/// The threads, and the state that moving them needs.
pub(crate) struct ScheduledThreads<'a> {
    pub(crate) apps: &'a mut RunningPrograms,
    pub(crate) fills: &'a FillRules,
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
            queues: RunQueues::new(cpus),
            free: vec![0; cpus],
            watch: None,
            arrivals: 0,
            most_turns: 0,
            next_second: is_time_sharing.then_some(first_second),
            needs_reschedule: true,
        })
    }

    /// When the first turn ends, or waiting threads are raised.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.turns.iter().flatten().map(|turn| turn.end).chain(self.next_second).min()
    }

    pub(super) fn is_free(&self, cpu: usize) -> bool {
        self.turns[cpu].is_none()
    }

    /// The thread to run next on a CPU.
    pub(super) fn first<'a>(
        &self,
        apps: &'a RunningPrograms,
        cpu: usize,
    ) -> Option<&'a RunningProgram> {
        // In the time-sharing class turns don't count: levels ensure that all threads get some.
        let few = match self.next_second {
            Some(_) => u64::MAX,
            None => self.most_turns.saturating_sub(self.quantum()),
        };
        self.queues.first(apps, cpu, few)
    }

    /// Watches co-runs from now on.
    pub(crate) fn watch_together(&mut self, shortest: Duration, threads: &ScheduledThreads<'_>) {
        self.watch = Some(CoRunWatch::new(shortest, threads.apps, threads.clock));
    }

    /// Ends turns that are over, and starts turns of waiting threads.
    pub(crate) fn reschedule(&mut self, threads: &mut ScheduledThreads<'_>) {
        if !self.needs_reschedule
            && self.next_end().is_none_or(|end| end > threads.clock.now)
            && !threads.apps.iter().any(RunningProgram::must_be_queued_or_removed)
        {
            return;
        }
        self.needs_reschedule = false;
        self.queue_up(threads);
        self.raise_waiting(threads);
        for cpu in 0..self.turns.len() {
            self.end_turn(threads, cpu);
            if self.is_free(cpu) {
                self.occupy(threads, cpu);
            }
        }
        self.preempt(threads);
        self.report_co_run(threads);
    }

    /// Takes a thread whose run has ended off its CPU, or out of its queue.
    pub(crate) fn leave(&mut self, threads: &mut ScheduledThreads<'_>, id: AppId) {
        let Some(app) = threads.apps.find_mut(id) else { return };
        app.thread.has_ended = true;
        let cpu = app.cpu;
        self.queue_up(threads);
        if let Some(cpu) = cpu {
            self.take_off(threads, cpu);
        }
        self.report_co_run(threads);
    }

    /// Queues threads that can run and do not. Takes threads out of queues if they can't run, or
    /// not on that CPU.
    fn queue_up(&mut self, threads: &mut ScheduledThreads<'_>) {
        for app in threads.apps.iter_mut() {
            let runs = app.can_run();
            if app.thread.waits.is_some() {
                let stays = self.queues.place(app.id).is_some_and(|cpu| app.thread.may_run_on(cpu));
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
                // A thread that slept, or is new, has missed no turns.
                app.thread.turns = app.thread.turns.max(self.most_turns);
                self.wait(app, threads.clock.now);
            }
        }
    }

    /// Puts a thread into a queue, as if it had waited since `since`.
    pub(super) fn wait(&mut self, app: &mut RunningProgram, since: Time) {
        app.thread.waits = Some((since, self.arrivals));
        self.arrivals += 1;
        self.queues.push(app);
    }

    /// Raises waiting threads when a second begins.
    fn raise_waiting(&mut self, threads: &mut ScheduledThreads<'_>) {
        let Some(next) = self.next_second.filter(|&next| next <= threads.clock.now) else { return };
        for app in threads.apps.iter_mut().filter(|app| app.thread.waits.is_some()) {
            app.thread.level = app.thread.level.waited();
        }
        self.next_second = Some(next.after(threads.clock.chip_span(SECOND)));
        self.needs_reschedule = true;
    }

    /// Reports a co-run that ended because other threads run now.
    fn report_co_run(&mut self, threads: &mut ScheduledThreads<'_>) {
        let watch = self.watch.as_mut();
        if let Some(co_run) = watch.and_then(|from| from.end(threads.apps, threads.clock)) {
            threads.agenda.report(Event::RanTogether(co_run));
        }
    }
}
