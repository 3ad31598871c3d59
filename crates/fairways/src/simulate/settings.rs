//! From flags to what is to be done, checked.

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{number, real, repeated};
use fairways_command_kit::policies::named;
use fairways_core::{Policy, Ways};
use fairways_lab::{BestStatic, ComparisonSettings, OPTIMUM, Protocol};
use fairways_policy::table::Request;
use fairways_policy::{by_name, descriptor};
use fairways_profiles::{Mix, Programs};

use crate::args::Simulate;
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
    /// By what they decide.
    Score(ComparisonSettings),
    /// By how the programs fare over time.
    Live(Box<fairways_model::Settings>, Protocol),
}

/// Why the model is not for a policy; nothing if it is.
pub(crate) fn refused_on_model(policy: &str) -> Option<&'static str> {
    let policy = descriptor(policy)?;
    if policy.schedules() {
        return Some(NO_TURNS);
    }
    policy.honours(Request::Objectives).then_some(NO_SERVICES)
}

const NO_SERVICES: &str = "it divides ways between services and batch programs, and on the model nobody answers requests: \
     expected --machine chip: and a preset with it";

const NO_TURNS: &str = "it decides who runs where and when, and the model gives every program a core of its own: \
     expected --machine chip: and a preset with it";

impl Checked {
    /// Reads the files and checks every flag.
    pub(super) fn new(args: &Simulate) -> Result<Self, BadInput> {
        if let Some(flag) = args.chip.given() {
            return Err(BadInput(format!("{flag}: expected --machine chip: and a preset with it")));
        }
        let world = World::new(&args.world)?;
        let policies = policies(&args.policies)?;
        let refused = |policy: &&'static str| Some((*policy, refused_on_model(policy)?));
        if let Some((policy, why)) = policies.iter().find_map(refused) {
            return Err(BadInput(format!("--policies {policy}: {why}")));
        }
        if args.world.baselines.is_some()
            && !policies
                .iter()
                .any(|name| fairways_command_kit::policies::honours(name, Request::Baselines))
        {
            let heeding =
                fairways_command_kit::policies::names(|policy| policy.honours(Request::Baselines));
            return Err(BadInput(format!(
                "--baselines: expected {heeding} among --policies, which alone heed them"
            )));
        }
        let how = how(args, &world)?;
        let mixes = world.mixes(&args.mix, args.mixes.as_deref(), args.dynamic)?;
        world.warn(&mixes, &policies);
        Ok(Self { world, mixes, policies, how })
    }

    pub(super) fn programs(&self) -> &Programs {
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

fn how(args: &Simulate, world: &World) -> Result<How, BadInput> {
    if !args.dynamic {
        let over_time = [
            ("--time-scale", args.time_scale.is_some()),
            ("--known-profiles", args.known_profiles),
        ];
        let given = over_time.iter().find(|(_, given)| *given).map(|(flag, _)| *flag);
        if let Some(flag) = given.or(args.observation.given()) {
            return Err(BadInput(format!("{flag}: expected --dynamic with it")));
        }
        if policies(&args.policies)?.contains(&"dcat") {
            let said = "--policies: dcat decides by what it sees running: expected --dynamic with it, \
                        or --machine chip:PRESET";
            return Err(BadInput(said.to_owned()));
        }
        let (bandwidth, wishes) = (world.bandwidth, world.wishes.clone());
        return Ok(How::Score(ComparisonSettings { llc: world.llc, bandwidth, wishes }));
    }
    let mut protocol = Protocol { profiles_known: args.known_profiles, ..Protocol::default() };
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

pub(crate) fn policies(names: &str) -> Result<Vec<&'static str>, BadInput> {
    let known = |name: &str| match name.trim() {
        OPTIMUM => Ok(OPTIMUM),
        name => named(name, "--policies"),
    };
    let policies = names.split(',').map(known);
    let policies: Vec<_> = policies.collect::<Result<_, _>>()?;
    match repeated(&policies) {
        Some(twice) => {
            Err(BadInput(format!("--policies: expected each policy once, found {twice} twice")))
        }
        None => Ok(policies),
    }
}
