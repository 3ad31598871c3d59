//! The machine: all of its state, and what can be asked about it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fairways_core::{AppId, Event, Partition, PlanId, Q32, Time, WayMask, Wish};
use fairways_machine_kit::{self as machine_kit, Alarm, InForce};

use crate::account::{Account, TICKS, ticks};
use crate::app::{App, Runner};
use crate::bus::Bus;
use crate::cache::{Caches, Fill, LINE, Shared};
use crate::check::check;
use crate::error::ChipError;
use crate::geometry::MOST_CORES;
use crate::job::{Job, Then};
use crate::outside::Class;
use crate::phase::Length;
use crate::run::{TURN, Uncore};
use crate::scheduler::{Level, Priority, Scheduler, Thread};
use crate::service::{Histogram, Serving, histogram};
use crate::settings::{SchedulingClass, Settings};
use crate::stops::Pause;

/// A chip on which programs run; the crate's documentation says how it behaves.
pub struct Chip {
    pub(crate) settings: Settings,
    pub(crate) jobs: Vec<Record>,
    /// On the chip's clock, like all times within.
    pub(crate) now: Time,
    pub(crate) due: machine_kit::Due<Due>,
    /// Jobs that are still to come, the next one last.
    pub(crate) arrivals: Vec<(Time, usize)>,
    /// What owners will ask for, the next one last.
    pub(crate) wishes: Vec<(Time, usize, Wish)>,
    /// On the policy's clock.
    pub(crate) alarm: Alarm,
    pub(crate) stop_at: Option<Time>,
    pub(crate) stop_after: Option<usize>,
    pub(crate) stop_at_instructions: Option<(usize, u64)>,
    /// What is waited for from outside, none of which cuts a turn.
    pub(crate) pause: Pause,
    pub(crate) failure: Option<String>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) next_id: u32,
    pub(crate) in_force: InForce,
    pub(crate) apps: Vec<App>,
    pub(crate) caches: Vec<Caches>,
    pub(crate) uncore: Uncore,
    /// From when on each core's pipeline is free, in ticks.
    pub(crate) pipelines: Vec<u64>,
    pub(crate) scheduler: Option<Scheduler>,
    /// The ways that those may fill, by CPU, who have no place in the partition.
    pub(crate) fill_by_cpu: Vec<WayMask>,
    /// How long a turn is.
    pub(crate) turn: Duration,
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) job: Job,
    pub(crate) completions: Vec<f64>,
    /// What its runs that have ended have counted.
    pub(crate) before: Account,
    /// The requests that it has answered, and the latencies of those that nobody has taken.
    pub(crate) answered: u64,
    pub(crate) latencies: Option<Box<Histogram<u64>>>,
    /// What its program may fill, and under which mark, by the CPU that it is on; none: the partition says.
    pub(crate) classes: Vec<Class>,
}

/// Something that happens now, and is still to be told.
#[derive(Clone, Debug)]
pub(crate) enum Due {
    Event(Event),
    Exit(AppId),
    Start(usize),
    /// The owner of a job asks for something else.
    Wish(usize, Wish),
}

impl From<Event> for Due {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl Chip {
    /// A chip on which these jobs run; job `i` is named so below. Jobs that start together do so in this
    /// order.
    ///
    /// # Errors
    /// If there can't be such a chip, or it has fewer cores than there are jobs: [`ChipError`].
    pub fn new(settings: Settings, jobs: impl IntoIterator<Item = Job>) -> Result<Self, ChipError> {
        let Settings { chip, set_sampling, time_scale, .. } = settings;
        let jobs: Vec<Job> = jobs.into_iter().collect();
        check(&settings, &jobs)?;
        let record = |job: Job| {
            let latencies = job.requests().map(|_| Box::new(histogram()));
            let completions = Vec::new();
            let before = Account::default();
            Record { job, completions, before, answered: 0, latencies, classes: Vec::new() }
        };
        let system = settings.scheduler.and_then(|of| of.system());
        let jobs: Vec<Record> = jobs.into_iter().chain(system).map(record).collect();
        let caches = Caches::new(&chip);
        let sets = chip.sets.div_ceil(set_sampling) as usize;
        let turn_nanos = (TURN * 1000).div_ceil(u64::from(chip.mhz));
        let cycles_of_a_line = f64::from(chip.mhz) * LINE as f64 / chip.bandwidth_mbps;
        let turn_ticks = turn_nanos * u64::from(chip.mhz) * TICKS / 1000;
        let mut arrivals: Vec<(Time, usize)> = Vec::new();
        for (index, record) in jobs.iter().enumerate() {
            let nanos = record.job.at.nanos().div_ceil(u64::from(time_scale));
            arrivals.push((Time::from_nanos(nanos), index));
        }
        arrivals.sort_unstable_by(|a, b| b.cmp(a));
        let wishes = jobs.iter().enumerate().flat_map(|(index, record)| {
            let here = |at: Time| Time::from_nanos(at.nanos().div_ceil(u64::from(time_scale)));
            record.job.wishes.iter().map(move |&(at, wish)| (here(at), index, wish))
        });
        let mut wishes: Vec<(Time, usize, Wish)> = wishes.collect();
        wishes.sort_by_key(|&(at, job, _)| (at, job));
        wishes.reverse();
        let told = settings.scheduler.map(|scheduling| Self::cpus(scheduling, chip.cpus()));
        let due =
            [Some(Event::Machine(chip.llc.into())), told].into_iter().flatten().map(Due::Event);
        let due = due.collect();
        Ok(Self {
            jobs,
            now: Time::ZERO,
            due,
            arrivals,
            wishes,
            alarm: Alarm::default(),
            stop_at: None,
            stop_after: None,
            stop_at_instructions: None,
            pause: Pause::default(),
            failure: None,
            stop: None,
            next_id: 0,
            in_force: InForce::default(),
            apps: Vec::new(),
            caches: vec![caches; chip.cores as usize],
            uncore: Uncore {
                llc: Shared::new(sets, chip.llc.ways.get() as usize, chip.replacement),
                bus: Bus::new(ticks(cycles_of_a_line), turn_ticks),
                held: vec![0; 1 + MOST_CORES as usize],
                sampling: set_sampling as usize,
                inclusive: chip.inclusive,
                threads: settings.scheduler.is_none().then_some(chip.threads as usize),
                pages: vec![None; 1 + MOST_CORES as usize],
                banks: chip.banks as usize - 1,
            },
            pipelines: vec![0; chip.cores as usize],
            scheduler: settings.scheduler.map(|scheduling| {
                let is_time_sharing = scheduling.class == SchedulingClass::TimeSharing;
                let next_second = is_time_sharing.then(|| Self::first_second(time_scale));
                Scheduler::new(chip.cpus() as usize, next_second)
            }),
            fill_by_cpu: Vec::new(),
            turn: Duration::from_nanos(turn_nanos),
            settings,
        })
    }

    /// Nothing more is told after `time`.
    pub fn stop_at(&mut self, time: Time) {
        self.stop_at = Some(time);
    }

    /// Nothing more is told once this is true: for a user who has seen enough.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Nothing more is told once every job has run its instructions so many times.
    pub fn stop_after(&mut self, completions: usize) {
        self.stop_after = Some(completions);
    }

    /// Nothing more is told once a job has run so many instructions in all, which are not scaled; `None`: until
    /// something else ends.
    pub fn stop_at_instructions(&mut self, job: usize, instructions: Option<u64>) {
        self.stop_at_instructions = instructions.map(|instructions| (job, instructions));
    }

    /// The time of the last event told.
    #[must_use]
    pub fn now(&self) -> Time {
        self.told(self.now)
    }

    /// The plan in force; `None` before the first.
    #[must_use]
    pub fn plan(&self) -> Option<PlanId> {
        self.in_force.plan
    }

    /// The seconds that each completed run of a job took.
    #[must_use]
    pub fn completions(&self, job: usize) -> &[f64] {
        &self.jobs[job].completions
    }

    /// What a job has counted so far, over all its runs, on the chip itself: not scaled.
    #[must_use]
    pub fn account(&self, job: usize) -> Account {
        let mut all = self.jobs[job].before;
        for app in self.apps.iter().filter(|app| app.job == job) {
            all.add(&app.account);
        }
        all
    }

    /// How many requests a job has answered, over all its runs.
    #[must_use]
    pub fn answered(&self, job: usize) -> u64 {
        self.jobs[job].answered
    }

    /// The latencies of the requests that a job has answered since they were last taken, in nanoseconds on the
    /// policy's clock; empty if it is no service.
    pub fn take_latencies(&mut self, job: usize) -> Histogram<u64> {
        let Some(latencies) = &mut self.jobs[job].latencies else { return histogram() };
        let taken = Histogram::clone(latencies);
        latencies.reset();
        taken
    }

    /// The ways' worth of lines that a job's program holds; 0 if it does not run.
    #[must_use]
    pub fn occupancy_of(&self, job: usize) -> Q32 {
        let app = self.apps.iter().find(|app| app.job == job);
        app.map_or(Q32::default(), |app| self.held(app))
    }

    /// The job that a program runs; `None` if it does not run.
    #[must_use]
    pub fn job(&self, app: AppId) -> Option<usize> {
        Some(self.apps[self.find(app)?].job)
    }

    /// The ways' worth of lines that a program holds; `None` if it does not run.
    #[must_use]
    pub fn occupancy(&self, app: AppId) -> Option<Q32> {
        Some(self.held(&self.apps[self.find(app)?]))
    }

    /// The partition in force; without a cluster before the first.
    #[must_use]
    pub fn partition(&self) -> &Partition {
        &self.in_force.partition
    }

    /// Ends the real programs among those that run: nothing more is to happen.
    pub fn end(&mut self) {
        self.apps.iter_mut().for_each(|app| app.runner.end());
    }

    /// Why a program could not go on, which ended everything.
    #[must_use]
    pub fn failure(&self) -> Option<ChipError> {
        self.failure.clone().map(ChipError::Failed)
    }

    pub(crate) fn held(&self, app: &App) -> Q32 {
        let Settings { chip, set_sampling, .. } = &self.settings;
        let simulated = chip.sets.div_ceil(*set_sampling);
        Q32::ratio(u64::from(self.uncore.held[app.place]), u64::from(simulated))
    }

    pub(crate) fn find(&self, app: AppId) -> Option<usize> {
        self.apps.iter().position(|other| other.id == app)
    }

    /// A time, as the policy is told it.
    pub(crate) fn told(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().saturating_mul(u64::from(self.settings.time_scale)))
    }

    /// The first time that is told as this one or later.
    pub(crate) fn here(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos().div_ceil(u64::from(self.settings.time_scale)))
    }

    /// The last time that is told as this one or earlier.
    pub(crate) fn not_after(&self, time: Time) -> Time {
        Time::from_nanos(time.nanos() / u64::from(self.settings.time_scale))
    }

    /// The same of a span, which is not nothing.
    pub(crate) fn span(&self, span: Duration) -> Duration {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos.div_ceil(u64::from(self.settings.time_scale)).max(1))
    }

    /// The same of instructions.
    pub(crate) fn instructions(&self, count: u64) -> u64 {
        count.div_ceil(u64::from(self.settings.time_scale)).max(1)
    }

    /// A core's clock at this time.
    pub(crate) fn clock(&self, time: Time) -> u64 {
        let ticks = u128::from(time.nanos()) * u128::from(self.settings.chip.mhz);
        u64::try_from(ticks * u128::from(TICKS) / 1000).unwrap_or(u64::MAX)
    }

    /// From now on, who has no place in the partition fills the ways of the CPU that it is on, as with resctrl's
    /// `cpus` files.
    pub fn fill_by_cpu(&mut self, masks: Vec<WayMask>) {
        self.fill_by_cpu = masks;
        for index in 0..self.apps.len() {
            self.apps[index].runner.fill = self.fill_of(index);
        }
    }

    /// The ways that a program may fill.
    pub(crate) fn fill_of(&self, index: usize) -> Fill {
        let App { id, cpu, .. } = &self.apps[index];
        let of_cpu = || self.fill_by_cpu.get((*cpu)?).copied();
        let all = WayMask::full(self.settings.chip.llc.ways);
        let of_class = self.class_of(index).map(|class| class.mask);
        let mask = of_class.or_else(|| self.in_force.partition.mask_of(*id)).or_else(of_cpu);
        let mark = self.class_of(index).map_or(0, |class| class.mark);
        Fill::new(mask.unwrap_or(all)).marked(mark)
    }

    /// Lets a program begin its phase.
    pub(crate) fn begin_phase(&mut self, index: usize) {
        let app = &self.apps[index];
        let phases = &self.jobs[app.job].job.phases;
        let end = match phases[app.phase].length {
            Some(Length::Instructions(count)) => {
                app.account.instructions.saturating_add(self.instructions(count))
            }
            Some(Length::Time(_)) | None => u64::MAX,
        };
        let app = &mut self.apps[index];
        (app.turned, app.phase_end) = (self.now, end);
        app.runner.turn(&self.settings, phases, app.phase);
        let pages = app.runner.pages_of(&self.settings, &phases[app.phase]);
        self.uncore.pages[app.place] = Some(pages);
    }

    /// Lets a program go on with its next phase.
    pub(crate) fn next_phase(&mut self, index: usize) {
        let app = &mut self.apps[index];
        app.phase = (app.phase + 1) % self.jobs[app.job].job.phases.len();
        self.begin_phase(index);
    }

    /// When a program's phase ends, if that is a matter of time.
    pub(crate) fn phase_ends(&self, app: &App) -> Option<Time> {
        match self.jobs[app.job].job.phases[app.phase].length {
            Some(Length::Time(span)) => Some(app.turned.after(self.span(span))),
            _ => None,
        }
    }

    /// Takes a program off its core, and its lines out of the caches.
    pub(crate) fn remove(&mut self, index: usize) {
        let app = self.apps.remove(index);
        self.jobs[app.job].before.add(&app.account);
        let is_its = |tag| crate::app::owner(tag) == app.place;
        for cache in self.caches.iter_mut().flat_map(Caches::all) {
            cache.remove(&is_its);
        }
        self.uncore.llc.remove(&is_its);
        self.uncore.held[app.place] = 0;
        self.uncore.llc.count_marks();
    }

    /// Starts a job on a CPU that is free; what policies are told of it.
    pub(crate) fn start(&mut self, job: usize) -> Option<Event> {
        let id = AppId(self.next_id);
        self.next_id += 1;
        let is_free = |place: &usize| self.apps.iter().all(|app| app.place != *place);
        let threads = self.settings.chip.threads as usize;
        let place = if self.scheduler.is_some() {
            (0..MOST_CORES as usize).find(is_free)
        } else {
            // Where fewest share the core.
            let on = |core| self.apps.iter().filter(|app| app.place / threads == core).count();
            let cpus = (0..self.caches.len() * threads).filter(is_free);
            cpus.min_by_key(|cpu| on(cpu / threads))
        };
        let place = place.unwrap_or(0);
        let cpu = self.scheduler.is_none().then_some(place);
        let Job { instructions, wish, profile, key, system, .. } = &self.jobs[job].job;
        let key = key.unwrap_or(job as u64);
        let run_end = instructions.map_or(u64::MAX, |count| self.instructions(count));
        let event = Event::Started { app: id, wish: *wish, profile: profile.clone() };
        let (is_told, mut thread) = (!system, Thread::NEW);
        if *system {
            thread.priority = Priority::System;
        }
        let class = self.settings.scheduler.map(|scheduling| scheduling.class);
        if class == Some(SchedulingClass::TimeSharing) {
            thread.level = Level::FIRST;
        }
        let all = Fill::new(WayMask::full(self.settings.chip.llc.ways));
        let now = self.clock(self.now);
        let runner = Runner::new(&self.settings, place, (id, key), all, now);
        let Record { job: of_job, .. } = &self.jobs[job];
        let serving = of_job.requests().map(|requests| {
            Box::new(Serving::new(&self.settings, requests, &of_job.loads, runner.placed, now))
        });
        self.apps.push(App {
            id,
            job,
            place,
            cpu,
            thread,
            is_told,
            started: self.now,
            phase: 0,
            turned: self.now,
            phase_end: u64::MAX,
            run_end,
            account: Account::default(),
            window: None,
            serving,
            runner,
        });
        let last = self.apps.len() - 1;
        self.apps[last].runner.fill = self.fill_of(last);
        self.begin_phase(last);
        is_told.then_some(event)
    }

    /// Whether a job starts again when its run ends.
    pub(crate) fn restarts(&self, job: usize) -> bool {
        self.jobs[job].job.then == Then::Restart
    }
}
