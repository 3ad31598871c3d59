//! The flags, and what they must be.

mod belongs;
mod chip;
mod daemon;
mod emulate;
mod host;
mod lists;
mod parsed;
mod policies;
mod profile;
mod report;
mod run;
mod scan;
mod top;
mod trial;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fairways_command_kit::input::{above_zero, real, time, whole};
use fairways_core::Ways;

pub(crate) use chip::{
    ChipFlags, ChipPreset, How, Machine, Pages, Placement, SchedulingClass, TimeScale,
};
pub(crate) use daemon::{Explain, HostFlags, Restore, Status, set};
pub(crate) use emulate::{Asked, Emulate, Emulated, OnOff, Pacing};
pub(crate) use host::{AskedOfConfig, Config, Doctor, Export};
use lists::pairs;
pub(crate) use lists::{Names, Pairs};
pub(crate) use parsed::{one_line, parsed};
pub(crate) use policies::{Policies, PolicyNames};
pub(crate) use profile::Profile;
pub(crate) use report::Report;
pub(crate) use run::{Run, RunFlags};
pub(crate) use scan::Scan;
pub(crate) use top::Top;
pub(crate) use trial::Trial;

/// As many ways as a mask has bits.
const MOST_WAYS: u32 = 32;
/// No program runs more instructions: weeks of them.
pub(crate) const ENDLESS: u64 = 1_000_000_000_000_000;

/// A number of ways.
fn ways(text: &str) -> Result<Ways, String> {
    let ways = whole(1, MOST_WAYS)(text)?;
    Ways::new(ways).ok_or_else(|| format!("expected up to {MOST_WAYS} ways, found {text:?}"))
}

/// Fair shares of the last-level cache.
///
/// Programs that run side by side on a multicore chip fight over its last-level cache. Fairways
/// decides who may fill which ways of it, under the policy of your choice.
#[derive(Debug, Parser)]
#[command(version = env!("FAIRWAYS_VERSION"), arg_required_else_help = true, after_help = fairways_command_kit::exit::HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(Box<Simulate>),
    Scan(Scan),
    Run(Box<Run>),
    Trial(Box<Trial>),
    Status(Status),
    Top(Box<Top>),
    Explain(Explain),
    Restore(Restore),
    Replay(Replay),
    Optimum(Box<Optimum>),
    Policies(Policies),
    Profile(Box<Profile>),
    Paper(Paper),
    Report(Report),
    Emulate(Box<Emulate>),
    Emulated(Emulated),
    Doctor(Doctor),
    Config(Config),
    Export(Export),
    /// Hold a simulated program's place
    #[command(hide = true)]
    Placeholder {
        /// The program
        #[arg(allow_hyphen_values = true)]
        name: String,
    },
    /// Unmount after an emulator that was killed
    #[command(hide = true)]
    Guardian {
        /// Where
        dir: PathBuf,
        /// Its socket
        socket: PathBuf,
        /// The device of its mount
        device: String,
    },
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages into man1 and man5 of a folder, or print fairways(1)
    Man {
        /// The folder; what is not there is made
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Print all commands and flags as one page of Markdown instead
        #[arg(long, hide = true, conflicts_with = "dir")]
        markdown: bool,
    },
}

/// Compare policies on mixes of programs, from profiles
///
/// Scores what each policy makes of each mix: slowdowns by the published PBBCache model, and from
/// them unfairness (the largest slowdown over the smallest), STP (the sum of 1 / slowdown) and ANTT
/// (the mean slowdown). Without arguments it runs the embedded profiles and twelve mixes of them.
///
/// With --dynamic the programs run on a machine with time in it, finish and start again, and
/// policies that can learn are told nothing of them beforehand.
#[derive(Debug, clap::Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) world: World,

    /// The machine: the analytic model, from profiles, or a chip that executes programs
    /// (chip:xeon-e5, say; docs/chip.md) [default: model]
    #[arg(long, value_name = "MACHINE", help_heading = None::<&'static str>)]
    pub(crate) machine: Option<Machine>,

    #[command(flatten)]
    pub(crate) chip: ChipFlags,

    /// How long programs run before anything is counted, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) warm_up: Duration,

    /// How long to count, on the policy's clock
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = time,
        help_heading = "On a chip")]
    pub(crate) duration: Duration,

    /// A mix: the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C", help_heading = None::<&'static str>)]
    pub(crate) mix: Vec<Names>,

    /// Mixes, one a line: a name, then its programs
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub(crate) mixes: Option<PathBuf>,

    /// Policies, in the order to show them: those that `fairways policies` lists (locpart, casc and
    /// cache-fair only on a chip), and optimum, the fairest partition there is
    #[arg(
        long,
        value_name = "A,B,C",
        default_value = "stock,equal,ucp,ucp-slowdown,yu-petrov,lfoc",
        help_heading = None::<&'static str>
    )]
    pub(crate) policies: PolicyNames,

    /// Let the programs run over time, instead of scoring what policies decide
    #[arg(long, help_heading = "Over time")]
    pub(crate) dynamic: bool,

    /// Instructions of a run [default: 150000000000, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time", requires = "dynamic",
        value_parser = whole(1, ENDLESS))]
    pub(crate) instructions: Option<u64>,

    /// Runs that every program completes before a mix ends [default: 3, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time", requires = "dynamic",
        value_parser = whole(1, 1000_u32))]
    pub(crate) completions: Option<u32>,

    /// Make runs and phases so many times as long: 0.1 is quick, and sampling then weighs ten
    /// times as much; on a chip, everything the policy knows takes a tenth of the time
    /// [default: 1]
    #[arg(long, value_name = "X", help_heading = "Over time", value_parser = real(1e-6, 1e6))]
    pub(crate) time_scale: Option<f64>,

    /// Tell policies that can learn the profiles too
    #[arg(long, help_heading = "Over time")]
    pub(crate) known_profiles: bool,

    #[command(flatten)]
    pub(crate) observation: Observation,

    /// Print one JSON object instead of tables (docs/simulate.md)
    #[arg(long, help_heading = None::<&'static str>)]
    pub(crate) json: bool,
}

/// Find the best way to share the cache, exactly
///
/// By the static model that `simulate` scores with. Nothing is assumed of the profiles. A search that
/// is cut short by --time-limit says what it found and how much better the best can be at most.
#[derive(Debug, clap::Args)]
pub(crate) struct Optimum {
    /// Profiles of programs, as CSV; the embedded ones without it
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// A mix: the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C")]
    pub(crate) mix: Vec<Names>,

    /// Mixes, one a line: a name, then its programs
    #[arg(long, value_name = "FILE")]
    pub(crate) mixes: Option<PathBuf>,

    /// Ways of the cache, at most as many as the profiles have [default: that many]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Whether programs may share ways
    #[arg(long, value_name = "KIND", default_value = "clustering")]
    pub(crate) kind: Kind,

    /// What is best
    #[arg(long, value_name = "OBJECTIVE", default_value = "unfairness")]
    pub(crate) objective: Objective,

    /// The most clusters, such as the cache has classes of service
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clusters_max: u32,

    /// The fewest ways a cluster may own
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// Memory bandwidth, MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) bandwidth_mbps: Option<f64>,

    /// What happens when programs want more bandwidth than there is
    #[arg(long, value_name = "MODEL", default_value = "simple", requires = "bandwidth_mbps")]
    pub(crate) bandwidth_model: Model,

    /// Seconds after which the best found has to do, a mix; more programs than can be searched
    /// exactly need one [default: none]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = real(0.0, 1e9))]
    pub(crate) time_limit: Option<f64>,

    /// Threads; the answer is the same [default: as many as there are processors]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1, 1024_usize))]
    pub(crate) threads: Option<usize>,

    /// Draws the mixes where none are named; the same seed draws the same
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print one JSON object instead of tables (docs/optimum.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Every program owns ways of its own
    Partitioning,
    /// Programs may share
    Clustering,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Objective {
    /// The least unfairness
    Unfairness,
    /// The highest STP
    Stp,
    /// The least largest slowdown
    MaxSlowdown,
    /// The least ANTT
    Antt,
}

/// Feed a journal's events to its policy again, and say whether it does the same
///
/// Exit code 1 and the first difference if it does not.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// The journal that `fairways run --journal` wrote; its finished parts (FILE.0, ...) are read
    /// first
    #[arg(value_name = "FILE")]
    pub(crate) journal: PathBuf,

    /// Print one JSON object (docs/journal.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Programs, and the machine on which they run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a simulated machine")]
pub(crate) struct World {
    /// Profiles of programs, as CSV; the embedded ones without it
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases made of the profiles, as CSV (docs/profiles.md); without --profiles and
    /// this there are embedded ones
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Ways of the cache, at most as many as the profiles have [default: that many]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Classes of service that the cache has: the most clusters there can be
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clos: u32,

    /// The fewest ways a cluster may own
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// MB of the cache that the profiles were measured on; over time, ways fill the slower the
    /// larger they are
    #[arg(long, value_name = "X", default_value = "27.5", allow_negative_numbers = true,
        value_parser = real(0.001, 1e6))]
    pub(crate) llc_mb: f64,

    /// Memory bandwidth, MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) bandwidth_mbps: Option<f64>,

    /// What happens when programs want more bandwidth than there is
    #[arg(long, value_name = "MODEL", default_value = "simple", requires = "bandwidth_mbps")]
    pub(crate) bandwidth_model: Model,

    /// Ways promised to programs, which `static` gives them and `dcat` guarantees
    #[arg(long, value_name = "PROGRAM=WAYS,...",
        value_parser = pairs("PROGRAM=WAYS", whole(1, MOST_WAYS)))]
    pub(crate) baselines: Option<Pairs<u32>>,

    /// Draws the mixes where none are named, and all that is random over time; the same seed gives
    /// the same
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,
}

/// As without a flag.
impl Default for World {
    fn default() -> Self {
        Self {
            profiles: None,
            phases: None,
            ways: None,
            clos: 16,
            min_bits: 1,
            llc_mb: 27.5,
            bandwidth_mbps: None,
            bandwidth_model: Model::Simple,
            baselines: None,
            seed: 1,
        }
    }
}

/// How well the machine over time can be observed.
#[derive(Debug, clap::Args)]
pub(crate) struct Observation {
    /// How far each reading of a counter may be off, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "0", hide_default_value = true, value_parser = real(0.0, 50.0))]
    pub(crate) noise: f64,

    /// How many windows are lost, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "0", hide_default_value = true, value_parser = real(0.0, 100.0))]
    pub(crate) lost: f64,

    /// How many times longer a window is than was asked for [default: 1]
    #[arg(long, value_name = "X", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "1", hide_default_value = true, value_parser = real(1.0, 1000.0))]
    pub(crate) overshoot: f64,
}

/// Repeat a paper's experiments, and compare what comes out with what it claims
///
/// Each of its figures, tables and numbers is a row: the published value, the band within which a value
/// counts as the same (set before anything was measured), ours, and whether ours lies within.
#[derive(Debug, clap::Args)]
pub(crate) struct Paper {
    /// The paper, or all of them
    pub(crate) name: Name,

    /// Profiles of programs, as CSV; the embedded ones without it
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases made of the profiles, as CSV (docs/profiles.md); without --profiles and
    /// this there are embedded ones
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Less of what takes long, and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,

    /// Write the figures to this folder, as SVG; those of all papers to a folder each in it
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1, 1024_usize))]
    pub(crate) threads: Option<usize>,

    /// Draws the mixes; the same seed draws the same
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print one JSON object a paper instead of a table (docs/paper.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The papers whose experiments are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Every one of them, one after the other
    All,
    /// Fedorova, Seltzer and Smith: the cache-fair scheduler
    CacheFair,
    /// Fedorova, Seltzer, Small and Nussbaum: the cache-aware scheduler
    Casc,
    /// Xu et al., EuroSys 2018
    Dcat,
    /// Garcia-Garcia et al., ICPP 2019
    Lfoc,
    /// Qin: latency-critical services beside batch programs
    Locpart,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Beyond the limit everybody's bandwidth is cut to fit, and performance with it
    Simple,
    /// Memory is a shared server, and only the cycles that wait for it grow
    Stalls,
}
