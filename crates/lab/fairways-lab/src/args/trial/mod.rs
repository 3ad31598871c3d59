//! The flags of a trial.

#[cfg(test)]
mod tests;

use std::io::Write;

use fairways_command_kit::BadInput;
use fairways_verbs::args::TrialFlags;
use fairways_verbs::trial::RunningTrial;

use super::SimulatedFlags;
use super::run::MachineFlag;

/// Try a policy on a simulated machine, and measure whether it helps
///
/// Examples:
///   fairways-lab trial
///   fairways-lab trial --policies fairways,dcat,lfoc --duration 20m --json
///   fairways-lab trial --machine chip:xeon-d --programs mlr:8M,mload:60M --time-scale 0.04
///
/// First the policy decides for a while (--learn). Then its plan is switched on and
/// off in blocks (--block) until --duration is over; each pair of blocks is in
/// random order, and programs keep their ways during a block. Finally each program's
/// IPC, misses, traffic and (for a service) tail latency with and without the plan
/// are compared, with 95 % confidence intervals. With --policies, each policy decides
/// for a while, and each round of blocks has one for every plan. If no plan limits
/// any program, nothing was tried, and the exit code is 1 (docs/trial.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trial {
    #[command(flatten)]
    on: MachineFlag,

    #[command(flatten)]
    of: SimulatedFlags,

    #[command(flatten)]
    trial: TrialFlags,
}

impl Trial {
    /// Runs the command; everything is checked before anything happens.
    pub(crate) fn run(mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        let trial = self.prepared()?;
        let run = self.of.simulated_beside(&self.on.machine, trial.compared())?;
        let tried = crate::run::tried(run, &trial, trial.takes())?;
        trial.print(tried, self.trial.json, out)
    }

    /// The trial. The first of several policies is the run's from now on, with its parameters.
    fn prepared(&mut self) -> Result<RunningTrial, BadInput> {
        let Self { of, trial, .. } = self;
        trial.prepared(&mut of.decide, of.world.seed, of.known_profiles)
    }
}
