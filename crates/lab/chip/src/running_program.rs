//! A program that runs.

use fairways_core::machine::OpenWindow;
use fairways_core::{AppId, Time};

use crate::account::Account;
use crate::clock::Clock;
use crate::job::Job;
use crate::phase::Phase;
use crate::program::{PhaseLength, Supply};
use crate::runner::Runner;
use crate::service::RunningService;
use crate::settings::Settings;
use crate::thread_state::ThreadState;

/// A program that runs.
pub(crate) struct RunningProgram {
    pub(crate) id: AppId,
    pub(crate) job: usize,
    /// The number that marks its lines: below [`MOST_CORES`](crate::geometry::MOST_CORES), and
    /// unique among the programs that run.
    pub(crate) place: usize,
    /// The CPU that it is on.
    pub(crate) cpu: Option<usize>,
    /// How it takes turns.
    pub(crate) thread: ThreadState,
    /// Whether it is reported to policies.
    pub(crate) is_reported: bool,
    pub(crate) started: Time,
    pub(crate) phase: usize,
    /// When the phase began, and after how many instructions it ends.
    pub(crate) phase_start: Time,
    pub(crate) phase_end: u64,
    /// After how many instructions the run ends.
    pub(crate) run_end: u64,
    pub(crate) account: Account,
    /// The window under way; its length is on the chip's scale of time.
    pub(crate) window: Option<OpenWindow<Account>>,
    /// Its requests, if it is a service.
    pub(crate) serving: Option<Box<RunningService>>,
    pub(crate) runner: Runner,
}

impl RunningProgram {
    /// A job that starts, with nothing to run yet. Without a scheduler it is on a CPU of its own.
    pub(crate) fn new(
        settings: &Settings,
        clock: Clock,
        id: AppId,
        place: usize,
        (index, job): (usize, &Job),
    ) -> Self {
        let class = settings.scheduler.map(|scheduling| scheduling.class);
        let now = clock.ticks();
        let runner = Runner::new(settings, place, (id, job.key.unwrap_or(index as u64)), now);
        let serving = job.requests().map(|requests| {
            Box::new(RunningService::new(settings, requests, &job.loads, runner.placed, now))
        });
        Self {
            id,
            job: index,
            place,
            cpu: class.is_none().then_some(place),
            thread: ThreadState::new(job.system, class),
            is_reported: !job.system,
            started: clock.now,
            phase: 0,
            phase_start: clock.now,
            phase_end: u64::MAX,
            run_end: job.instructions.map_or(u64::MAX, |count| clock.chip_instructions(count)),
            account: Account::default(),
            window: None,
            serving,
            runner,
        }
    }

    /// Whether it has something to run. A real program that sleeps has not.
    pub(crate) fn can_run(&self) -> bool {
        let Runner { now, supply, .. } = &self.runner;
        !self.thread.has_ended && now.source.is_some() && *supply != Supply::Asleep
    }

    /// Whether it can run and neither runs nor waits, or the other way round.
    pub(crate) fn must_be_queued_or_removed(&self) -> bool {
        self.can_run() != (self.cpu.is_some() || self.thread.waits.is_some())
    }

    /// When its phase ends, if that is a matter of time.
    pub(crate) fn phase_ends(&self, phases: &[Phase], clock: Clock) -> Option<Time> {
        match phases[self.phase].length {
            Some(PhaseLength::Time(span)) => Some(self.phase_start.after(clock.chip_span(span))),
            _ => None,
        }
    }

    /// The counts up to time `clock`. An access that is under way is counted, but not the rest of
    /// its time.
    pub(crate) fn account_at(&self, clock: u64) -> Account {
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

    /// Moves the clock of a program that has nothing to run to when it has, at most to `until`.
    /// Returns whether the clock moved.
    pub(crate) fn skip_idle_time(&mut self, until: u64) -> bool {
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
