//! Flags of `fairways-lab optimum`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ValueEnum, ValueHint};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{above_zero, real, whole};
use fairways_core::BandwidthLevel;
use fairways_optimum::{Goal, SharingKind};
use fairways_profiles::Mix;

use super::world::{Model, bandwidth, different, level};
use super::{CacheFlags, MOST_WAYS, format, plot_file, svg_file, use_threads, ways_of_profiles};
use crate::optimum::{self, Search};
use fairways_simulation::catalog::ProfileSource;
use fairways_simulation::{Names, World, cache, profile_needs};

/// Find the best plan for a mix of programs, exactly
///
/// Examples:
///   fairways-lab optimum --mix lbm,svm-train,cadical,gzip
///   fairways-lab optimum --mix lbm,xz --objective stp --bandwidth-mbps 9000 --json
///   fairways-lab optimum --mixes mixes.txt --time-limit 60 --json
///
/// Plans are scored by the static model that `simulate` uses. The search assumes
/// nothing about the shape of the profiles. If --time-limit ends a search early, it
/// prints the best plan so far, and a bound on how much better the best can be.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Optimum {
    /// Profiles of programs: skylake, broadwell or small (real programs), synthetic, or a CSV file
    ///
    /// skylake, broadwell and small are the real programs of the corpus, measured on 11 ways of 2.5
    /// MB, 20 ways of 2.25 MB and 32 ways of 48 KB. A file that has such a name needs ./ before it.
    #[arg(long, value_name = "PROFILES", default_value = "skylake",
        value_hint = ValueHint::FilePath)]
    pub(crate) profiles: ProfileSource,

    /// A mix, as the names of its programs; may be given more than once
    #[arg(long, value_name = "A,B,C")]
    pub(crate) mix: Vec<Names>,

    /// A file of mixes, one a line: its name, then its programs
    #[arg(long, value_name = "FILE")]
    pub(crate) mixes: Option<PathBuf>,

    /// Ways of the cache; with --caches of each: 16,6 [default: as many as the profiles have]
    ///
    /// At most as many as the profiles have.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_delimiter = ',',
        value_parser = ways_of_profiles)]
    pub(crate) ways: Vec<u32>,

    /// Whether programs may share ways
    #[arg(long, value_name = "KIND", default_value = "clustering")]
    pub(crate) kind: Kind,

    /// What to optimize
    #[arg(long, value_name = "OBJECTIVE", default_value = "unfairness")]
    pub(crate) objective: Objective,

    /// Percent by which unfairness or the largest slowdown may exceed the least: of the plans
    /// within, the one with the least of that over STP; only without a limit of memory bandwidth
    #[arg(long, value_name = "PERCENT", default_value = "0", allow_negative_numbers = true,
        value_parser = real(0.0, 100.0))]
    pub(crate) tolerance: f64,

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
    #[arg(long, value_name = "MODEL", default_value = "simple")]
    pub(crate) bandwidth_model: Model,

    /// Percents of the memory bandwidth to which a cluster may be limited: finds the best of these
    /// levels, too, for up to 8 programs [default: no limits]
    #[arg(long, value_name = "P,Q,...", allow_negative_numbers = true, value_delimiter = ',',
        value_parser = level)]
    pub(crate) bandwidth_levels: Vec<BandwidthLevel>,

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

    /// Draw each plan's ways and each program's slowdown to this file, as SVG
    #[arg(long, value_name = "FILE", value_parser = svg_file)]
    pub(crate) plot: Option<PathBuf>,

    /// Print one JSON object instead of tables (docs/optimum.md)
    #[arg(long)]
    pub(crate) json: bool,

    /// Print CSV instead: a row for each program of each mix
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    // Last: its heading would be that of the flags below.
    #[command(flatten)]
    pub(crate) caches: CacheFlags,
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

same!(Kind => SharingKind: Partitioning, Clustering);
same!(Objective => Goal: Unfairness, Stp, MaxSlowdown, Antt);

impl Optimum {
    /// Runs the command; everything is checked before anything is searched.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (world, mixes) = self.problem()?;
        use_threads(self.threads)?;
        let (kind, goal) = (self.kind.into(), self.objective.into());
        let tolerance = self.tolerance / 100.0;
        let search = Search { kind, goal, tolerance, time_limit: self.time_limit };
        let plot = plot_file(self.plot.as_deref())?;
        optimum::run(&world, mixes, &search, format(self.json, self.csv), plot, out)
    }

    /// Checks all that can be known beforehand.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.problem().map(drop)
    }

    fn problem(&self) -> anyhow::Result<(World, Vec<Mix>)> {
        let is_weighed = matches!(self.objective, Objective::Unfairness | Objective::MaxSlowdown);
        if self.tolerance > 0.0 && (!is_weighed || self.bandwidth_mbps.is_some()) {
            let what = "--tolerance: expected --objective unfairness or max-slowdown with it, and no \
                        --bandwidth-mbps";
            return Err(BadInput(what.to_owned()).into());
        }
        let programs = Arc::new(self.profiles.programs_to_score(None)?);
        if self.bandwidth_mbps.is_some() {
            profile_needs::check_limit("--bandwidth-mbps", programs.table())?;
        }
        let most = programs.table().ways();
        let refused = [
            ("--tolerance", self.tolerance > 0.0),
            ("--bandwidth-mbps", self.bandwidth_mbps.is_some()),
        ];
        let refused = refused.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag);
        let rules = (self.clusters_max, self.min_bits, most);
        let caches = self.caches.checked(&self.ways, rules, refused)?;
        let largest = self.ways.iter().max().copied();
        let world = World {
            llc: cache(largest, self.clusters_max, self.min_bits, most)?,
            caches,
            programs,
            bandwidth: bandwidth(self.bandwidth_mbps, self.bandwidth_model),
            levels: different(&self.bandwidth_levels)?,
            wishes: Vec::new(),
            seed: self.seed,
        };
        let mixes = world.mixes(&self.mix, self.mixes.as_deref(), false)?;
        Ok((world, mixes))
    }
}
