//! The machine: its state and its accessors.

use fairways_core::machine::{Alarm, EventQueue, PlanInForce};
use fairways_core::{AppId, Event, Llc, Partition, PlanId, Time};
use fairways_profiles::DemandError;

use crate::app::{JobProgress, ModelProgram, PendingEvent, Work};
use crate::cache::CachedLines;
use crate::job::Job;
use crate::observe::RandomSource;
use crate::rates::RatesPerSecond;
use crate::settings::Settings;

/// The analytic machine over time; the crate's documentation says how it behaves.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) settings: Settings,
    pub(crate) observer: RandomSource,
    pub(crate) jobs: Vec<JobProgress>,
    pub(crate) now: Time,
    pub(crate) due: EventQueue<PendingEvent>,
    /// Jobs that are still to start and changes of the cache that are still to come, the next one
    /// last.
    pub(crate) arrivals: Vec<(Time, usize)>,
    pub(crate) changes: Vec<(Time, Llc)>,
    pub(crate) alarm: Alarm,
    pub(crate) stop_at: Option<Time>,
    pub(crate) stop_after: Option<usize>,
    pub(crate) next_id: u32,
    pub(crate) in_force: PlanInForce,
    pub(crate) failure: Option<DemandError>,
    pub(crate) apps: Vec<ModelProgram>,
    /// By program: its lines and its rates.
    pub(crate) lines: Vec<CachedLines>,
    pub(crate) rates: Vec<RatesPerSecond>,
    pub(crate) are_rates_stale: bool,
    /// Scratch of a step.
    pub(crate) before: Vec<CachedLines>,
    pub(crate) shares: Vec<f64>,
}

impl Model {
    /// A machine on which these jobs run; their index `i` names them in other calls. Jobs that
    /// start together start in this order.
    #[must_use]
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Self {
        let record =
            |job| JobProgress { job, completions: Vec::new(), ran: 0.0, work: Work::default() };
        let jobs: Vec<JobProgress> = jobs.into_iter().map(record).collect();
        let mut arrivals: Vec<_> =
            jobs.iter().enumerate().map(|(index, record)| (record.job.at, index)).collect();
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            observer: RandomSource::new(&settings),
            jobs,
            now: Time::ZERO,
            due: [Event::Machine(settings.levers()).into()].into_iter().collect(),
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
            are_rates_stale: true,
            before: Vec::new(),
            shares: Vec::new(),
            settings,
        }
    }

    /// Ends the machine at `time`: no later event is reported.
    pub fn stop_at(&mut self, time: Time) {
        self.stop_at = Some(time);
    }

    /// Ends the machine once every job has completed this many runs (LFOC §5: until the longest has
    /// completed three).
    pub fn stop_after(&mut self, completions: usize) {
        self.stop_after = Some(completions);
    }

    /// Changes the cache's rules to these at `time`; the cache keeps its ways.
    ///
    /// # Panics
    /// If the number of ways differs.
    pub fn change(&mut self, time: Time, llc: Llc) {
        assert_eq!(llc.ways, self.settings.llc.ways, "programs are known for these ways only");
        // The next change last; of changes at one time, the one requested first.
        let place = self.changes.partition_point(|&(other, _)| other > time);
        self.changes.insert(place, (time, llc));
    }

    /// The time of the last event.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The plan in force; `None` before the first.
    #[must_use]
    pub fn plan(&self) -> Option<PlanId> {
        self.in_force.plan
    }

    /// Why the machine stopped, if memory can't serve the programs that run: no event follows. The
    /// error's program is an index among the programs that run.
    #[must_use]
    pub fn failure(&self) -> Option<DemandError> {
        self.failure
    }

    /// The seconds that each completed run of a job took.
    #[must_use]
    pub fn completions(&self, job: usize) -> &[f64] {
        &self.jobs[job].completions
    }

    /// The seconds for which a job has run so far, and the seconds that the same work would have
    /// taken at its best (slowdown 1).
    #[must_use]
    pub fn progress(&self, job: usize) -> (f64, f64) {
        (self.jobs[job].ran, self.jobs[job].work.at_best)
    }

    /// The work that a job has done so far.
    #[must_use]
    pub fn work_of(&self, job: usize) -> Work {
        self.jobs[job].work
    }

    /// The work that all jobs together have done so far.
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
        Some(self.apps[self.index_of(app)?].job)
    }

    /// The programs that run: each with its job, the index of its phase, and when that began.
    pub fn running(&self) -> impl Iterator<Item = (AppId, usize, usize, Time)> + '_ {
        self.apps.iter().map(|app| (app.id, app.job, app.phase, app.phase_start))
    }

    /// The occupancy of a program, in ways' worth of lines; `None` if it does not run.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<f64> {
        Some(self.lines[self.index_of(app)?].occupancy())
    }

    /// The partition in force; without a cluster before the first.
    #[must_use]
    pub fn partition(&self) -> &Partition {
        &self.in_force.partition
    }

    pub(crate) fn index_of(&self, app: AppId) -> Option<usize> {
        self.apps.iter().position(|other| other.id == app)
    }
}
