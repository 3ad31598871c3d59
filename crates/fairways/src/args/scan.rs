//! The flags of a scan.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{time, whole};

/// More monitoring ids than any processor has.
const MOST: usize = 4096;

/// List who uses the cache now, and print a configuration to begin with
///
/// Looks who uses the processor (pods, containers, units, other cgroups, and processes by their command), watches the busiest for a while, and
/// lists them by what they hold of the cache and move to and from memory. That takes resctrl with monitoring, in groups that are removed in
/// the end; without it, misses are counted by perf, and without that only the CPU time is known. No program's ways change.
///
/// Examples:
///   fairways scan
///   fairways scan --duration 1m --toml > /etc/fairways/fairways.toml
///   fairways scan --json | jq '.programs[] | .select'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Scan {
    /// How long to watch
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time)]
    pub(crate) duration: Duration,

    /// How many to watch, the busiest first: each takes a monitoring id
    #[arg(long, value_name = "N", default_value = "16", value_parser = whole(1, MOST))]
    pub(crate) most: usize,

    /// Print the configuration only
    #[arg(long, conflicts_with = "json")]
    pub(crate) toml: bool,

    /// Print one JSON object (docs/scan.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Where resctrl is mounted [default: /sys/fs/resctrl]
    #[arg(long, value_name = "DIR")]
    pub(crate) resctrl_root: Option<PathBuf>,

    /// Where to keep what `fairways restore` needs meanwhile [default: /var/lib/fairways]
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// The host is an emulator: list its programs, by its counters and its time
    #[arg(long)]
    pub(crate) emulator: bool,
}
