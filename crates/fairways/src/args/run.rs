//! The flags of a run.

use std::path::PathBuf;

use super::chip::machine;
use super::{ChipFlags, HostFlags, Machine, Observation, World};

/// Look after this host's programs under a policy; or run programs on a simulated machine
///
/// Without --machine, this host's programs get their ways under the policy through resctrl, until it
/// is told to stop (SIGINT or SIGTERM), and everything is put back. SIGHUP reads the configuration
/// anew.
///
/// With it, programs run on a simulated machine, the analytic model over time or a chip: they finish
/// and start again, and the policy is told nothing of them beforehand. What it makes of them is
/// reported as it happens, and how they fared in the end, beside the same without partitioning.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The machine: the analytic model, or a chip that executes programs (chip:xeon-e5, say;
    /// docs/chip.md) [default: this host]
    #[arg(long, value_name = "MACHINE", value_parser = machine)]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) host: HostFlags,

    #[command(flatten)]
    pub(crate) of: RunFlags,

    /// Write every event and action to this file, which `fairways replay` reads
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Begin a new part of the journal where one would grow beyond this: 500K, 64M, 2G [default: 256M]
    #[arg(long, value_name = "SIZE", requires = "journal")]
    pub(crate) journal_size: Option<String>,

    /// Keep so many finished parts of the journal, and delete older ones [default: 16 on a host, else all]
    #[arg(long, value_name = "N", requires = "journal", allow_negative_numbers = true)]
    pub(crate) journal_parts: Option<String>,

    /// Print one JSON object in the end, instead of a report as it goes (docs/run.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Report only how the programs fared in the end
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// After how many instructions a program finishes, where nothing else is said.
pub(crate) const INSTRUCTIONS: &str = "150000000000";

/// What runs, under which policy, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) world: World,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// On a chip, everything that the policy knows takes so much less time: 0.1, a tenth
    /// [default: 1]
    #[arg(long, value_name = "X", help_heading = "On a chip")]
    pub(crate) time_scale: Option<String>,

    /// The programs, by name [default: eight, drawn by --seed]
    #[arg(long, value_name = "A,B,C")]
    pub(crate) mix: Option<String>,

    /// The policy: stock, equal, static, ucp, ucp-slowdown, yu-petrov, dcat, dunn, kpart, lfoc,
    /// lfoc-plus, locpart (not on the model), or, on a chip, casc or cache-fair [default: lfoc, or what
    /// the configuration says]
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,

    /// A parameter of the policy; may be given more than once (docs/run.md lists them)
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,

    /// How long to run, on the machine's clock: 500ms, 60s, 2m [default: 60s; on this host, until told
    /// to stop]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// Instructions after which a program finishes and starts again; services run on
    #[arg(long, value_name = "N", default_value = INSTRUCTIONS, allow_negative_numbers = true)]
    pub(crate) instructions: String,

    /// Tell the policy the profiles
    #[arg(long)]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,
}
