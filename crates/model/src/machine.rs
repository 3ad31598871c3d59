//! The machine: what happens next, and what is asked of it.

use std::collections::VecDeque;

use fairways_core::{
    Action, AppId, Event, Llc, Machine, Partition, PartitionError, PlanId, Sample, Time, WayMask,
};
use fairways_profiles::DemandError;

use crate::cache::Lines;
use crate::job::{Job, Then};
use crate::observe::Observer;
use crate::rates::PerSecond;
use crate::settings::Settings;
use crate::window::{Totals, Window};

/// A program that runs.
#[derive(Clone, Debug)]
pub(crate) struct App {
    id: AppId,
    pub(crate) job: usize,
    started: Time,
    pub(crate) mask: WayMask,
    pub(crate) phase: usize,
    /// When the phase began.
    turned: Time,
    /// Instructions to the end of the phase and of the run; infinite where there is none.
    pub(crate) phase_left: f64,
    pub(crate) run_left: f64,
    pub(crate) totals: Totals,
    pub(crate) window: Option<Window>,
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) job: Job,
    completions: Vec<f64>,
    pub(crate) ran: f64,
    pub(crate) at_best: f64,
}

/// Something that happens now, and is still to be told.
#[derive(Clone, Debug)]
enum Due {
    Event(Event),
    Exit(AppId),
    Start(usize),
}

/// The analytic machine over time; the crate's documentation says how it behaves.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) settings: Settings,
    observer: Observer,
    pub(crate) jobs: Vec<Record>,
    pub(crate) now: Time,
    due: VecDeque<Due>,
    /// Jobs and changes of the cache that are still to come, the next one last.
    pub(crate) arrivals: Vec<(Time, usize)>,
    pub(crate) changes: Vec<(Time, Llc)>,
    pub(crate) alarm: Option<Time>,
    pub(crate) stop_at: Option<Time>,
    stop_after: Option<usize>,
    next_id: u32,
    plan: Option<PlanId>,
    partition: Partition,
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
        let record = |job| Record { job, completions: Vec::new(), ran: 0.0, at_best: 0.0 };
        let jobs: Vec<Record> = jobs.into_iter().map(record).collect();
        let mut arrivals: Vec<_> =
            jobs.iter().enumerate().map(|(index, record)| (record.job.at, index)).collect();
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            observer: Observer::new(&settings),
            jobs,
            now: Time::ZERO,
            due: VecDeque::from([Due::Event(Event::Machine(settings.llc))]),
            arrivals,
            changes: Vec::new(),
            alarm: None,
            stop_at: None,
            stop_after: None,
            next_id: 0,
            plan: None,
            partition: Partition::default(),
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
        (self.jobs[job].ran, self.jobs[job].at_best)
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
        &self.partition
    }

    fn find(&self, app: AppId) -> Option<usize> {
        self.apps.iter().position(|other| other.id == app)
    }

    fn start(&mut self, job: usize) -> Event {
        let app = AppId(self.next_id);
        self.next_id += 1;
        let Job { phases, instructions, wish, profile, .. } = &self.jobs[job].job;
        let instructions_of = |count: Option<u64>| count.map_or(f64::INFINITY, |n| n.max(1) as f64);
        self.apps.push(App {
            id: app,
            job,
            started: self.now,
            mask: WayMask::full(self.settings.llc.ways),
            phase: 0,
            turned: self.now,
            phase_left: instructions_of(phases[0].instructions),
            run_left: instructions_of(*instructions),
            totals: Totals::default(),
            window: None,
        });
        self.lines.push(Lines::NONE);
        let event = Event::Started { app, wish: *wish, profile: profile.clone() };
        self.retarget();
        event
    }

    fn exit(&mut self, app: AppId) {
        if let Some(index) = self.find(app) {
            self.apps.remove(index);
            self.lines.remove(index);
            self.retarget();
        }
    }

    /// Finds what happens now: windows that end, then programs that do, then those that start,
    /// then changes of the cache, then the alarm.
    fn collect(&mut self) {
        let mut turned = false;
        for index in 0..self.apps.len() {
            let held = self.lines[index].occupancy();
            let app = &mut self.apps[index];
            if let Some(window) = app.window
                && window.ended(self.now, &app.totals)
            {
                app.window = Some(window.next(self.now, app.totals));
                self.due.push_back(Due::Event(Event::Sampled(Sample {
                    app: app.id,
                    counters: self.observer.counters(&app.totals.since(&window.from)),
                    occupancy: self.observer.occupancy(held),
                    window: self.now.since(window.since),
                    plan: self.plan,
                    straddled: window.straddled,
                })));
            }
            let phases = &self.jobs[app.job].job.phases;
            while app.phase_left <= 0.0 {
                app.phase = (app.phase + 1) % phases.len();
                app.turned = self.now;
                let length = phases[app.phase].instructions;
                app.phase_left += length.map_or(f64::INFINITY, |n| n.max(1) as f64);
                turned = true;
            }
        }
        if turned {
            self.retarget();
        }
        for app in &self.apps {
            if app.run_left <= 0.0 {
                self.due.push_back(Due::Exit(app.id));
                let record = &mut self.jobs[app.job];
                record.completions.push(self.now.since(app.started).as_secs_f64());
                if record.job.then == Then::Restart {
                    self.due.push_back(Due::Start(app.job));
                }
            }
        }
        while let Some((_, job)) = self.arrivals.pop_if(|(time, _)| *time <= self.now) {
            self.due.push_back(Due::Start(job));
        }
        while let Some((_, llc)) = self.changes.pop_if(|(time, _)| *time <= self.now) {
            self.due.push_back(Due::Event(Event::Machine(llc)));
        }
        // Until all else is told, it may still be set anew.
        if self.due.is_empty() && self.alarm.is_some_and(|time| time <= self.now) {
            self.alarm = None;
            self.due.push_back(Due::Event(Event::Woke));
        }
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
            || self.stop_at.is_some_and(|time| time <= self.now)
            || self.stop_after.is_some_and(|completions| {
                self.jobs.iter().all(|record| record.completions.len() >= completions)
            })
            || (self.apps.is_empty() && self.arrivals.is_empty())
    }
}

impl Machine for Model {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        loop {
            if let Some(due) = self.due.pop_front() {
                let event = match due {
                    Due::Event(event) => event,
                    Due::Start(job) => self.start(job),
                    Due::Exit(app) => {
                        self.exit(app);
                        Event::Exited { app }
                    }
                };
                if let Event::Machine(llc) = &event {
                    self.settings.llc = *llc;
                }
                return Some((self.now, event));
            }
            self.collect();
            if self.due.is_empty() && (self.is_over() || !self.advance()) {
                return None;
            }
        }
    }

    fn carry_out(&mut self, action: Action<'_>) {
        match action {
            Action::Partition { plan, partition, .. } => {
                let clusters = u32::try_from(partition.masks().len()).unwrap_or(u32::MAX);
                let mut checked =
                    partition.check(&self.settings.llc, self.apps.iter().map(|app| app.id));
                if checked.is_ok() && clusters > 1 && self.observer.refuses() {
                    checked = Err(PartitionError::TooManyClusters { clusters, clos: clusters - 1 });
                }
                if let Err(why) = checked {
                    // What became of a plan is known before anything else happens, save what became
                    // of those before it.
                    let is_refusal = |due: &&Due| matches!(due, Due::Event(Event::Refused { .. }));
                    let place = self.due.iter().take_while(is_refusal).count();
                    self.due.insert(place, Due::Event(Event::Refused { plan, why }));
                    return;
                }
                self.plan = Some(plan);
                self.partition.clone_from(partition);
                for app in &mut self.apps {
                    app.mask = partition.mask_of(app.id).unwrap_or_default();
                    if let Some(window) = &mut app.window {
                        window.straddled |= window.since < self.now;
                    }
                }
                self.retarget();
            }
            Action::Watch { app, every } => {
                let (now, overshoot) = (self.now, self.settings.overshoot);
                if let Some(index) = self.find(app) {
                    let app = &mut self.apps[index];
                    app.window = Some(Window::new(every, overshoot, now, app.totals));
                }
            }
            Action::Wake { at } => self.alarm = Some(at),
            Action::Classified { .. } => {}
        }
    }
}
