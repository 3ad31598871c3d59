//! The flags of `trial`.

use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{repeated, time};
use fairways_exec_policy::policies::{SharedParameters, is_program};
use fairways_policy::{Descriptor, descriptor};

use super::{DecideFlags, PolicyName};
use crate::trial::{ComparedPolicies, RunningTrial};

/// How a trial is done.
#[derive(Clone, Debug, clap::Args)]
pub struct TrialFlags {
    /// Compare these policies, A,B,C, in one trial, in place of --policy
    ///
    /// A policy that is a program (exec:COMMAND) is not among them. Parameters of --set go to the
    /// policies that have them.
    #[arg(
        long,
        value_name = "A,B,C",
        value_delimiter = ',',
        value_parser = PolicyName,
        hide_possible_values = true,
        conflicts_with = "policy",
        help_heading = None::<&'static str>
    )]
    pub policies: Option<Vec<String>>,

    /// How long each policy decides before the first block
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, help_heading = "The trial")]
    pub learn: Duration,

    /// Length of a block
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "The trial")]
    pub block: Duration,

    /// Print one JSON object at the end (docs/trial.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub json: bool,
}

impl TrialFlags {
    /// The trial, whose blocks are in the order that `seed` draws. The first of several policies is
    /// the one that decides from now on, with its parameters; `gives_profiles` says whether a
    /// policy that can learn gets the profiles that the machine reports.
    ///
    /// # Errors
    /// If a flag has a value that no trial can have.
    pub fn prepared(
        &self,
        decide: &mut DecideFlags,
        seed: u64,
        gives_profiles: bool,
    ) -> Result<RunningTrial, BadInput> {
        let compared = match &self.policies {
            None => None,
            Some(names) => {
                check(names)?;
                let all: Vec<&str> = names.iter().map(String::as_str).collect();
                let parameters = SharedParameters::new(&decide.set, &all)?;
                let first = descriptor(&names[0]);
                decide.set.retain(|set| first.is_some_and(|of| of.parameter(&set.name).is_some()));
                decide.policy = Some(names[0].clone());
                Some(ComparedPolicies { names: names.clone(), parameters, gives_profiles })
            }
        };
        RunningTrial::new(self.learn, self.block, decide.duration, seed, compared)
    }
}

/// Checks the names of policies to compare.
fn check(names: &[String]) -> Result<(), BadInput> {
    let why = if let Some(twice) = repeated(names) {
        format!("expected each policy once, found {twice} twice")
    } else if let Some(program) = names.iter().find(|name| is_program(name)) {
        format!("expected policies that are no programs, found {program}; --policy takes one")
    } else if let Some(other) =
        names.iter().find(|name| descriptor(name).is_some_and(Descriptor::schedules))
    {
        format!("expected policies that give out ways, found {other}")
    } else {
        return Ok(());
    };
    Err(BadInput(format!("--policies: {why}")))
}
