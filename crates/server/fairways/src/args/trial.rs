//! The flags of a trial.

use std::io::Write;

use fairways_command_kit::input::whole;
use fairways_verbs::args::TrialFlags;

use super::run::ManagedRun;

/// Try a policy for a while, and measure whether it helps
///
/// Examples:
///   fairways trial --program web=unit:nginx.service --program batch=process:make
///   fairways trial --config fairways.toml --duration 30m --json
///   fairways trial --config fairways.toml --policies fairways,dcat,lfoc
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
pub(crate) struct HostTrial {
    #[command(flatten)]
    managed: ManagedRun,

    #[command(flatten)]
    trial: TrialFlags,

    /// Seed for the order of the blocks
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX), help_heading = "The trial")]
    seed: u64,
}

impl HostTrial {
    /// Runs the command; everything is checked before anything happens.
    pub(crate) fn run(mut self, out: &mut dyn Write) -> anyhow::Result<()> {
        // A host reports only profiles that its configuration names.
        let trial = self.trial.prepared(&mut self.managed.decide, self.seed, true)?;
        let options = self.managed.options(None, self.trial.json);
        let tried = fairways_daemon::tried(&options, Box::new(trial.clone()))?;
        trial.print(tried, self.trial.json, out)
    }
}
