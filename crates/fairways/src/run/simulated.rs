//! The settings of a run, from checked flags.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairways_command_kit::{BadInput, policies};
use fairways_core::{Policy, Time, Ways};
use fairways_lab::{ObservedChip, draw_workloads, job, profile};
use fairways_model::{AfterRun, Job, Model, Settings};
use fairways_policy::table::KnowledgeSource;
use fairways_profiles::Mix;
use fairways_record::journal::{Start, Writer};
use serde_json::{Value, json};

use super::machine::Running;
use crate::args::suits;
use crate::args::{ChipPreset, ENDLESS, Machine, RunFlags, TimeScale};
use crate::chip;
use crate::world::World;

/// How long a run takes where no flag says so.
const DURATION: Duration = Duration::from_secs(60);

/// A run that can be made.
pub(super) struct Checked {
    pub(super) on: On,
    pub(super) policy: Box<dyn Policy>,
    parameters: Value,
    duration: Duration,
    instructions: u64,
    known: bool,
}

/// The machine of a run.
pub(super) enum On {
    /// The analytic model, a mix of profiles.
    Model { world: Box<World>, mix: Mix, settings: Box<Settings> },
    /// A chip; its jobs have the profiles that the policy gets.
    Chip(Box<chip::World>),
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(machine: &Machine, args: &RunFlags) -> Result<Self, BadInput> {
        let name = args.policy.map_or("lfoc", |policy| policy.name);
        suits::check("--policy", &[name], machine, true)?;
        if args.world.baselines.is_some() {
            suits::check_baselines("--policy", &[name])?;
        }
        let duration = args.duration.unwrap_or(DURATION);
        let instructions = args.instructions;
        let (policy, parameters) = policies::make(name, policies::parameters(&args.set)?)?;
        let known = args.known_profiles || !policies::known(name)?.learns();
        let on = match machine {
            Machine::Model => on_model(args, name)?,
            Machine::Chip(preset) => On::Chip(Box::new(on_chip(args, preset, name, known)?)),
        };
        Ok(Self { on, policy, parameters, duration, instructions, known })
    }

    /// The programs' names, in order.
    pub(super) fn names(&self) -> Vec<String> {
        match &self.on {
            On::Model { world, mix, .. } => mix
                .programs
                .iter()
                .map(|&index: &usize| world.programs().name(index).to_owned())
                .collect(),
            On::Chip(world) => world.names.clone(),
        }
    }

    /// `model`, or a chip and its preset.
    pub(super) fn kind(&self) -> String {
        match &self.on {
            On::Model { .. } => "model".to_owned(),
            On::Chip(world) => format!("chip:{}", world.preset),
        }
    }

    /// Size of a way in bytes.
    pub(super) fn way_bytes(&self) -> f64 {
        match &self.on {
            On::Model { settings, .. } => settings.way_bytes,
            On::Chip(world) => world.settings.chip.way_bytes() as f64,
        }
    }

    pub(super) fn ways(&self) -> Ways {
        match &self.on {
            On::Model { settings, .. } => settings.llc.ways,
            On::Chip(world) => world.settings.chip.llc.ways,
        }
    }

    /// Begins a journal of the run. `limits`: the size of a part, and how many parts are kept.
    pub(super) fn journal(
        &self,
        path: &Path,
        limits: (u64, Option<u32>),
    ) -> anyhow::Result<Writer> {
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
        Writer::create(path, self.policy.name(), parameters, machine, limits, Start::New)
    }

    /// The machine, with the programs on it: job `i` is program `i`.
    pub(super) fn machine(&self) -> Running {
        let end = Time::ZERO.after(self.duration);
        let mut machine = match &self.on {
            On::Model { world, mix, settings } => {
                let programs = world.programs();
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
    pub(super) fn endless(&mut self) {
        self.instructions = ENDLESS;
    }

    /// Prints remarks for the user about real programs that have run.
    pub(super) fn remark(&self) {
        if let On::Chip(world) = &self.on {
            world.remark();
        }
    }

    /// What runs on a chip; nothing on another machine. Services do not end.
    pub(super) fn chip_jobs(&self) -> Vec<fairways_chip::Job> {
        let On::Chip(world) = &self.on else { return Vec::new() };
        let job = |job: &fairways_chip::Job| fairways_chip::Job {
            instructions: job.requests().is_none().then_some(self.instructions),
            ..job.clone()
        };
        world.jobs.iter().map(job).collect()
    }
}

fn on_model(args: &RunFlags, policy: &str) -> Result<On, BadInput> {
    let world = Box::new(World::new(&args.world)?);
    let mix = match &args.mix {
        Some(names) => world.mix(names)?,
        None => draw_workloads(world.programs(), world.llc.ways, 1, world.seed).swap_remove(0),
    };
    let settings = Box::new(world.machine(&args.observation));
    world.warn(std::slice::from_ref(&mix), &[policy]);
    Ok(On::Model { world, mix, settings })
}

/// Measures the profiles first, if the policy gets them.
fn on_chip(
    args: &RunFlags,
    preset: &ChipPreset,
    name: &str,
    known: bool,
) -> Result<chip::World, BadInput> {
    let (scale, policy) = (args.time_scale.unwrap_or(TimeScale::ONE), policies::known(name)?);
    let mut world = chip::World::new(preset, &args.chip, scale, &args.world, policy.schedules())?;
    world.warn(&[name]);
    if known && (policy.learns() || policy.knows == KnowledgeSource::Profiles) {
        let half = args.chip.profile_time / 2;
        for job in &mut world.jobs {
            let measured = profile(world.settings, job, half, half);
            job.profile = Some(Arc::new(measured.map_err(|why| BadInput(why.to_string()))?));
        }
    }
    Ok(world)
}
