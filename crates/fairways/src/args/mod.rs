//! The commands and flags, and the values that each accepts.

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
#[cfg(test)]
mod tests;
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

/// The most ways that a mask has room for: one per bit.
const MOST_WAYS: u32 = 32;
/// More instructions than any program runs: weeks of them.
pub(crate) const ENDLESS: u64 = 1_000_000_000_000_000;

/// Reads a number of ways.
fn ways(text: &str) -> Result<Ways, String> {
    let ways = whole(1, MOST_WAYS)(text)?;
    Ways::new(ways).ok_or_else(|| format!("expected up to {MOST_WAYS} ways, found {text:?}"))
}

/// What to begin with, by purpose.
pub(crate) const EXAMPLES: &str = "\
See what happens, on any computer:
  fairways simulate                        compare policies on embedded profiles
  fairways profile -- gzip -k big.tar      measure a program by number of ways
  fairways optimum --mix triad,hash-join   find the fairest plan there can be

On this server:
  fairways doctor                          check what this host supports
  fairways scan                            list the programs that use the cache
  fairways run --config fairways.toml      share the cache, until Ctrl-C
  fairways trial --config fairways.toml    measure whether that helps
  fairways top                             watch programs and their ways

Research:
  fairways paper lfoc --quick              repeat a paper's experiments
  fairways policies dcat                   show a policy and its parameters
  fairways report results.json             show results as a page of HTML";

/// Fair shares of the last-level cache.
///
/// Programs that run side by side on a multicore chip compete for its last-level cache. Fairways
/// decides which program may fill which ways of it, under the policy that you choose.
#[derive(Debug, Parser)]
#[command(
    version = env!("FAIRWAYS_VERSION"),
    arg_required_else_help = true,
    after_help = format!("{EXAMPLES}\n\n{}", fairways_command_kit::exit::HELP)
)]
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
    /// Stand for a simulated program in the table of processes
    #[command(hide = true)]
    Placeholder {
        /// The program's name
        #[arg(allow_hyphen_values = true)]
        name: String,
    },
    /// Unmount after an emulator that was killed
    #[command(hide = true)]
    Guardian {
        /// Where it was mounted
        dir: PathBuf,
        /// Its socket
        socket: PathBuf,
        /// The device of its mount
        device: String,
    },
    /// Print a completion script for a shell
    ///
    /// Examples:
    ///   fairways completions bash > /usr/share/bash-completion/completions/fairways
    ///   fairways completions fish > ~/.config/fish/completions/fairways.fish
    #[command(verbatim_doc_comment)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages to a folder, or print fairways(1)
    ///
    /// Examples:
    ///   fairways man | man -l -
    ///   fairways man /usr/local/share/man
    #[command(verbatim_doc_comment)]
    Man {
        /// The folder, in which the pages go to man1 and man5; created if missing [default: print
        /// fairways(1)]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Print all commands and flags as one page of Markdown instead
        #[arg(long, hide = true, conflicts_with = "dir")]
        markdown: bool,
    },
}

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
    #[arg(long, value_name = "N", help_heading = "Over time", requires = "dynamic",
        value_parser = whole(1, ENDLESS))]
    pub(crate) instructions: Option<u64>,

    /// End a mix when every program has finished this many times [default: 3, as in LFOC §5]
    #[arg(long, value_name = "N", help_heading = "Over time", requires = "dynamic",
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

/// Find the best plan for a mix of programs, exactly
///
/// Examples:
///   fairways optimum --mix triad,hash-join,btree-lookup,chess --ways 11
///   fairways optimum --mix triad,hash-join --objective stp --kind partitioning
///   fairways optimum --mixes mixes.txt --time-limit 60 --json
///
/// Plans are scored by the static model that `simulate` uses. The search assumes
/// nothing about the shape of the profiles. If --time-limit ends a search early, it
/// prints the best plan so far, and a bound on how much better the best can be.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Optimum {
    /// Profiles of programs, as CSV [default: the embedded ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// A mix, as the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C")]
    pub(crate) mix: Vec<Names>,

    /// A file of mixes, one a line: its name, then its programs
    #[arg(long, value_name = "FILE")]
    pub(crate) mixes: Option<PathBuf>,

    /// Ways of the cache, at most as many as the profiles have [default: as many]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Whether programs may share ways
    #[arg(long, value_name = "KIND", default_value = "clustering")]
    pub(crate) kind: Kind,

    /// What to optimize
    #[arg(long, value_name = "OBJECTIVE", default_value = "unfairness")]
    pub(crate) objective: Objective,

    /// The most clusters, such as the number of classes of service
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clusters_max: u32,

    /// The fewest ways that a cluster may have
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// Memory bandwidth, in MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) bandwidth_mbps: Option<f64>,

    /// What happens when programs need more than the memory bandwidth
    #[arg(long, value_name = "MODEL", default_value = "simple", requires = "bandwidth_mbps")]
    pub(crate) bandwidth_model: Model,

    /// Seconds per mix after which the search ends with the best plan so far; needed for more
    /// programs than can be searched exactly [default: no limit]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = real(0.0, 1e9))]
    pub(crate) time_limit: Option<f64>,

    /// Threads to search with, which do not change the answer [default: as many as CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1, 1024_usize))]
    pub(crate) threads: Option<usize>,

    /// Seed for drawing mixes if none are named; the same seed draws the same mixes
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print one JSON object instead of tables (docs/optimum.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Every program has ways of its own
    Partitioning,
    /// Programs may share ways
    Clustering,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Objective {
    /// Lowest unfairness
    Unfairness,
    /// Highest STP
    Stp,
    /// Lowest slowdown of the program that is slowed most
    MaxSlowdown,
    /// Lowest ANTT
    Antt,
}

/// Feed a journal's events to its policy again, and compare its actions
///
/// Examples:
///   fairways replay run.journal
///   fairways replay run.journal --json
///
/// If an action differs from the journal, the first difference is printed, and the
/// exit code is 1.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Replay {
    /// A journal that `fairways run --journal` wrote; its finished parts (FILE.0, ...) are read
    /// first
    #[arg(value_name = "FILE")]
    pub(crate) journal: PathBuf,

    /// Print one JSON object instead of text (docs/journal.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Programs, and the simulated machine on which they run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a simulated machine")]
pub(crate) struct World {
    /// Profiles of programs, as CSV [default: the embedded ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases, each phase with one of the profiles, as CSV (docs/profiles.md)
    /// [default: embedded ones, or none with --profiles]
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Ways of the cache, at most as many as the profiles have [default: as many]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Classes of service of the cache, which limit the number of clusters
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clos: u32,

    /// The fewest ways that a cluster may have
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// Size in MB of the cache on which the profiles were measured; over time, larger ways take
    /// longer to fill
    #[arg(long, value_name = "X", default_value = "27.5", allow_negative_numbers = true,
        value_parser = real(0.001, 1e6))]
    pub(crate) llc_mb: f64,

    /// Memory bandwidth, in MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) bandwidth_mbps: Option<f64>,

    /// What happens when programs need more than the memory bandwidth
    #[arg(long, value_name = "MODEL", default_value = "simple", requires = "bandwidth_mbps")]
    pub(crate) bandwidth_model: Model,

    /// Ways promised to programs: `static` gives them exactly these, `dcat` at least these
    #[arg(long, value_name = "PROGRAM=WAYS,...",
        value_parser = pairs("PROGRAM=WAYS", whole(1, MOST_WAYS)))]
    pub(crate) baselines: Option<Pairs<u32>>,

    /// Seed for drawing mixes if none are named, and for everything random over time; the same
    /// seed gives the same results
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,
}

/// The values without any flag.
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

/// Errors with which a machine over time is observed.
#[derive(Debug, clap::Args)]
pub(crate) struct Observation {
    /// Error of each reading of a counter, in percent at most [default: 0]
    #[arg(long, value_name = "PERCENT", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "0", hide_default_value = true, value_parser = real(0.0, 50.0))]
    pub(crate) noise: f64,

    /// Share of windows that are lost, in percent [default: 0]
    #[arg(long, value_name = "PERCENT", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "0", hide_default_value = true, value_parser = real(0.0, 100.0))]
    pub(crate) lost: f64,

    /// How many times longer a window is than requested [default: 1]
    #[arg(long, value_name = "X", help_heading = "Over time", allow_negative_numbers = true,
        default_value = "1", hide_default_value = true, value_parser = real(1.0, 1000.0))]
    pub(crate) overshoot: f64,
}

/// Repeat a paper's experiments, and compare the results with its claims
///
/// Examples:
///   fairways paper lfoc --quick
///   fairways paper dcat --out figures
///   fairways paper all --json > papers.json
///
/// Each figure, table and number of the paper is a row: the published value, the
/// band within which a value counts as the same (set before anything was measured),
/// the measured value, and whether it lies within the band.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Paper {
    /// The paper
    pub(crate) name: Name,

    /// Profiles of programs, as CSV [default: the embedded ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases, each phase with one of the profiles, as CSV (docs/profiles.md)
    /// [default: embedded ones, or none with --profiles]
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Run fewer of the long experiments, and shorter runs
    #[arg(long)]
    pub(crate) quick: bool,

    /// Write the figures to this folder, as SVG; with `all`, to a folder in it for each paper
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Threads to run on [default: as many as CPUs]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1, 1024_usize))]
    pub(crate) threads: Option<usize>,

    /// Seed for drawing mixes; the same seed draws the same mixes
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print one JSON object per paper instead of a table (docs/paper.md)
    #[arg(long)]
    pub(crate) json: bool,
}

/// The papers whose experiments can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// All of them, one after the other
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
    /// The bandwidth of all programs is cut to fit, and their performance with it
    Simple,
    /// Memory is a shared server: only the cycles that wait for it increase
    Stalls,
}
