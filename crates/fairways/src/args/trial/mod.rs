//! The flags of a trial.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::time;
use fairways_trial::RunningTrial;

use super::Run;

/// Try a policy for a while, and measure whether it helps
///
/// Examples:
///   fairways trial --program web=unit:nginx.service --program batch=process:make
///   fairways trial --policy dcat --duration 30m --json > trial.json
///   fairways trial --machine chip:xeon-d --programs mlr:500K,mload:60M --time-scale 0.1
///
/// First the policy decides for a while (--learn). Then its plan is switched on and
/// off in blocks (--block) until --duration is over; each pair of blocks is in
/// random order, and programs keep their ways during a block. Finally all changes
/// are undone, and each program's IPC, misses, traffic and (for a service) tail
/// latency with and without the plan are compared, with 95 % confidence intervals.
/// Takes the flags of `fairways run` (docs/trial.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trial {
    #[command(flatten)]
    pub(crate) run: Run,

    /// How long the policy decides before the first block
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, help_heading = "The trial")]
    pub(crate) learn: Duration,

    /// Length of a block
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "The trial")]
    pub(crate) block: Duration,
}

impl Trial {
    /// Runs the command; everything is checked before anything happens.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (trial, json) = (self.prepared()?, self.run.json);
        let tried = match &self.run.machine {
            Some(machine) => {
                crate::run::tried(self.run.of.simulated(machine)?, &trial, trial.takes())?
            }
            None => fairways_daemon::tried(&self.run.options(), Box::new(trial.clone()))?,
        };
        trial.print(tried, json, out)
    }

    fn prepared(&self) -> Result<RunningTrial, BadInput> {
        let Self { run: Run { of, .. }, learn, block } = self;
        RunningTrial::new(*learn, *block, of.duration, of.world.seed)
    }
}
