//! From flags to what is to be run, checked.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Policy, Time};
use fairways_lab::{draw_workloads, job, learns};
use fairways_model::{Job, Model, Settings, Then};
use fairways_profiles::{Mix, Programs};

use serde_json::{Value, json};

use crate::args::{Machine, Run};
use crate::journal::Writer;
use crate::world::{World, number, policy};
use crate::{BadInput, policies};

/// A run that can be made.
pub(super) struct Checked {
    world: World,
    pub(super) mix: Mix,
    pub(super) policy: Box<dyn Policy>,
    parameters: Value,
    pub(super) settings: Settings,
    duration: Duration,
    instructions: u64,
    known: bool,
    journal_limits: (u64, Option<u32>),
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Run) -> Result<Self, BadInput> {
        let Machine::Model = args.machine else {
            return Err(BadInput("--machine: expected model".to_owned()));
        };
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
        let (policy, parameters) = policies::make(name, policies::parse(&args.set)?)?;
        let known = args.known_profiles || !learns(name);
        let journal_size = size(&args.journal_size)?;
        let parts = args.journal_parts.as_ref();
        let journal_parts =
            parts.map(|text| number(text, "--journal-parts", 0, u32::MAX)).transpose()?;
        Ok(Self {
            world,
            mix,
            policy,
            parameters,
            settings,
            duration,
            instructions,
            known,
            journal_limits: (journal_size, journal_parts),
        })
    }

    pub(super) fn programs(&self) -> &Programs {
        self.world.programs()
    }

    /// A new journal of the run.
    pub(super) fn journal(&self, path: &Path) -> anyhow::Result<Writer> {
        let Settings { llc, way_bytes, mhz, noise, lost, overshoot, seed, .. } = self.settings;
        let programs: Vec<&str> =
            self.mix.programs.iter().map(|&index| self.programs().name(index)).collect();
        let machine = json!({
            "kind": "model",
            "llc": llc,
            "way_bytes": way_bytes,
            "mhz": mhz,
            "noise": noise,
            "lost": lost,
            "overshoot": overshoot,
            "seed": seed,
            "programs": programs,
        });
        let parameters = self.parameters.clone();
        Writer::create(path, self.policy.name(), parameters, machine, self.journal_limits)
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

/// So many bytes: a number, and K, M or G behind it.
fn size(text: &str) -> Result<u64, BadInput> {
    let (digits, unit) = match text.trim().char_indices().last() {
        Some((end, unit @ ('K' | 'M' | 'G'))) => (&text.trim()[..end], Some(unit)),
        _ => (text.trim(), None),
    };
    let shift = match unit {
        None => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some(_) => 30,
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
        BadInput(format!("--journal-size: expected a size such as 500K, 64M or 2G, found {text:?}"))
    })
}
