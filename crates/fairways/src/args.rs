//! The flags, and what they must be.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Fair shares of the last-level cache.
///
/// Programs that run side by side on a multicore chip fight over its last-level cache. Fairways
/// decides who may fill which ways of it, under the policy of your choice.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(Box<Simulate>),
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Compare policies on mixes of programs, from profiles
///
/// Scores what each policy makes of each mix: slowdowns by the published PBBCache model, and from
/// them unfairness (the largest slowdown over the smallest), STP (the sum of 1 / slowdown) and ANTT
/// (the mean slowdown). Without arguments it runs the embedded profiles and twelve mixes of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Simulate {
    /// Profiles of programs, as CSV; the embedded ones without it
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// A mix: the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C")]
    pub(crate) mix: Vec<String>,

    /// Mixes, one a line: a name, then its programs
    #[arg(long, value_name = "FILE")]
    pub(crate) mixes: Option<PathBuf>,

    /// Ways of the cache, at most as many as the profiles have [default: that many]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) ways: Option<String>,

    /// Classes of service that the cache has: the most clusters there can be
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true)]
    pub(crate) clos: String,

    /// The fewest ways a cluster may own
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) min_bits: String,

    /// Memory bandwidth, MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub(crate) bandwidth_mbps: Option<String>,

    /// What happens when programs want more bandwidth than there is
    #[arg(long, value_name = "MODEL", default_value = "simple", requires = "bandwidth_mbps")]
    pub(crate) bandwidth_model: Model,

    /// Policies, in the order to show them: stock, equal, static, ucp, ucp-slowdown, yu-petrov, lfoc
    #[arg(
        long,
        value_name = "A,B,C",
        default_value = "stock,equal,ucp,ucp-slowdown,yu-petrov,lfoc"
    )]
    pub(crate) policies: String,

    /// Ways promised to programs, which `static` gives them
    #[arg(long, value_name = "PROGRAM=WAYS,...")]
    pub(crate) baselines: Option<String>,

    /// Draws the mixes where none are named; the same seed draws the same
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) seed: String,

    /// Print one JSON object instead of tables (docs/simulate.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Beyond the limit everybody's bandwidth is cut to fit, and performance with it
    Simple,
    /// Memory is a shared server, and only the cycles that wait for it grow
    Stalls,
}

/// A usage error in one line: what clap says, without its usage and its hints.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let said = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let said = said.map(str::trim).filter(|line| !line.is_empty());
    let hint = |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
    let said = said.filter(|line| !hint(line));
    said.collect::<Vec<_>>().join(" ")
}
