//! The flags of a trial.

use std::time::Duration;

use fairways_command_kit::input::time;

use super::Run;

/// Try a policy for a while, and say whether it helps
///
/// The policy decides for a while (--learn). Then what it decided is switched on and off in blocks (--block), two and two in an order
/// that is drawn, for --duration in all; programs keep what they have in a block. In the end everything is put back, and each
/// program's IPC, misses, traffic and, of a service, tail latency are compared, with 95 % confidence intervals. Takes the flags of
/// `fairways run` (docs/trial.md).
///
/// Examples:
///   fairways trial --program web=unit:nginx.service --program 'batch=process:make'
///   fairways trial --policy dcat --duration 30m --json > trial.json
///   fairways trial --machine chip:xeon-d --programs mlr:500K,mload:60M --time-scale 0.1
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Trial {
    #[command(flatten)]
    pub(crate) run: Run,

    /// How long the policy decides by itself before the first block
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, help_heading = "The trial")]
    pub(crate) learn: Duration,

    /// How long a block is
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, help_heading = "The trial")]
    pub(crate) block: Duration,
}
