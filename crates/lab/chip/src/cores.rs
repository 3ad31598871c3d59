//! The cores, and how they run for a turn.

use std::time::Duration;

use fairways_core::{Q32, Time};

use crate::account::{TICKS, ticks};
use crate::bus::Bus;
use crate::cache::{PrivateCaches, SharedCache};
use crate::clock::Clock;
use crate::geometry::LINE;
use crate::geometry::MOST_CORES;
use crate::phase::Phase;
use crate::program::PhaseLength;
use crate::program::Supply;
use crate::record::JobRecord;
use crate::run::{CoreTurn, TURN, Uncore};
use crate::runner::owner;
use crate::running_program::RunningProgram;
use crate::running_programs::RunningPrograms;
use crate::settings::Settings;
use crate::throttles::Throttles;

/// The cores and their shared parts.
pub(crate) struct Cores {
    settings: Settings,
    caches: Vec<PrivateCaches>,
    pub(crate) uncore: Uncore,
    /// The time from which each core's pipeline is free, in ticks.
    pipelines: Vec<u64>,
    /// The length of a turn.
    turn: Duration,
    /// The error of a program that failed.
    pub(crate) failure: Option<String>,
}

/// The programs that run on the cores.
pub(crate) struct CoreLoad<'a> {
    pub(crate) clock: Clock,
    pub(crate) jobs: &'a mut [JobRecord],
    pub(crate) apps: &'a mut RunningPrograms,
}

impl Cores {
    pub(crate) fn new(settings: &Settings) -> Self {
        let Settings { chip, set_sampling, scheduler, .. } = *settings;
        let turn_nanos = (TURN * 1000).div_ceil(u64::from(chip.mhz));
        let cycles_of_a_line = f64::from(chip.mhz) * LINE as f64 / chip.bandwidth_mbps;
        let turn_ticks = turn_nanos * u64::from(chip.mhz) * TICKS / 1000;
        let sets = chip.sets.div_ceil(set_sampling) as usize;
        Self {
            settings: *settings,
            caches: vec![PrivateCaches::new(&chip); chip.cores as usize],
            uncore: Uncore {
                llc: SharedCache::new(sets, chip.llc.ways.get() as usize, chip.replacement),
                bus: Bus::new(
                    ticks(cycles_of_a_line),
                    turn_ticks,
                    chip.bus,
                    u64::from(chip.latency.memory) * TICKS,
                ),
                throttles: Throttles::new(&chip),
                lines_held: vec![0; 1 + MOST_CORES as usize],
                sampling: set_sampling as usize,
                inclusive: chip.inclusive,
                threads: scheduler.is_none().then_some(chip.threads as usize),
                pages: vec![None; 1 + MOST_CORES as usize],
                banks: chip.banks as usize - 1,
            },
            pipelines: vec![0; chip.cores as usize],
            turn: Duration::from_nanos(turn_nanos),
            failure: None,
        }
    }

    /// The occupancy of a program, in ways' worth of lines.
    pub(crate) fn occupancy(&self, app: &RunningProgram) -> Q32 {
        let simulated = self.settings.chip.sets.div_ceil(self.settings.set_sampling);
        Q32::ratio(u64::from(self.uncore.lines_held[app.place]), u64::from(simulated))
    }

    /// Removes a program's lines from the caches.
    pub(crate) fn evict_lines(&mut self, place: usize) {
        for cache in self.caches.iter_mut().flat_map(PrivateCaches::all) {
            cache.remove(&|tag| owner(tag) == place);
        }
        self.uncore.llc.remove(&|tag| owner(tag) == place);
        self.uncore.lines_held[place] = 0;
        self.uncore.llc.count_marks();
    }

    /// Lets a program begin its phase.
    pub(crate) fn begin_phase(&mut self, app: &mut RunningProgram, phases: &[Phase], clock: Clock) {
        let phase = &phases[app.phase];
        app.phase_start = clock.now;
        app.phase_end = match phase.length {
            Some(PhaseLength::Instructions(count)) => {
                app.account.instructions.saturating_add(clock.chip_instructions(count))
            }
            Some(PhaseLength::Time(_)) | None => u64::MAX,
        };
        app.runner.switch_phase(&self.settings, phases, app.phase);
        self.uncore.pages[app.place] = Some(app.runner.pages_of(&self.settings, phase));
    }

    /// Lets a program begin its next phase.
    pub(crate) fn next_phase(&mut self, app: &mut RunningProgram, phases: &[Phase], clock: Clock) {
        app.phase = (app.phase + 1) % phases.len();
        self.begin_phase(app, phases, clock);
    }

    /// Runs all programs for a turn, or to `next` if that is earlier; returns the time then.
    pub(crate) fn run_turn(&mut self, mut load: CoreLoad<'_>, next: Option<Time>) -> Time {
        let (began, from) = (load.clock.now, load.clock.ticks());
        let slept = load.apps.sleep();
        let end = began.after(self.turn.max(slept));
        load.clock.now = next.map_or(end, |next| next.clamp(began, end));
        let until = load.clock.ticks();
        self.uncore.throttles.begin_turn(load.apps);
        if slept > self.turn {
            // A program that has slept meanwhile does not catch up.
            let turn = load.clock.ticks_at(Time::ZERO.after(self.turn));
            for app in load.apps.iter_mut() {
                app.runner.clock = app.runner.clock.max(until.saturating_sub(turn));
            }
        }
        if self.settings.chip.threads == 1 {
            for index in 0..load.apps.len() {
                self.run_alone(&mut load, index, until);
            }
        } else {
            for core in 0..self.caches.len() {
                self.run_threads(&mut load, core, until);
            }
        }
        self.watch_sleepers(&mut load, until - from);
        if slept > self.turn {
            self.uncore.bus.reset();
            self.uncore.throttles.reset();
        } else {
            self.uncore.bus.end_turn(until - from);
            self.uncore.throttles.end_turn(until - from);
        }
        load.clock.now
    }

    /// Counts how long real programs sleep, and looks whether those that left their CPUs for that
    /// are awake.
    fn watch_sleepers(&mut self, load: &mut CoreLoad<'_>, turn: u64) {
        for app in load.apps.iter_mut().filter(|app| app.runner.supply == Supply::Asleep) {
            app.account.asleep_ticks += turn;
            if app.cpu.is_none() && !app.runner.refill() {
                self.note_end(app);
            }
        }
    }

    /// Notes that a real program has ended or failed by itself, if it has.
    fn note_end(&mut self, app: &mut RunningProgram) {
        match &app.runner.supply {
            Supply::More | Supply::Asleep => {}
            Supply::Ended => app.run_end = app.account.instructions,
            Supply::Failed(why) => self.failure = Some(why.clone()),
        }
    }

    /// Runs a program that has its core's pipeline for itself.
    fn run_alone(&mut self, load: &mut CoreLoad<'_>, index: usize, until: u64) {
        if load.apps[index].cpu.is_some() {
            while self.run::<false>(load, index, until) {}
        }
    }

    /// Runs the hardware threads of a core; the thread that is furthest behind runs first.
    fn run_threads(&mut self, load: &mut CoreLoad<'_>, core: usize, until: u64) {
        let threads = self.settings.chip.threads as usize;
        let mut on = [0; MOST_CORES as usize];
        let mut count = 0;
        for (index, app) in load.apps.iter().enumerate() {
            if app.cpu.is_some_and(|cpu| cpu / threads == core) {
                on[count] = index;
                count += 1;
            }
        }
        let on = &on[..count];
        if let [index] = *on {
            return self.run_alone(load, index, until);
        }
        loop {
            let (mut first, mut clock, mut next) = (None, until, until);
            for &index in on {
                let other = load.apps[index].runner.clock;
                if other < clock {
                    (first, next, clock) = (Some(index), clock, other);
                } else if other < next {
                    next = other;
                }
            }
            let Some(index) = first else { return };
            if load.apps[index].skip_idle_time(until) {
                continue;
            }
            if !self.run::<true>(load, index, next.max(clock + 1)) {
                let RunningProgram { account, runner, run_end, .. } = &mut load.apps[index];
                if account.instructions >= *run_end || runner.supply != Supply::More {
                    runner.clock = runner.clock.max(until);
                }
            }
        }
    }

    /// Runs a program until its core's clock reaches `until`, its run ends, or its phase ends.
    /// Returns whether it can continue at once.
    fn run<const SHARED: bool>(
        &mut self,
        load: &mut CoreLoad<'_>,
        index: usize,
        until: u64,
    ) -> bool {
        let app = &mut load.apps[index];
        let RunningProgram {
            place, cpu, account, runner, serving, run_end, phase_end, job, ..
        } = app;
        let record = &mut load.jobs[*job];
        let (place, ends, phase_end) = (*place, *run_end, *phase_end);
        let mut request_end = u64::MAX;
        if let Some(serving) = serving {
            let Some(came) = serving.turn_to_next(account.instructions, until) else {
                // Its core is idle.
                runner.wait_until(until);
                return false;
            };
            runner.wait_until(came);
            request_end = serving.end();
        }
        let cpu = cpu.unwrap_or(0);
        let core = cpu / self.settings.chip.threads as usize;
        let (caches, uncore) = (&mut self.caches[..], &mut self.uncore);
        let pipeline = &mut self.pipelines[core];
        let mut turn = CoreTurn { core, cpu, place, runner, account, caches, uncore, pipeline };
        turn.run::<SHARED>(until, ends.min(phase_end).min(request_end));
        let ran = account.instructions;
        if let Some(serving) = serving.as_mut().filter(|_| ran >= request_end) {
            record.answer(serving.answer(runner.clock));
        }
        let goes_on = ran < ends && runner.clock < until;
        self.note_end(app);
        if goes_on && ran >= phase_end {
            self.next_phase(app, &record.job.phases, load.clock);
        }
        goes_on && (ran >= phase_end || ran >= request_end)
    }
}
