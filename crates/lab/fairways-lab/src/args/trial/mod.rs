//! The flags of a trial.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{repeated, time};
use fairways_exec_policy::policies::{SharedParameters, is_program};
use fairways_policy::{Descriptor, descriptor};
use fairways_verbs::trial::{ComparedPolicies, RunningTrial};

use super::Run;
use super::policies::PolicyName;

/// Try a policy for a while, and measure whether it helps
///
/// Examples:
///   fairways trial --program web=unit:nginx.service --program batch=process:make
///   fairways trial --config fairways.toml --policies fairways,dcat,lfoc
///   fairways trial --machine chip:xeon-d --programs mlr:500K,mload:60M --time-scale 0.1
///
/// First the policy decides for a while (--learn). Then its plan is switched on and
/// off in blocks (--block) until --duration is over; each pair of blocks is in
/// random order, and programs keep their ways during a block. Finally all changes
/// are undone, and each program's IPC, misses, traffic and (for a service) tail
/// latency with and without the plan are compared, with 95 % confidence intervals.
/// With --policies, each policy decides for a while, and each round of blocks has
/// one for every plan. If no plan limits any program, nothing was tried, and the
/// exit code is 1. Takes the flags of `fairways run` (docs/trial.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trial {
    #[command(flatten)]
    pub(crate) run: Run,

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
    pub(crate) policies: Option<Vec<String>>,

    /// How long each policy decides before the first block
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, help_heading = "The trial")]
    pub(crate) learn: Duration,

    /// Length of a block
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "The trial")]
    pub(crate) block: Duration,
}

impl Trial {
    /// Runs the command; everything is checked before anything happens.
    pub(crate) fn run(mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (trial, json) = (self.prepared()?, self.run.json);
        let tried = match self.run.machine.take() {
            Some(machine) => {
                let run = self.run.of.simulated_beside(&machine, trial.compared())?;
                crate::run::tried(run, &trial, trial.takes())?
            }
            None => fairways_daemon::tried(&self.run.options(), Box::new(trial.clone()))?,
        };
        trial.print(tried, json, out)
    }

    /// The trial. The first of several policies is the run's from now on, with its parameters.
    fn prepared(&mut self) -> Result<RunningTrial, BadInput> {
        let Self { run: Run { of, machine, .. }, policies, learn, block } = self;
        let compared = match &*policies {
            None => None,
            Some(names) => {
                check(names)?;
                let all: Vec<&str> = names.iter().map(String::as_str).collect();
                let parameters = SharedParameters::new(&of.set, &all)?;
                let first = descriptor(&names[0]);
                of.set.retain(|set| first.is_some_and(|of| of.parameter(&set.name).is_some()));
                of.policy = Some(names[0].clone());
                // A host reports only profiles that its configuration names.
                let gives_profiles = of.known_profiles || machine.is_none();
                Some(ComparedPolicies { names: names.clone(), parameters, gives_profiles })
            }
        };
        RunningTrial::new(*learn, *block, of.duration, of.world.seed, compared)
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
