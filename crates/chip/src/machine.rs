//! The machine: its parts, and what can be asked about it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairways_core::{AppId, Cpus, Event, Partition, PlanId, Q32, Time, WayMask};

use crate::account::Account;
use crate::agenda::Agenda;
use crate::apps::Apps;
use crate::check::check;
use crate::clock::Clock;
use crate::cores::Cores;
use crate::error::ChipError;
use crate::fills::Fills;
use crate::job::Job;
use crate::record::Record;
use crate::scheduler::{Scheduler, Threads};
use crate::service::{Histogram, histogram};
use crate::settings::Settings;
use crate::stops::Stops;

/// A chip on which programs run; the crate's documentation says how it behaves.
pub struct Chip {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) jobs: Vec<Record>,
    pub(crate) apps: Apps,
    pub(crate) fills: Fills,
    pub(crate) cores: Cores,
    pub(crate) scheduler: Option<Scheduler>,
    pub(crate) agenda: Agenda,
    pub(crate) stops: Stops,
}

impl Chip {
    /// A chip on which these jobs run; job `i` is named so below. Jobs that start together do so in
    /// this order.
    ///
    /// # Errors
    /// If there can't be such a chip, or it has fewer cores than there are jobs: [`ChipError`].
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Result<Self, ChipError> {
        let Settings { chip, scheduler, .. } = settings;
        let jobs: Vec<Job> = jobs.into_iter().collect();
        check(&settings, &jobs)?;
        let system = scheduler.and_then(|scheduling| scheduling.system());
        let jobs: Vec<Record> = jobs.into_iter().chain(system).map(Record::new).collect();
        let cpus = |quantum| Event::Cpus(Cpus { count: chip.cpus(), quantum });
        let cpus = scheduler.map(|scheduling| cpus(scheduling.quantum));
        let told = [Some(Event::Machine(chip.llc.into())), cpus];
        let clock = Clock::new(&settings);
        Ok(Self {
            clock,
            apps: Apps::default(),
            fills: Fills::new(WayMask::full(chip.llc.ways), jobs.len()),
            cores: Cores::new(&settings),
            scheduler: Scheduler::new(&settings),
            agenda: Agenda::new(told.into_iter().flatten(), &jobs, clock),
            stops: Stops::default(),
            jobs,
            settings,
        })
    }

    /// Nothing more is told after `time`.
    pub fn stop_at(&mut self, time: Time) {
        self.stops.at = Some(time);
    }

    /// Nothing more is told once this is true: for a user who has seen enough.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stops.when = Some(stop);
    }

    /// Nothing more is told once every job has run its instructions so many times.
    pub fn stop_after(&mut self, completions: usize) {
        self.stops.after = Some(completions);
    }

    /// Nothing more is told once a job has run so many instructions in all, which are not scaled;
    /// `None`: until something else ends.
    pub fn stop_at_instructions(&mut self, job: usize, instructions: Option<u64>) {
        self.stops.at_instructions = instructions.map(|instructions| (job, instructions));
    }

    /// The time of the last event told.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.told(self.clock.now)
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

    /// What a job has counted so far, over all its runs, on the chip itself: not scaled.
    #[must_use]
    pub fn account(&self, job: usize) -> Account {
        self.apps.account(&self.jobs, job)
    }

    /// How many requests a job has answered, over all its runs.
    #[must_use]
    pub fn answered(&self, job: usize) -> u64 {
        self.jobs[job].answered
    }

    /// The latencies of the requests that a job has answered since they were last taken, in
    /// nanoseconds on the policy's clock; empty if it is no service.
    pub fn take_latencies(&mut self, job: usize) -> Histogram<u64> {
        let Some(latencies) = &mut self.jobs[job].latencies else { return histogram() };
        let taken = Histogram::clone(latencies);
        latencies.reset();
        taken
    }

    /// The ways' worth of lines that a job's program holds; 0 if it does not run.
    #[must_use]
    pub fn occupancy_of(&self, job: usize) -> Q32 {
        self.apps.of(job).next().map_or(Q32::default(), |app| self.cores.held(app))
    }

    /// The job that a program runs; `None` if it does not run.
    #[must_use]
    pub fn job(&self, app: AppId) -> Option<usize> {
        Some(self.apps.find(app)?.job)
    }

    /// The ways' worth of lines that a program holds; `None` if it does not run.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<Q32> {
        Some(self.cores.held(self.apps.find(app)?))
    }

    /// The partition in force; without a cluster before the first.
    #[must_use]
    pub fn partition(&self) -> &Partition {
        &self.fills.in_force.partition
    }

    /// Ends the real programs among those that run: nothing more is to happen.
    pub fn end(&mut self) {
        self.apps.iter_mut().for_each(|app| app.runner.end());
    }

    /// Why a program could not go on, which ended everything.
    #[must_use]
    pub fn failure(&self) -> Option<ChipError> {
        self.cores.failure.clone().map(ChipError::Failed)
    }

    /// The scheduler, if there is one, and what it moves.
    pub(crate) fn scheduling(&mut self) -> Option<(&mut Scheduler, Threads<'_>)> {
        let Self { clock, apps, fills, agenda, scheduler, .. } = self;
        Some((scheduler.as_mut()?, Threads { apps, fills, agenda, clock: *clock }))
    }
}
