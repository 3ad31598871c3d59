//! The machine: all of its state, and what can be asked about it.

use fairways_core::{AppId, Event, Llc, Partition, PlanId, Time};
use fairways_machine_kit::{self as machine_kit, Alarm, PlanInForce};
use fairways_profiles::DemandError;

use crate::app::{App, Due, Record, Work};
use crate::cache::Lines;
use crate::job::Job;
use crate::observe::Observer;
use crate::rates::PerSecond;
use crate::settings::Settings;

/// The analytic machine over time; the crate's documentation says how it behaves.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) settings: Settings,
    pub(crate) observer: Observer,
    pub(crate) jobs: Vec<Record>,
    pub(crate) now: Time,
    pub(crate) due: machine_kit::EventQueue<Due>,
    /// Jobs and changes of the cache that are still to come, the next one last.
    pub(crate) arrivals: Vec<(Time, usize)>,
    pub(crate) changes: Vec<(Time, Llc)>,
    pub(crate) alarm: Alarm,
    pub(crate) stop_at: Option<Time>,
    pub(crate) stop_after: Option<usize>,
    pub(crate) next_id: u32,
    pub(crate) in_force: PlanInForce,
    pub(crate) failure: Option<DemandError>,
    pub(crate) apps: Vec<App>,
    /// By app: its lines, and what it does in a second. `stale`: rates are to be computed again.
    pub(crate) lines: Vec<Lines>,
    pub(crate) rates: Vec<PerSecond>,
    pub(crate) stale: bool,
    /// Scratch of a step.
    pub(crate) before: Vec<Lines>,
    pub(crate) shares: Vec<f64>,
}

impl Model {
    /// A machine on which these jobs run; job `i` is named so below. Jobs that start together do so
    /// in this order.
    #[must_use]
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Self {
        let record = |job| Record { job, completions: Vec::new(), ran: 0.0, work: Work::default() };
        let jobs: Vec<Record> = jobs.into_iter().map(record).collect();
        let mut arrivals: Vec<_> =
            jobs.iter().enumerate().map(|(index, record)| (record.job.at, index)).collect();
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            observer: Observer::new(&settings),
            jobs,
            now: Time::ZERO,
            due: [Event::Machine(settings.llc.into()).into()].into_iter().collect(),
            arrivals,
            changes: Vec::new(),
            alarm: Alarm::default(),
            stop_at: None,
            stop_after: None,
            next_id: 0,
            in_force: PlanInForce::default(),
            failure: None,
            apps: Vec::new(),
            lines: Vec::new(),
            rates: Vec::new(),
            stale: true,
            before: Vec::new(),
            shares: Vec::new(),
            settings,
        }
    }

    /// Nothing more is told after `time`.
    pub fn stop_at(&mut self, time: Time) {
        self.stop_at = Some(time);
    }

    /// Nothing more is told once every job has run its instructions so many times (LFOC §5: until
    /// the longest has completed three times).
    pub fn stop_after(&mut self, completions: usize) {
        self.stop_after = Some(completions);
    }

    /// At `time` the cache's rules become these; it keeps its ways.
    ///
    /// # Panics
    /// If the ways are others.
    pub fn change(&mut self, time: Time, llc: Llc) {
        assert_eq!(llc.ways, self.settings.llc.ways, "programs are known for these ways only");
        // The next one last, and of those at one time the one that was asked for first.
        let place = self.changes.partition_point(|&(other, _)| other > time);
        self.changes.insert(place, (time, llc));
    }

    /// The time of the last event told.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The plan in force; `None` before the first.
    #[must_use]
    pub fn plan(&self) -> Option<PlanId> {
        self.in_force.plan
    }

    /// Why the machine stopped, if memory can't serve the programs that run: it tells nothing
    /// more from then on. The error's program is the place of its app among those that run.
    #[must_use]
    pub fn failure(&self) -> Option<DemandError> {
        self.failure
    }

    /// The seconds that each completed run of a job took.
    #[must_use]
    pub fn completions(&self, job: usize) -> &[f64] {
        &self.jobs[job].completions
    }

    /// The seconds for which a job has run so far, and those that it would have taken at its best
    /// (slowdown 1) for the same work.
    #[must_use]
    pub fn progress(&self, job: usize) -> (f64, f64) {
        (self.jobs[job].ran, self.jobs[job].work.at_best)
    }

    /// What a job has done so far.
    #[must_use]
    pub fn work_of(&self, job: usize) -> Work {
        self.jobs[job].work
    }

    /// What all jobs together have done so far.
    #[must_use]
    pub fn work(&self) -> Work {
        self.jobs.iter().fold(Work::default(), |sum, record| Work {
            instructions: sum.instructions + record.work.instructions,
            at_best: sum.at_best + record.work.at_best,
        })
    }

    /// The job that a program runs; `None` if it does not run.
    #[must_use]
    pub fn job(&self, app: AppId) -> Option<usize> {
        Some(self.apps[self.find(app)?].job)
    }

    /// The programs that run: each with its job, the index of its phase, and when that began.
    pub fn running(&self) -> impl Iterator<Item = (AppId, usize, usize, Time)> + '_ {
        self.apps.iter().map(|app| (app.id, app.job, app.phase, app.turned))
    }

    /// The ways' worth of lines that a program holds; `None` if it does not run.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<f64> {
        Some(self.lines[self.find(app)?].occupancy())
    }

    /// The partition in force; without a cluster before the first.
    #[must_use]
    pub fn partition(&self) -> &Partition {
        &self.in_force.partition
    }

    pub(crate) fn find(&self, app: AppId) -> Option<usize> {
        self.apps.iter().position(|other| other.id == app)
    }
}
