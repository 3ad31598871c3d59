//! The settings of `fairways simulate`, from checked flags.

use fairways_command_kit::BadInput;
use fairways_core::{Policy, Ways};
use fairways_lab::{BestStatic, ComparisonSettings, OPTIMUM, Protocol};
use fairways_policy::by_name;
use fairways_profiles::{Mix, ProgramCatalog};

use crate::args::suits;
use crate::args::{Machine, Simulate};
use crate::world::World;

/// A comparison that can be made.
pub(super) struct Checked {
    world: World,
    pub(super) mixes: Vec<Mix>,
    pub(super) policies: Vec<&'static str>,
    pub(super) how: How,
}

/// How policies are compared.
pub(super) enum How {
    /// By the model's score of their plans.
    Score(ComparisonSettings),
    /// By the programs' speed over time.
    Live(Box<fairways_model::Settings>, Protocol),
}

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Simulate) -> Result<Self, BadInput> {
        let world = World::new(&args.world)?;
        let policies = args.policies.0.clone();
        suits::check("--policies", &policies, &Machine::Model, args.dynamic)?;
        if args.world.baselines.is_some() {
            suits::check_baselines("--policies", &policies)?;
        }
        let how = how(args, &world);
        let mixes = world.mixes(&args.mix, args.mixes.as_deref(), args.dynamic)?;
        world.warn(&mixes, &policies);
        Ok(Self { world, mixes, policies, how })
    }

    pub(super) fn programs(&self) -> &ProgramCatalog {
        self.world.programs()
    }

    /// The policies, which start afresh for this mix.
    pub(super) fn policies(&self, mix: &Mix) -> anyhow::Result<Vec<Box<dyn Policy>>> {
        let table = self.programs().table();
        let policy = |&name: &&'static str| -> anyhow::Result<Box<dyn Policy>> {
            if name != OPTIMUM {
                return Ok(by_name(name).expect("a name that was looked up"));
            }
            let phased = mix.programs.iter().find(|&&program| program >= table.names().len());
            if let Some(&program) = phased {
                let name = self.programs().name(program);
                let said = format!(
                    "mix {}: expected programs without phases for the policy optimum, found {name:?}",
                    mix.name
                );
                return Err(BadInput(said).into());
            }
            let World { llc, bandwidth, .. } = self.world;
            let best = BestStatic::new(table, &mix.programs, llc, bandwidth);
            Ok(Box::new(best.map_err(|why| BadInput(format!("mix {}: {why}", mix.name)))?))
        };
        self.policies.iter().map(policy).collect()
    }

    pub(super) fn ways(&self) -> Ways {
        self.world.llc.ways
    }
}

fn how(args: &Simulate, world: &World) -> How {
    if !args.dynamic {
        let (bandwidth, wishes) = (world.bandwidth, world.wishes.clone());
        return How::Score(ComparisonSettings { llc: world.llc, bandwidth, wishes });
    }
    let usual = Protocol::default();
    let protocol = Protocol {
        profiles_known: args.known_profiles,
        wishes: world.wishes.clone(),
        instructions: args.instructions.unwrap_or(usual.instructions),
        completions: args.completions.unwrap_or(usual.completions),
        scale: args.time_scale.unwrap_or(usual.scale),
    };
    How::Live(Box::new(world.machine(&args.observation)), protocol)
}
