//! What `fairways-lab simulate` compares on the model.

use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_core::Policy;
use fairways_exec_policy::policies::SharedParameters;
use fairways_experiments::{BestStatic, ComparisonSettings, OPTIMUM, PlacedSettings, Protocol};
use fairways_profiles::{Mix, ProgramCatalog};
use fairways_simulation::World;

/// Policies to compare on mixes.
pub(crate) struct Comparison {
    pub(crate) world: World,
    pub(crate) mixes: Vec<Mix>,
    pub(crate) policies: Vec<&'static str>,
    pub(crate) set: SharedParameters,
    pub(crate) how: How,
}

/// How policies are compared.
pub(crate) enum How {
    /// By the model's score of their plans.
    Score(ComparisonSettings),
    /// The same on a machine with several caches, with the placement.
    ScorePlaced(PlacedSettings),
    /// The same of the plans that they have after this long on the model over time.
    ScoreSettled(ComparisonSettings, Box<fairways_model::Settings>, Duration),
    /// By the programs' speed over time.
    Live(Box<fairways_model::Settings>, Protocol),
}

impl Comparison {
    pub(super) fn programs(&self) -> &ProgramCatalog {
        &self.world.programs
    }

    /// The policies, which start afresh for this mix.
    pub(super) fn policies(&self, mix: &Mix) -> anyhow::Result<Vec<Box<dyn Policy>>> {
        let table = self.programs().table();
        let policy = |&name: &&'static str| -> anyhow::Result<Box<dyn Policy>> {
            if name != OPTIMUM {
                return Ok(self.set.make(name).expect("a name that was looked up"));
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
            let World { llc, bandwidth, ref levels, .. } = self.world;
            let best = BestStatic::new(table, &mix.programs, llc, bandwidth, levels);
            Ok(Box::new(best.map_err(|why| BadInput(format!("mix {}: {why}", mix.name)))?))
        };
        self.policies.iter().map(policy).collect()
    }
}
