//! A program that runs.

use fairways_core::{AppId, Time};
use fairways_machine_kit::OpenWindow;

use crate::account::Account;
use crate::clock::Clock;
use crate::job::Job;
use crate::phase::{Length, Phase};
use crate::runner::Runner;
use crate::scheduler::Thread;
use crate::service::Serving;
use crate::settings::Settings;

/// A program that runs.
pub(crate) struct App {
    pub(crate) id: AppId,
    pub(crate) job: usize,
    /// Whose lines are its own: below [`MOST_CORES`](crate::geometry::MOST_CORES), and no other
    /// program's that runs.
    pub(crate) place: usize,
    /// The CPU that it is on.
    pub(crate) cpu: Option<usize>,
    /// How it takes turns.
    pub(crate) thread: Thread,
    /// Whether policies are told of it.
    pub(crate) is_told: bool,
    pub(crate) started: Time,
    pub(crate) phase: usize,
    /// When the phase began, and after how many instructions it ends.
    pub(crate) turned: Time,
    pub(crate) phase_end: u64,
    /// After how many instructions the run ends.
    pub(crate) run_end: u64,
    pub(crate) account: Account,
    /// How long it is asked to be, on the chip's scale.
    pub(crate) window: Option<OpenWindow<Account>>,
    /// Its requests, if it is a service.
    pub(crate) serving: Option<Box<Serving>>,
    pub(crate) runner: Runner,
}

impl App {
    /// A job that starts, with nothing to run yet, at a CPU of its own where nobody schedules.
    pub(crate) fn new(
        settings: &Settings,
        clock: Clock,
        id: AppId,
        place: usize,
        (job, of): (usize, &Job),
    ) -> Self {
        let class = settings.scheduler.map(|scheduling| scheduling.class);
        let now = clock.ticks();
        let runner = Runner::new(settings, place, (id, of.key.unwrap_or(job as u64)), now);
        let serving = of.requests().map(|requests| {
            Box::new(Serving::new(settings, requests, &of.loads, runner.placed, now))
        });
        Self {
            id,
            job,
            place,
            cpu: class.is_none().then_some(place),
            thread: Thread::new(of.system, class),
            is_told: !of.system,
            started: clock.now,
            phase: 0,
            turned: clock.now,
            phase_end: u64::MAX,
            run_end: of.instructions.map_or(u64::MAX, |count| clock.instructions(count)),
            account: Account::default(),
            window: None,
            serving,
            runner,
        }
    }

    /// Whether it has something to run.
    pub(crate) fn can_run(&self) -> bool {
        !self.thread.over && self.runner.now.source.is_some()
    }

    /// When its phase ends, if that is a matter of time.
    pub(crate) fn phase_ends(&self, phases: &[Phase], clock: Clock) -> Option<Time> {
        match phases[self.phase].length {
            Some(Length::Time(span)) => Some(self.turned.after(clock.span(span))),
            _ => None,
        }
    }

    /// What it has counted by the time its core's clock should show. An access that is under way is
    /// counted, but not the time that it is still to take.
    pub(crate) fn counted(&self, clock: u64) -> Account {
        let ahead = self.runner.reached().saturating_sub(clock);
        let last = self.runner.last;
        Account {
            ticks: self.account.ticks.saturating_sub(ahead),
            stall_ticks: self.account.stall_ticks - ahead.min(last.beyond_l2),
            memory_ticks: self.account.memory_ticks - ahead.min(last.memory),
            store_ticks: self.account.store_ticks - ahead.min(last.stores),
            ..self.account
        }
    }

    /// Whether it has nothing to run for now: its clock goes on to when it has, or to `until`.
    pub(crate) fn idles(&mut self, until: u64) -> bool {
        let has = match &mut self.serving {
            _ if self.runner.now.source.is_none() => None,
            Some(serving) => serving.turn_to_next(self.account.instructions, until),
            None => Some(0),
        };
        let before = self.runner.clock;
        self.runner.wait_until(has.unwrap_or(until));
        self.runner.clock > before
    }
}
