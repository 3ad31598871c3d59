//! From flags to what is to be run, checked.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Policy, Time};
use fairways_lab::{draw_workloads, job, learns};
use fairways_model::{Job, Model, Settings, Then};
use fairways_profiles::{Mix, Programs};

use crate::BadInput;
use crate::args::{Machine, Run};
use crate::world::{World, number, policy};

/// A run that can be made.
pub(super) struct Checked {
    world: World,
    pub(super) mix: Mix,
    pub(super) policy: Box<dyn Policy>,
    pub(super) settings: Settings,
    duration: Duration,
    instructions: u64,
    known: bool,
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Run) -> Result<Self, BadInput> {
        let Machine::Model = args.machine;
        let world = World::new(&args.world)?;
        let name = policy(&args.policy, "--policy")?;
        if args.world.baselines.is_some() && name != "static" {
            let said = "--baselines: expected --policy static, which alone heeds them";
            return Err(BadInput(said.to_owned()));
        }
        let mix = match &args.mix {
            Some(names) => world.mix(names)?,
            None => draw_workloads(world.programs(), world.llc.ways, 1, world.seed).swap_remove(0),
        };
        let duration = humantime::parse_duration(args.duration.trim()).ok();
        let duration = duration.filter(|duration| !duration.is_zero()).ok_or_else(|| {
            let found = &args.duration;
            BadInput(format!(
                "--duration: expected a time such as 500ms, 60s or 2m, found {found:?}"
            ))
        })?;
        let most = 1_000_000_000_000_000;
        let instructions = number(&args.instructions, "--instructions", 1, most)?;
        let settings = world.machine(&args.observation)?;
        let policy = fairways_policy::by_name(name).expect("a name that was looked up");
        let known = args.known_profiles || !learns(name);
        Ok(Self { world, mix, policy, settings, duration, instructions, known })
    }

    pub(super) fn programs(&self) -> &Programs {
        self.world.programs()
    }

    /// The machine, with the mix's programs on it: job `i` is the mix's program `i`.
    pub(super) fn model(&self) -> Model {
        let programs = self.programs();
        let jobs = self.mix.programs.iter().map(|&index| Job {
            instructions: Some(self.instructions),
            then: Then::Restart,
            wish: self.world.wishes.get(index).copied().unwrap_or_default(),
            profile: self.known.then(|| Arc::new(programs.profile(index, self.instructions))),
            ..job(programs, index, self.settings.llc.ways, 1.0)
        });
        let mut model = Model::new(self.settings, jobs);
        model.stop_at(Time::ZERO.after(self.duration));
        model
    }
}
