//! Flags of `fairways simulate`.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{real, time, whole};

use super::{ChipFlags, ENDLESS, Machine, Names, Observation, PolicyNames, World};

/// Compare policies on mixes of programs
///
/// Examples:
///   fairways simulate
///   fairways simulate --mix triad,hash-join,chess --policies stock,ucp,lfoc
///   fairways simulate --dynamic --mix triad,hash-join,btree-lookup,field-solver
///
/// Scores the plan of each policy for each mix. Slowdowns come from the
/// programs' profiles, by the published PBBCache model; from them follow
/// unfairness (the largest slowdown over the smallest), STP (the sum of
/// 1 / slowdown) and ANTT (the mean slowdown). Without arguments it compares
/// policies on twelve mixes of the embedded profiles.
///
/// With --dynamic, programs run over time, finish and start again, and policies
/// that can learn do not get their profiles.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) world: World,

    /// The machine: model (the analytic model, from profiles) or a chip that executes programs,
    /// such as chip:xeon-e5 (docs/chip.md) [default: model]
    #[arg(long, value_name = "MACHINE", help_heading = None::<&'static str>)]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// Run programs this long before counting begins, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) warm_up: Duration,

    /// Count for this long, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) duration: Duration,

    /// A mix, as the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C", help_heading = None::<&'static str>)]
    pub(crate) mix: Vec<Names>,

    /// A file of mixes, one a line: its name, then its programs
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub(crate) mixes: Option<PathBuf>,

    /// Policies to compare, in the order to show them: those that `fairways policies` lists
    /// (locpart, casc and cache-fair only on a chip), and optimum, the fairest plan there can be
    #[arg(
        long,
        value_name = "A,B,C",
        default_value = "stock,equal,ucp,ucp-slowdown,yu-petrov,lfoc",
        help_heading = None::<&'static str>
    )]
    pub(crate) policies: PolicyNames,

    /// Run the programs over time, instead of scoring the policies' plans
    #[arg(long, help_heading = "Over time")]
    pub(crate) dynamic: bool,

    /// Instructions after which a program finishes [default: 150000000000, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time",
        value_parser = whole(1, ENDLESS))]
    pub(crate) instructions: Option<u64>,

    /// End a mix when every program has finished this many times [default: 3, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time",
        value_parser = whole(1, 1000_u32))]
    pub(crate) completions: Option<u32>,

    /// Multiply the length of runs and phases by X. 0.1 is quick, but sampling then costs ten times
    /// as much; on a chip, everything that the policy sees takes a tenth of the time [default: 1]
    #[arg(long, value_name = "X", help_heading = "Over time", value_parser = real(1e-6, 1e6))]
    pub(crate) time_scale: Option<f64>,

    /// Give the profiles also to policies that can learn
    #[arg(long, help_heading = "Over time")]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,

    /// Print one JSON object instead of tables (docs/simulate.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub(crate) json: bool,
}
