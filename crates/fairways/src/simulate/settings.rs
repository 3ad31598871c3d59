//! From flags to what is to be done, checked.

use fairways_core::Ways;
use fairways_lab::{Protocol, Settings, draw_mixes, draw_workloads};
use fairways_profiles::{Mix, Programs, read_mixes};

use crate::BadInput;
use crate::args::Simulate;
use crate::world::{self, World, number, policy, real, repeated, shown};

/// A comparison that can be made.
pub(super) struct Checked {
    world: World,
    pub(super) mixes: Vec<Mix>,
    pub(super) policies: Vec<&'static str>,
    pub(super) how: How,
}

/// How policies are compared.
pub(super) enum How {
    /// By what they decide.
    Score(Settings),
    /// By how the programs fare over time.
    Live(Box<fairways_model::Settings>, Protocol),
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Simulate) -> Result<Self, BadInput> {
        let world = World::new(&args.world)?;
        let policies = policies(&args.policies)?;
        if args.world.baselines.is_some() && !policies.contains(&"static") {
            let said = "--baselines: expected the policy static among --policies, which alone \
                        heeds them";
            return Err(BadInput(said.to_owned()));
        }
        let how = how(args, &world)?;
        let mixes = mixes(args, &world)?;
        Ok(Self { world, mixes, policies, how })
    }

    pub(super) fn programs(&self) -> &Programs {
        self.world.programs()
    }

    pub(super) fn ways(&self) -> Ways {
        self.world.llc.ways
    }
}

fn how(args: &Simulate, world: &World) -> Result<How, BadInput> {
    if !args.dynamic {
        if let Some(flag) = args.observation.given() {
            return Err(BadInput(format!("{flag}: expected --dynamic with it")));
        }
        let (bandwidth, wishes) = (world.bandwidth, world.wishes.clone());
        return Ok(How::Score(Settings { llc: world.llc, bandwidth, wishes }));
    }
    let mut protocol = Protocol { known: args.known_profiles, ..Protocol::default() };
    protocol.wishes.clone_from(&world.wishes);
    if let Some(text) = &args.instructions {
        protocol.instructions = number(text, "--instructions", 1, 1_000_000_000_000_000)?;
    }
    if let Some(text) = &args.completions {
        protocol.completions = number(text, "--completions", 1, 1000)?;
    }
    if let Some(text) = &args.time_scale {
        protocol.scale = real(text, "--time-scale", 1e-6, 1e6)?;
    }
    Ok(How::Live(Box::new(world.machine(&args.observation)?), protocol))
}

fn mixes(args: &Simulate, world: &World) -> Result<Vec<Mix>, BadInput> {
    let programs = world.programs();
    let mut mixes = Vec::new();
    for names in &args.mix {
        mixes.push(world.mix(names)?);
    }
    if let Some(path) = &args.mixes {
        let read = read_mixes(&world::read(path)?, &shown(path), |name| programs.find(name));
        mixes.extend(read.map_err(|error| BadInput(error.to_string()))?);
    }
    if let Some(twice) = repeated(mixes.iter().map(|mix| &mix.name)) {
        return Err(BadInput(format!(
            "--mix, --mixes: expected mixes of different names, found two {twice:?}"
        )));
    }
    if mixes.is_empty() {
        return Ok(if args.dynamic {
            draw_workloads(programs, world.llc.ways, 2, world.seed)
        } else {
            draw_mixes(programs.table(), world.llc.ways, world.seed)
        });
    }
    let constant = programs.table().names().len();
    let phased = mixes.iter().flat_map(|mix| &mix.programs).find(|&&program| program >= constant);
    match phased {
        Some(&program) if !args.dynamic => Err(BadInput(format!(
            "--mix, --mixes: expected --dynamic with {:?}, which has phases",
            programs.name(program)
        ))),
        _ => Ok(mixes),
    }
}

fn policies(names: &str) -> Result<Vec<&'static str>, BadInput> {
    let policies = names.split(',').map(|name| policy(name.trim(), "--policies"));
    let policies: Vec<_> = policies.collect::<Result<_, _>>()?;
    match repeated(&policies) {
        Some(twice) => {
            Err(BadInput(format!("--policies: expected each policy once, found {twice} twice")))
        }
        None => Ok(policies),
    }
}
