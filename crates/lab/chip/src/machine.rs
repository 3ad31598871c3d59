//! The machine: its parts and its accessors.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_core::{AppId, Cpus, Event, Partition, PlanId, Q32, Time};

use crate::account::Account;
use crate::agenda::Agenda;
use crate::check::check;
use crate::clock::Clock;
use crate::cores::Cores;
use crate::error::ChipError;
use crate::fills::FillRules;
use crate::job::Job;
use crate::record::JobRecord;
use crate::running_programs::RunningPrograms;
use crate::scheduler::{ScheduledThreads, Scheduler};
use crate::service::{Histogram, histogram};
use crate::settings::Settings;
use crate::stops::Stops;

/// A chip on which programs run; the crate's documentation says how it behaves.
pub struct Chip {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) jobs: Vec<JobRecord>,
    pub(crate) apps: RunningPrograms,
    pub(crate) fills: FillRules,
    pub(crate) cores: Cores,
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) agenda: Agenda,
    pub(crate) stops: Stops,
}

impl Chip {
    /// A chip on which these jobs run; their index `i` names them in other calls. Jobs that start
    /// together start in this order.
    ///
    /// # Errors
    /// If such a chip can't be simulated, or it has fewer CPUs than there are jobs: [`ChipError`].
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Result<Self, ChipError> {
        let Settings { chip, scheduler, .. } = settings;
        let jobs: Vec<Job> = jobs.into_iter().collect();
        check(&settings, &jobs)?;
        let system = scheduler.and_then(|scheduling| scheduling.system());
        let jobs: Vec<JobRecord> = jobs.into_iter().chain(system).map(JobRecord::new).collect();
        let cpus = scheduler.map(|scheduling| {
            Event::Cpus(Cpus { count: chip.cpus(), quantum: scheduling.quantum })
        });
        let first = [Some(Event::Machine(chip.levers())), cpus];
        let clock = Clock::new(&settings);
        Ok(Self {
            clock,
            apps: RunningPrograms::default(),
            fills: FillRules::new(chip, jobs.len()),
            cores: Cores::new(&settings),
            scheduler: Scheduler::new(&settings),
            agenda: Agenda::new(first.into_iter().flatten(), &jobs, clock),
            stops: Stops::default(),
            jobs,
            settings,
        })
    }

    /// Ends the simulation at `time`: no later event is reported.
    pub fn stop_at(&mut self, time: Time) {
        self.stops.at = Some(time);
    }

    /// Ends the simulation once this flag is set, for example by a user who interrupts it.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stops.when = Some(stop);
    }

    /// Ends the simulation once every job has completed this many runs.
    pub fn stop_after(&mut self, completions: usize) {
        self.stops.after = Some(completions);
    }

    /// Ends the simulation once a job has run `instructions` in all, on the chip's own scale;
    /// `None`: no such end.
    pub fn stop_at_instructions(&mut self, job: usize, instructions: Option<u64>) {
        self.stops.at_instructions = instructions.map(|instructions| (job, instructions));
    }

    /// The time of the last event, on the policy's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.to_policy(self.clock.now)
    }

    /// The plan in force; `None` before the first.
    #[must_use]
    pub fn plan(&self) -> Option<PlanId> {
        self.fills.in_force.plan
    }

    /// The seconds that each completed run of a job took.
    #[must_use]
    pub fn completions(&self, job: usize) -> &[f64] {
        &self.jobs[job].completions
    }

    /// A job's counts so far, over all its runs, on the chip's own scale.
    #[must_use]
    pub fn account(&self, job: usize) -> Account {
        self.apps.account(&self.jobs, job)
    }

    /// The number of requests that a job has answered, over all its runs.
    #[must_use]
    pub fn answered(&self, job: usize) -> u64 {
        self.jobs[job].answered
    }

    /// Takes the latencies of the requests that a job has answered since the last call, in
    /// nanoseconds on the policy's clock; empty if it is not a service.
    pub fn take_latencies(&mut self, job: usize) -> Histogram<u64> {
        let Some(latencies) = &mut self.jobs[job].latencies else { return histogram() };
        let taken = Histogram::clone(latencies);
        latencies.reset();
        taken
    }

    /// The occupancy of a job's program, in ways' worth of lines; 0 if it does not run.
    #[must_use]
    pub fn occupancy_of(&self, job: usize) -> Q32 {
        self.apps.of_job(job).next().map_or(Q32::default(), |app| self.cores.occupancy(app))
    }

    /// The job that a program runs; `None` if it does not run.
    #[must_use]
    pub fn job(&self, app: AppId) -> Option<usize> {
        Some(self.apps.find(app)?.job)
    }

    /// The occupancy of a program, in ways' worth of lines; `None` if it does not run.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<Q32> {
        Some(self.cores.occupancy(self.apps.find(app)?))
    }

    /// The partition in force; without a cluster before the first.
    #[must_use]
    pub fn partition(&self) -> &Partition {
        &self.fills.in_force.partition
    }

    /// Ends the real programs that run, when the simulation is over.
    pub fn end_live_programs(&mut self) {
        self.apps.iter_mut().for_each(|app| app.runner.end());
    }

    /// The error of a program that failed, which ended the simulation.
    #[must_use]
    pub fn failure(&self) -> Option<ChipError> {
        self.cores.failure.clone().map(ChipError::Failed)
    }

    /// The scheduler, if there is one, and the threads that it moves.
    pub(crate) fn scheduling(&mut self) -> Option<(&mut Scheduler, ScheduledThreads<'_>)> {
        let Self { clock, apps, fills, agenda, scheduler, .. } = self;
        Some((scheduler.as_mut()?, ScheduledThreads { apps, fills, agenda, clock: *clock }))
    }
}
