//! Cache-fair's machine and schedules, and the results of their threads.

use std::time::Duration;

use fairways_chip::{
    Chip, ChipError, Geometry, Job, Scheduling, SchedulingClass, Settings, preset,
};
use fairways_core::{AppId, NoPolicy, Policy, Q32, ThreadId, Time, WayMask, Wish};
use fairways_policy::cache_fair::{CacheFair, Parameters};

use super::{Setting, claims};
use crate::paper::ClaimName;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{
    RunControl, Stretch, accounts, arrivals, run, run_until, solaris_settings,
};

/// Table 2: the principal, its co-runners in the fast and in the slow schedule, and their claim.
pub(super) const TABLE_2: [(&str, [&str; 3], [&str; 3], ClaimName); 9] = [
    ("art", ["vpr", "vpr", "vortex"], ["gcc", "mcf", "gzip"], claims::SCHEDULES_OF_ART),
    ("crafty", ["vpr", "vpr", "vortex"], ["art", "mcf", "gzip"], claims::SCHEDULES_OF_CRAFTY),
    ("gcc", ["crafty", "vortex", "vpr"], ["art", "mcf", "gzip"], claims::SCHEDULES_OF_GCC),
    ("gzip", ["vortex", "vpr", "vpr"], ["art", "mcf", "gcc"], claims::SCHEDULES_OF_GZIP),
    ("mcf", ["vpr", "vpr", "vortex"], ["art", "gcc", "gzip"], claims::SCHEDULES_OF_MCF),
    ("parser", ["crafty", "vpr", "vortex"], ["art", "mcf", "gzip"], claims::SCHEDULES_OF_PARSER),
    ("twolf", ["vpr", "vpr", "vortex"], ["art", "mcf", "gzip"], claims::SCHEDULES_OF_TWOLF),
    ("vortex", ["vpr", "crafty", "vpr"], ["art", "mcf", "gzip"], claims::SCHEDULES_OF_VORTEX),
    ("vpr", ["crafty", "vpr", "vortex"], ["gcc", "crafty", "vortex"], claims::SCHEDULES_OF_VPR),
];

/// Application threads of a schedule.
pub(super) const THREADS: usize = 4;

/// Solaris's quantum of fixed priorities is 20 ms for the highest (`fx_dptbl(4)`); adjustments are
/// made to the millisecond, as with its clock at 1000 Hz.
pub(super) const TURNS: Scheduling = Scheduling {
    quantum: Duration::from_millis(20),
    tick: Duration::from_millis(1),
    system: true,
    class: SchedulingClass::FixedPriority,
};

/// The instructions of the principal's segment, and of its run before that (§4.3, §5.1).
pub(super) const SEGMENT: u64 = 100_000_000;

/// The longest run, on the policy's clock.
const PATIENCE: Duration = Duration::from_secs(120);

/// How the threads are scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SchedulingMode {
    /// Fixed priorities.
    Conventional,
    CacheFair(Parameters),
    /// Cache-fair with known fair miss rates of the schedule's threads, misses per cycle.
    Knowing(Parameters, [f64; THREADS]),
    /// Fixed priorities, and half of the ways for each core (§5.5).
    Partitioned,
}

/// One run of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduleRun {
    pub(super) schedule: [BenchProgram; THREADS],
    pub(super) mode: SchedulingMode,
    pub(super) unlimited: bool,
    /// Misses that a thread has under way at the same time. The T1's cores wait for each.
    pub(super) overlap: f64,
    /// The run's number: runs differ in when threads come and where their pages are.
    pub(super) number: u64,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(super) struct ScheduleOutcome {
    /// The duration of the principal's segment, on the policy's clock.
    pub(super) seconds: f64,
    /// The counts of all threads in that time.
    pub(super) stretch: Stretch,
    /// The principal's fair miss rate, as estimated in the schedule, misses per cycle.
    pub(super) fair_rate: Option<f64>,
}

/// The chip of Table 1.
pub(super) fn chip(unlimited: bool) -> Geometry {
    let chip = preset::preset("t1-single").expect("a preset's name");
    if unlimited { Geometry { bandwidth_mbps: f64::INFINITY, ..chip } } else { chip }
}

impl ScheduleOutcome {
    /// The principal's misses per 1000 instructions.
    pub(super) fn mpki(&self) -> f64 {
        let account = &self.stretch.each[0];
        1e3 * account.llc_misses as f64 / account.instructions as f64
    }

    /// A thread's misses per cycle.
    pub(super) fn mpc(&self, thread: usize) -> f64 {
        let account = &self.stretch.each[thread];
        account.llc_misses as f64 / account.cycles()
    }

    /// Instructions per second of a thread.
    pub(super) fn speed(&self, thread: usize) -> f64 {
        self.stretch.each[thread].instructions as f64 / self.seconds
    }
}

impl ScheduleRun {
    /// Table 2's first fast schedule.
    pub(super) fn first() -> Self {
        let (principal, fast, ..) = TABLE_2[0];
        let schedule = [principal, fast[0], fast[1], fast[2]].map(BenchProgram::Model);
        let mode = SchedulingMode::Conventional;
        Self { schedule, mode, unlimited: false, overlap: 1.0, number: 0 }
    }

    pub(super) fn jobs(self, times: Vec<Time>) -> impl Iterator<Item = Job> {
        let chip = chip(self.unlimited);
        self.schedule.into_iter().zip(times).enumerate().map(move |(thread, (program, at))| Job {
            // Decision cache-fair 8: the last thread is the best-effort one.
            wish: Wish { best_effort: thread == THREADS - 1, ..Wish::default() },
            ..program.overlapping(&chip, at, self.overlap)
        })
    }

    /// Runs until the principal has completed its segment, after as many instructions before it,
    /// those of the reconnaissance; under cache-fair, in its calibration phase.
    pub(super) fn run(self, setting: Setting) -> Result<ScheduleOutcome, ChipError> {
        let Setting { time_scale, seed, .. } = setting;
        let seed = seed + self.number;
        let settings = Settings {
            time_scale,
            scheduler: Some(TURNS),
            ..solaris_settings(chip(self.unlimited), seed)
        };
        let times = arrivals(seed, THREADS, TURNS.quantum);
        let jobs = self.jobs(times.clone());
        let mut chip = Chip::new(settings, jobs)?;
        if self.mode == SchedulingMode::Partitioned {
            let ways = settings.chip.llc.ways.get();
            let (low, high) =
                (WayMask::span(0, ways / 2), WayMask::span(ways / 2, ways - ways / 2));
            chip.fill_by_cpu(vec![low, high]);
        }
        let policy = match self.mode {
            SchedulingMode::CacheFair(parameters) => Some(CacheFair::new(parameters)),
            SchedulingMode::Knowing(parameters, rates) => {
                // Programs are numbered in the order in which they come.
                fn number(thread: usize, times: &[Time]) -> AppId {
                    let before = times.iter().filter(|time| **time < times[thread]).count();
                    AppId(u32::try_from(before).unwrap_or(u32::MAX))
                }
                let known = (0..THREADS).map(|thread| (number(thread, &times), q32(rates[thread])));
                Some(CacheFair::with_known_rates(parameters, known))
            }
            SchedulingMode::Conventional | SchedulingMode::Partitioned => None,
        };
        match policy {
            Some(mut policy) => {
                let mut principal = None;
                run(&mut chip, &mut policy, end(Duration::ZERO), |_, _, chip, policy| {
                    let apps = (0..).map(AppId).take(THREADS);
                    principal =
                        principal.or(apps.into_iter().find(|&app| chip.job(app) == Some(0)));
                    let thread = principal.map(ThreadId::first_of);
                    if thread.is_some_and(|thread| policy.is_calibrated(thread)) {
                        RunControl::Stop
                    } else {
                        RunControl::Continue
                    }
                });
                let rate = principal.and_then(|app| policy.fair_miss_rate(ThreadId::first_of(app)));
                let fair_rate = rate.map(|rate| rate.raw() as f64 / (1u64 << 32) as f64);
                Ok(ScheduleOutcome { fair_rate, ..segment(&mut chip, &mut policy, time_scale) })
            }
            None => {
                let before = SEGMENT / u64::from(time_scale);
                chip.stop_at_instructions(0, Some(before));
                run_until(&mut chip, &mut NoPolicy, end(Duration::ZERO));
                Ok(segment(&mut chip, &mut NoPolicy, time_scale))
            }
        }
    }
}

/// A program's position in [`TABLE_2`].
pub(super) fn place(name: &str) -> usize {
    TABLE_2.iter().position(|(principal, ..)| *principal == name).unwrap_or(0)
}

/// A rate between 0 and 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are between 0 and 1"
)]
pub(super) fn q32(rate: f64) -> Q32 {
    Q32::from_raw((rate * (1u64 << 32) as f64) as u64)
}

fn end(after: Duration) -> Time {
    Time::ZERO.after(PATIENCE + after)
}

/// Runs the principal's segment from here on.
fn segment<P: Policy>(chip: &mut Chip, policy: &mut P, time_scale: u32) -> ScheduleOutcome {
    let (since, before) = (chip.now(), accounts(chip, THREADS));
    let length = SEGMENT / u64::from(time_scale);
    chip.stop_at_instructions(0, Some(before[0].instructions + length));
    run_until(chip, policy, end(PATIENCE));
    let seconds = chip.now().since(since).as_secs_f64();
    let scaled = seconds / f64::from(time_scale);
    let stretch = Stretch::between(&before, &accounts(chip, THREADS), scaled);
    ScheduleOutcome { seconds, stretch, fair_rate: None }
}
