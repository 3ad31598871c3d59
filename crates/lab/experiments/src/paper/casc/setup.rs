//! CASC's machine and its eighteen threads, and their results.

use std::time::Duration;

use fairways_chip::{
    Chip, ChipError, Geometry, Job, Scheduling, SchedulingClass, Settings, preset,
};
use fairways_core::{AppId, CoRun, Event, NoPolicy, ThreadId, Time};
use fairways_policy::casc::{Casc, Measurement, Parameters};

use super::stores::StoreCounting;
use crate::paper::programs::BenchProgram;
use crate::paper::turns::{
    RunControl, Stretch, accounts, arrivals, run, run_until, solaris_settings,
};

/// The benchmarks (§5.2), with six threads each.
pub(super) const PROGRAMS: [&str; 3] = ["art", "twolf", "berkeley-db"];

/// The same with Berkeley DB in place of twolf. This is our choice: twolf-like misses nearly as
/// often as art-like with an eighth of the L2 (docs/workloads.md), while the paper's has good
/// locality; these miss a third as often as art.
pub(super) const FRUGAL: [&str; 3] = ["art", "berkeley-db", "berkeley-db"];
pub(super) const THREADS: usize = 18;

/// The L2 sizes, KB (§5.1); those between 48 and 384 are inferred (decision CASC 13).
pub(super) const SIZES: [u32; 5] = [48, 96, 192, 384, 768];

/// All programs are in Solaris' time-sharing class by default, and CASC follows its rules (§3, §4).
pub(super) fn time_sharing() -> Scheduling {
    Scheduling { class: SchedulingClass::TimeSharing, ..Scheduling::default() }
}

/// A run, on the policy's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct CascBench {
    pub(super) programs: [BenchProgram; 3],
    pub(super) l2_kb: u32,
    pub(super) time_scale: u32,
    pub(super) seed: u64,
    /// The time that is counted.
    pub(super) span: Duration,
    /// Whether CASC counts stores that hit the L1 as references, too.
    pub(super) counts_stores: bool,
}

/// CASC's chip with an L2 of this many KB.
pub(super) fn chip(l2_kb: u32) -> Geometry {
    let chip = preset::preset("t1").expect("a preset's name");
    Geometry { sets: l2_kb * 1024 / 64 / chip.llc.ways.get(), ..chip }
}

/// The warm-up of the default scheduler, and of CASC once it knows every thread.
const WARM: Duration = Duration::from_millis(600);

/// The longest time until CASC knows every thread.
const PATIENCE: Duration = Duration::from_secs(90);

/// The result of a run under CASC.
#[derive(Clone, Debug)]
pub(super) struct CascOutcome {
    pub(super) stretch: Stretch,
    /// Seconds of the initial measurement, and of each secondary one on average.
    pub(super) initial: f64,
    pub(super) secondary: f64,
    /// Threads that were not known at the end of that time.
    pub(super) unknown: usize,
    /// Every thread: its program, its raw score and the score's source, and whether it may not run
    /// everywhere.
    pub(super) threads: Vec<JudgedThread>,
    /// The largest error of an estimate of a group's miss rate, as a share; `None` if no group ran
    /// for long enough.
    pub(super) worst_error: Option<f64>,
    pub(super) max_pcmrs: Vec<f64>,
}

/// What CASC found about a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedThread {
    /// An index into [`PROGRAMS`].
    pub(super) program: usize,
    pub(super) score: f64,
    pub(super) by: Measurement,
    pub(super) is_greedy: bool,
}

impl JudgedThread {
    /// Whether it was classified by its program's locality: art's is poor.
    pub(super) fn is_right(self) -> bool {
        self.is_greedy == (self.program == 0)
    }
}

impl CascBench {
    fn settings(self) -> Settings {
        let Self { l2_kb, time_scale, seed, .. } = self;
        let scheduler = Some(time_sharing());
        Settings { time_scale, scheduler, ..solaris_settings(chip(l2_kb), seed) }
    }

    /// Job `i` is a thread of program `i` modulo three.
    fn jobs(self) -> impl Iterator<Item = Job> {
        let times = arrivals(self.seed, THREADS, Scheduling::default().quantum);
        let (each, chip) = (times.into_iter().enumerate(), chip(self.l2_kb));
        each.map(move |(i, at)| self.programs[i % PROGRAMS.len()].job(&chip, at))
    }

    /// By the program's number, the stores per 1000 instructions that count beside references.
    fn stores(self) -> Vec<f64> {
        if !self.counts_stores {
            return Vec::new();
        }
        // Programs are numbered in the order in which they come.
        let times = arrivals(self.seed, THREADS, Scheduling::default().quantum);
        let mut threads: Vec<usize> = (0..THREADS).collect();
        threads.sort_by_key(|&thread| times[thread]);
        let programs = threads.into_iter().map(|thread| self.programs[thread % PROGRAMS.len()]);
        programs.map(BenchProgram::stores_per_kilo).collect()
    }

    /// Counts from here on.
    fn count<P: fairways_core::Policy>(
        self,
        chip: &mut Chip,
        policy: &mut P,
        mut look: impl FnMut(&Event, &P),
    ) -> Stretch {
        let (now, before) = (chip.now(), accounts(chip, THREADS));
        run(chip, policy, now.after(self.span), |_, event, _, policy| {
            look(event, policy);
            RunControl::Continue
        });
        let seconds = self.span.as_secs_f64() / f64::from(self.time_scale);
        Stretch::between(&before, &accounts(chip, THREADS), seconds)
    }

    /// The default scheduler.
    pub(super) fn stock(self) -> Result<Stretch, ChipError> {
        let mut chip = Chip::new(self.settings(), self.jobs())?;
        let mut stock = NoPolicy;
        run_until(&mut chip, &mut stock, Time::ZERO.after(WARM));
        Ok(self.count(&mut chip, &mut stock, |_, _| ()))
    }

    /// CASC, counted from when it knows every thread (§5.3.1).
    pub(super) fn casc(self, parameters: Parameters) -> Result<CascOutcome, ChipError> {
        let mut chip = Chip::new(self.settings(), self.jobs())?;
        let mut casc = StoreCounting { casc: Casc::new(parameters), stores: self.stores() };
        let mut programs = [0; THREADS];
        let mut known_at = None;
        let patience = Time::ZERO.after(PATIENCE);
        run(&mut chip, &mut casc, patience, |at, event, chip, StoreCounting { casc, .. }| {
            if let Event::Started { app, .. } = event {
                programs[app.0 as usize] = chip.job(*app).unwrap_or(0) % PROGRAMS.len();
            }
            let known = threads().filter(|&thread| casc.pcmr(thread).is_some()).count();
            if known < THREADS {
                return RunControl::Continue;
            }
            known_at = Some(at);
            RunControl::Stop
        });
        let all_at = known_at.unwrap_or(patience);
        run_until(&mut chip, &mut casc, all_at.after(WARM));
        let mut groups: Vec<MeasuredGroup> = Vec::new();
        let stretch = self.count(&mut chip, &mut casc, |event, StoreCounting { casc, .. }| {
            if let Event::RanTogether(together) = event {
                MeasuredGroup::add(&mut groups, together, casc);
            }
        });
        let casc = casc.casc;
        let (since, until) = casc.initial_measurement().unwrap_or_default();
        let until = until.unwrap_or(patience);
        let later = THREADS - (1 + self.settings().chip.cpus() as usize);
        let enough = parameters.min_runlength.as_secs_f64();
        let errors =
            groups.iter().filter(|group| group.seconds >= enough).map(MeasuredGroup::error);
        let everywhere = casc.max_pcmrs().to_vec();
        let judged = threads().map(|thread| {
            let score = casc.raw_pcmr(thread).unwrap_or(0) as f64 / (1u64 << 32) as f64;
            let pcmr = casc.pcmr(thread).unwrap_or_default();
            JudgedThread {
                program: programs[thread.app.0 as usize],
                score,
                by: casc.measured_by(thread).unwrap_or(Measurement::Secondary),
                is_greedy: everywhere.iter().any(|&max| pcmr > max),
            }
        });
        Ok(CascOutcome {
            threads: judged.collect(),
            stretch,
            initial: until.since(since).as_secs_f64(),
            secondary: all_at.since(until).as_secs_f64() / later as f64,
            unknown: threads().filter(|&thread| casc.pcmr(thread).is_none()).count(),
            worst_error: errors.reduce(f64::max),
            max_pcmrs: everywhere
                .iter()
                .map(|max| max.raw() as f64 / (1u64 << 32) as f64)
                .collect(),
        })
    }
}

fn threads() -> impl Iterator<Item = ThreadId> {
    (0..).take(THREADS).map(|app| ThreadId::first_of(AppId(app)))
}

/// A group of threads that ran, with its miss rate and CASC's estimate.
struct MeasuredGroup {
    threads: Vec<ThreadId>,
    estimate: f64,
    misses: f64,
    references: f64,
    seconds: f64,
}

impl MeasuredGroup {
    fn add(groups: &mut Vec<Self>, together: &CoRun, casc: &Casc) {
        let threads: Vec<ThreadId> = together.threads.iter().map(|ran| ran.thread).collect();
        let Some(estimate) = casc.estimate(&threads) else { return };
        let (Some(misses), Some(references)) =
            (together.group.llc_misses, together.group.llc_references)
        else {
            return;
        };
        let (misses, references) = (misses as f64, references as f64);
        let seconds = together.window.as_secs_f64();
        if let Some(group) = groups.iter_mut().find(|group| group.threads == threads) {
            group.misses += misses;
            group.references += references;
            group.seconds += seconds;
        } else {
            let estimate = estimate.raw() as f64 / (1u64 << 32) as f64;
            groups.push(Self { threads, estimate, misses, references, seconds });
        }
    }

    fn error(&self) -> f64 {
        let actual = 100.0 * self.misses / self.references;
        (self.estimate - actual).abs() / actual
    }
}

/// A program alone with the base L2: misses per 100 references, in the second half of the time.
pub(super) fn alone(program: BenchProgram, seed: u64) -> Result<f64, ChipError> {
    let chip = chip(768);
    let mut chip = Chip::new(solaris_settings(chip, seed), [program.job(&chip, Time::ZERO)])?;
    let span = Duration::from_millis(400);
    let mut stock = NoPolicy;
    run_until(&mut chip, &mut stock, Time::ZERO.after(span / 2));
    let before = accounts(&chip, 1);
    run_until(&mut chip, &mut stock, Time::ZERO.after(span));
    let seconds = span.as_secs_f64() / 2.0;
    Ok(Stretch::between(&before, &accounts(&chip, 1), seconds).miss_rate())
}
