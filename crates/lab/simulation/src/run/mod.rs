//! What runs on a simulated machine.

mod best;
mod journal;
mod machine;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Policy, Time, Ways};
use fairways_experiments::{ObservedChip, job};
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_profiles::Mix;
use fairways_record::journal::{Start, Writer};
use serde_json::{Value, json};

pub use best::{Alone, Best, Fare, run_until};
pub use journal::RunJournal;
pub use machine::Running;

use crate::chip;
use crate::world::World;

/// More instructions than any program runs: weeks of them.
pub const ENDLESS: u64 = 1_000_000_000_000_000;

/// A run on a simulated machine.
pub struct SimulatedRun {
    /// The machine and its programs.
    pub on: On,
    /// The policy, which starts afresh.
    pub policy: Box<dyn Policy>,
    /// All parameters of the policy.
    pub parameters: Value,
    /// How long it takes on the machine's clock.
    pub duration: Duration,
    /// After which a program finishes and starts again.
    pub instructions: u64,
    /// Whether the policy gets the profiles.
    pub known: bool,
}

/// The machine of a run.
pub enum On {
    /// The analytic model, a mix of profiles.
    Model {
        /// All programs, and the cache.
        world: Box<World>,
        /// Those that run.
        mix: Mix,
        /// The machine.
        settings: Box<Settings>,
    },
    /// A chip; its jobs have the profiles that the policy gets.
    Chip(Box<chip::World>),
}

impl SimulatedRun {
    /// The programs' names, in order.
    pub fn names(&self) -> Vec<String> {
        match &self.on {
            On::Model { world, mix, .. } => mix
                .programs
                .iter()
                .map(|&index: &usize| world.programs.name(index).to_owned())
                .collect(),
            On::Chip(world) => world.names.clone(),
        }
    }

    /// `model`, or a chip and its preset.
    pub fn kind(&self) -> String {
        match &self.on {
            On::Model { .. } => "model".to_owned(),
            On::Chip(world) => format!("chip:{}", world.preset),
        }
    }

    /// Size of a way in bytes.
    pub fn way_bytes(&self) -> f64 {
        match &self.on {
            On::Model { settings, .. } => settings.way_bytes,
            On::Chip(world) => world.settings.chip.way_bytes() as f64,
        }
    }

    /// The least time scale of the policy, as [`chip::World::least_scale`] has it.
    pub fn least_time_scale(&self) -> Option<f64> {
        match &self.on {
            On::Model { .. } => None,
            On::Chip(world) => world.least_scale(self.policy.name()),
        }
    }

    /// The ways of the last-level cache.
    pub fn ways(&self) -> Ways {
        match &self.on {
            On::Model { settings, .. } => settings.llc.ways,
            On::Chip(world) => world.settings.chip.llc.ways,
        }
    }

    /// Begins a journal of the run. `limits`: the size of a part, and how many parts are kept.
    pub fn journal(&self, path: &Path, limits: (u64, Option<u32>)) -> anyhow::Result<RunJournal> {
        let machine = match &self.on {
            On::Model { settings, .. } => {
                let Settings { llc, way_bytes, mhz, noise, lost, overshoot, seed, .. } = **settings;
                json!({
                    "kind": "model",
                    "llc": llc,
                    "way_bytes": way_bytes,
                    "mhz": mhz,
                    "noise": noise,
                    "lost": lost,
                    "overshoot": overshoot,
                    "seed": seed,
                    "programs": self.names(),
                })
            }
            On::Chip(world) => {
                let fairways_chip::Settings {
                    chip, set_sampling, time_scale, scheduler, seed, ..
                } = world.settings;
                let quantum = scheduler.map(|of| of.quantum.as_nanos());
                json!({
                    "kind": format!("chip:{}", world.preset),
                    "llc": chip.llc,
                    "way_bytes": chip.way_bytes(),
                    "mhz": chip.mhz,
                    "set_sampling": set_sampling,
                    "time_scale": 1.0 / f64::from(time_scale),
                    "cpus": chip.cpus(),
                    "quantum": quantum.and_then(|nanos| u64::try_from(nanos).ok()),
                    "scheduling_class": scheduler.map(|of| of.class.name()),
                    "seed": seed,
                    "programs": world.names,
                })
            }
        };
        let parameters = self.parameters.clone();
        let policy = self.policy.name();
        let writer = Writer::create(path, policy, parameters, machine, limits, Start::New)?;
        Ok(RunJournal::new(writer, self.names()))
    }

    /// The machine, with the programs on it: job `i` is program `i`.
    pub fn machine(&self) -> Running {
        let end = Time::ZERO.after(self.duration);
        let mut machine = match &self.on {
            On::Model { world, mix, settings } => {
                let programs = &world.programs;
                let jobs = mix.programs.iter().map(|&index| Job {
                    instructions: Some(self.instructions),
                    then: AfterRun::Restart,
                    wish: world.wishes.get(index).copied().unwrap_or_default(),
                    profile: self
                        .known
                        .then(|| Arc::new(programs.profile(index, self.instructions))),
                    ..job(programs, index, settings.llc.ways, 1.0)
                });
                Running::Model(Box::new(Model::new(**settings, jobs)))
            }
            On::Chip(world) => {
                let chip = ObservedChip::new(world.settings, self.chip_jobs());
                Running::Chip(Box::new(chip.expect("a chip that was tried")))
            }
        };
        machine.stop_at(end);
        machine
    }

    /// Lets programs run without an end.
    pub fn endless(&mut self) {
        self.instructions = ENDLESS;
    }

    /// Prints remarks for the user about real programs that have run.
    pub fn remark(&self) {
        if let On::Chip(world) = &self.on {
            world.remark();
        }
    }

    /// What runs on a chip; nothing on another machine. Services do not end.
    pub fn chip_jobs(&self) -> Vec<fairways_chip::Job> {
        let On::Chip(world) = &self.on else { return Vec::new() };
        let job = |job: &fairways_chip::Job| fairways_chip::Job {
            instructions: job.requests().is_none().then_some(self.instructions),
            ..job.clone()
        };
        world.jobs.iter().map(job).collect()
    }
}
