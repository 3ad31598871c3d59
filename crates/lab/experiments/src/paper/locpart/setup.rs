//! The paper's server, and the programs on it.

use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::{Accesses, named, profiled_resized};
use fairways_chip::service::{RequestLoad, Stage};
use fairways_chip::{CacheShape, ChipError, Job, Phase, Settings, SimulatedProgram, preset};
use fairways_core::{Objective, Policy, Q32, Time, Wish};
use fairways_policy::fixed::Static;
use fairways_policy::locpart::{Locpart, Parameters};
use fairways_profiles::corpus::{CorpusMachine, counterpart};

use crate::executed::{ProgramStep, timeline};
use crate::paper::Ground;
use crate::paper::ground::corpus_table;

/// TailBench's five (Table II).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailBench {
    Masstree,
    Sphinx,
    Xapian,
    Silo,
    ImgDnn,
}

impl TailBench {
    /// All, in the order of the figures.
    pub(super) const ALL: [Self; 5] =
        [Self::Masstree, Self::Sphinx, Self::Xapian, Self::Silo, Self::ImgDnn];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Masstree => "masstree",
            Self::Sphinx => "sphinx",
            Self::Xapian => "xapian",
            Self::Silo => "silo",
            Self::ImgDnn => "img-dnn",
        }
    }

    /// Whether a request takes a second rather than milliseconds.
    pub(super) const fn is_slow(self) -> bool {
        matches!(self, Self::Sphinx)
    }

    /// The objective of its 99th percentile that the paper prints (§III-A), if it does.
    pub(super) const fn published_slo(self) -> Option<Duration> {
        match self {
            Self::Silo => Some(Duration::from_millis(2)),
            _ => None,
        }
    }
}

/// The batch program (Table II).
pub(super) const BATCH: &str = "mcf06";

/// How the server is simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocpartBench {
    pub(super) settings: Settings,
    /// The factor by which the cache, programs' memory and all times are smaller, so that a second
    /// of the policy still fills the same share of a way.
    by: u32,
    /// Threads of the service, and copies of the batch program (decision Locpart 13).
    threads: u32,
    /// The ground for the batch program; the services have no living counterpart.
    ground: Ground,
}

impl LocpartBench {
    pub(super) fn new(by: u32, seed: u64, ground: Ground) -> Self {
        let mut chip = preset::preset("xeon-e5-2630").expect("a preset's name");
        chip.sets /= by;
        // The private caches before the LLC; they must be no larger than it.
        let smaller = |shape: CacheShape| CacheShape {
            sets: (shape.sets / by).max(1).next_power_of_two(),
            ..shape
        };
        (chip.l1, chip.l2) = (smaller(chip.l1), chip.l2.map(smaller));
        Self {
            settings: Settings { time_scale: by, seed, ..Settings::new(chip) },
            by,
            threads: 1,
            ground,
        }
    }

    pub(super) fn ways(self) -> u32 {
        self.settings.chip.llc.ways.get()
    }

    /// Several threads of the program of this name, as one program that is that many times as fast
    /// and references the LLC as often as they do together. `memories` of them have their own
    /// memory.
    fn program(self, name: &str, memories: u32) -> SimulatedProgram {
        let mut program = named(&format!("{name}-like")).expect("a program of the experiments");
        if let Accesses::Mixture(mixture) = &mut program.accesses {
            for part in mixture.parts.iter_mut().filter(|part| part.lines > 0) {
                part.lines = (part.lines * memories / self.by).max(1);
            }
        }
        self.all_threads(program)
    }

    fn all_threads(self, program: SimulatedProgram) -> SimulatedProgram {
        let threads = f64::from(self.threads);
        SimulatedProgram {
            base_cpi: program.base_cpi / threads,
            overlap: program.overlap * threads,
            ..program
        }
    }

    /// The batch program: each copy has a memory of its own.
    pub(super) fn batch(self) -> Job {
        Job::new(match self.ground {
            Ground::Models => self.program(BATCH, self.threads),
            Ground::Corpus => self.all_threads(self.living_batch()),
        })
    }

    /// The living counterpart of the batch program, as measured behind a private cache of the same
    /// size. Its profile has larger ways; if copies share a cache, each has its part of it.
    /// References of a curve are made by set, so a smaller cache needs no smaller memory.
    fn living_batch(self) -> SimulatedProgram {
        let table = corpus_table(CorpusMachine::Broadwell);
        let name = counterpart("mcf").expect("the corpus has it");
        let index = table.find(name).expect("the corpus measured it");
        let chip = self.settings.chip;
        let measured = preset::preset("xeon-e5").expect("the machine of the profiles").way_bytes();
        let way_bytes = chip.way_bytes() * u64::from(self.by);
        let size = way_bytes as f64 / measured as f64 / f64::from(self.threads);
        profiled_resized(table, index, chip.llc.ways, chip.latency, size)
            .expect("it references the cache")
    }

    /// A service, whose threads share a memory.
    pub(super) fn service(self, service: TailBench, loads: Vec<Stage>) -> Job {
        let program = Arc::new(self.program(service.name(), 1));
        let phase = Phase { program: Some(program), length: None };
        Job { phases: vec![phase], loads, ..Job::default() }
    }

    /// A service in which each thread always has a request to answer.
    pub(super) fn saturated(self, service: TailBench) -> Job {
        let clients = RequestLoad::Closed { clients: self.threads, think: Duration::ZERO };
        self.service(service, steady(clients))
    }

    /// Runs jobs for steps of equal length under a policy.
    pub(super) fn run(
        self,
        jobs: &[Job],
        policy: &mut dyn Policy,
        step: Duration,
        steps: u32,
    ) -> Result<LocpartRun, ChipError> {
        let moments = timeline(self.settings, jobs, policy, step, steps)?;
        Ok(LocpartRun { moments, step })
    }

    /// Runs jobs for steps of equal length, each with a fixed number of ways.
    pub(super) fn fixed(
        self,
        jobs: &[(Job, u32)],
        step: Duration,
        steps: u32,
    ) -> Result<LocpartRun, ChipError> {
        let jobs: Vec<Job> = jobs
            .iter()
            .map(|(job, ways)| {
                let wish = Wish { baseline_ways: Some(*ways), ..job.wish };
                Job { wish, ..job.clone() }
            })
            .collect();
        self.run(&jobs, &mut Static::default(), step, steps)
    }
}

/// The scale of a service's runs: where it runs, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) bench: LocpartBench,
    /// Requests of a tail.
    pub(super) requests: u32,
    /// The number of steps for a tail, of which the last counts. If a request fills the cache many
    /// times over, no warm-up is needed.
    pub(super) tails: u32,
    /// Steps of a scenario of Figures 4 to 6.
    pub(super) step: Duration,
    pub(super) steps: u32,
}

impl Scale {
    /// The same with this many threads of the service and copies of the batch program.
    pub(super) fn with_threads(self, threads: u32) -> Self {
        Self { bench: LocpartBench { threads, ..self.bench }, ..self }
    }
}

/// The same load to the end.
pub(super) fn steady(load: RequestLoad) -> Vec<Stage> {
    vec![Stage::of(load)]
}

/// An objective for the 99th percentile.
pub(super) fn objective(slo: Duration) -> Wish {
    let objective = Objective { slo, percentile: Q32::from_int(99) };
    Wish { objective: Some(objective), ..Wish::default() }
}

/// A job with an objective.
pub(super) fn with_objective(job: &Job, slo: Duration) -> Job {
    Job { wish: objective(slo), ..job.clone() }
}

/// The policy as published, with this interval (§IV-A).
pub(super) fn published(interval: Duration) -> Locpart {
    Locpart::new(Parameters { t_sched: interval, ..Parameters::published() })
}

/// The policy as a daemon runs it, with this interval.
pub(super) fn margin(interval: Duration) -> Locpart {
    Locpart::new(Parameters { t_sched: interval, ..Parameters::default() })
}

/// The interval of the evaluation (§IV-A).
pub(super) const INTERVAL: Duration = Duration::from_millis(50);

/// The steps of each job.
#[derive(Clone, Debug)]
pub(super) struct LocpartRun {
    pub(super) moments: Vec<Vec<ProgramStep>>,
    pub(super) step: Duration,
}

impl LocpartRun {
    fn seconds(&self, from: usize) -> f64 {
        self.step.as_secs_f64() * (self.moments[0].len() - from) as f64
    }

    /// Requests per second in the last step, their number, and their tail.
    pub(super) fn answered(&self) -> (f64, u64, Duration) {
        let last = self.moments[0].last().expect("a step");
        let tail = last.tail.expect("requests that were answered");
        (last.requests as f64 / self.step.as_secs_f64(), last.requests, tail)
    }

    /// Instructions per second from a step on, on the chip's clock.
    pub(super) fn instructions(&self, job: usize, from: usize) -> f64 {
        let counted = self.moments[job][from..].iter().map(|moment| moment.counted.instructions);
        counted.sum::<u64>() as f64 / self.seconds(from)
    }

    /// When each step ends, in seconds, and a value of the step.
    pub(super) fn points(
        &self,
        job: usize,
        value: impl Fn(&ProgramStep) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        let end = |step: usize| self.step.as_secs_f64() * (step + 1) as f64;
        let moments = self.moments[job].iter().enumerate();
        moments.filter_map(|(step, moment)| Some((end(step), value(moment)?))).collect()
    }
}

/// The time `ms` milliseconds after the beginning.
pub(super) fn at_ms(ms: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(ms))
}
