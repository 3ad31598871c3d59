//! Flags of the simulated machine and of the programs on it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ValueEnum, ValueHint};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{above_zero, real, repeated, whole};
use fairways_core::BandwidthLevel;
use fairways_profiles::{BandwidthModel, MemoryBandwidth, ProgramCatalog};
use fairways_simulation::catalog::ProfileSource;
use fairways_simulation::{self as simulation, cache, profile_needs};

use super::lists::pairs;
use super::{MOST_WAYS, Pairs, ways_of_profiles};

/// Programs, and the simulated machine on which they run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a simulated machine")]
pub(crate) struct World {
    /// Profiles of programs: skylake, broadwell or small (real programs), synthetic, or a CSV file
    ///
    /// skylake, broadwell and small are the real programs of the corpus, measured on 11 ways of 2.5
    /// MB, 20 ways of 2.25 MB and 32 ways of 48 KB. A file that has such a name needs ./ before it.
    #[arg(long, value_name = "PROFILES", default_value = "skylake",
        value_hint = ValueHint::FilePath)]
    pub(crate) profiles: ProfileSource,

    /// Programs with phases, as CSV [default: none, or eight with `--profiles synthetic`]
    ///
    /// Each phase has one of the profiles (docs/profiles.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Ways of the cache; with --caches of each: 16,6 [default: as many as the profiles have]
    ///
    /// At most as many as the profiles have.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_delimiter = ',',
        value_parser = ways_of_profiles)]
    pub(crate) ways: Vec<u32>,

    /// Classes of service, which limit the clusters
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clos: u32,

    /// The fewest ways that a cluster may have
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// Size in MB of the cache of the profiles [default: what the profiles say, or 27.5]
    ///
    /// It is the cache on which the profiles were measured; over time, larger ways take longer to
    /// fill.
    #[arg(long, value_name = "X", allow_negative_numbers = true,
        value_parser = real(0.001, 1e6))]
    pub(crate) llc_mb: Option<f64>,

    /// Memory bandwidth, in MB/s [default: no limit]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = above_zero)]
    pub(crate) bandwidth_mbps: Option<f64>,

    /// What happens when programs need more than the memory bandwidth
    #[arg(long, value_name = "MODEL", default_value = "simple")]
    pub(crate) bandwidth_model: Model,

    /// Ways promised to programs, for `static`, `dcat` and `fairways`
    ///
    /// `static` gives programs exactly these ways; `dcat` and `fairways` promise them.
    #[arg(long, value_name = "PROGRAM=WAYS,...",
        value_parser = pairs("PROGRAM=WAYS", whole(1, MOST_WAYS)))]
    pub(crate) baselines: Option<Pairs<u32>>,

    /// Programs that each one counts as: policy fairways, `--set objective=weighted` [default: 1]
    #[arg(long, value_name = "PROGRAM=N,...",
        value_parser = pairs("PROGRAM=N", whole(1, u32::MAX)))]
    pub(crate) importance: Option<Pairs<u32>>,

    /// Seed for mixes and for everything random over time
    ///
    /// Mixes are drawn if none are named. The same seed gives the same results.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// The bandwidth of all programs is cut to fit, and their performance with it
    Simple,
    /// Memory is a shared server: only the cycles that wait for it increase
    Stalls,
}

same!(Model => BandwidthModel: Simple, Stalls);

impl World {
    /// The programs with profiles, and their cache; reads the files and checks every flag.
    pub(super) fn checked(&self) -> Result<simulation::World, BadInput> {
        if let count @ 2.. = self.ways.len() {
            return Err(BadInput(format!("--ways: expected one number, found {count}")));
        }
        self.with(self.profiles.programs(self.phases.as_ref())?)
    }

    /// The same, where plans are only scored: profiles may have IPC and misses alone.
    pub(super) fn checked_to_score(&self) -> Result<simulation::World, BadInput> {
        let world = self.with(self.profiles.programs_to_score(self.phases.as_ref())?)?;
        if world.bandwidth.is_some() {
            profile_needs::check_limit("--bandwidth-mbps", world.programs.table())?;
        }
        Ok(world)
    }

    fn with(&self, programs: ProgramCatalog) -> Result<simulation::World, BadInput> {
        let programs = Arc::new(programs);
        let largest = self.ways.iter().max().copied();
        let llc = cache(largest, self.clos, self.min_bits, programs.table().ways())?;
        let bandwidth = bandwidth(self.bandwidth_mbps, self.bandwidth_model);
        let (caches, levels, wishes) = (Vec::new(), Vec::new(), Vec::new());
        let seed = self.seed;
        let mut world =
            simulation::World { programs, llc, caches, bandwidth, levels, wishes, seed };
        if let Some(Pairs(baselines)) = &self.baselines {
            world.promise(baselines)?;
        }
        if let Some(Pairs(importance)) = &self.importance {
            world.weigh(importance)?;
        }
        Ok(world)
    }

    /// The analytic machine over time, as well as it can be observed.
    pub(super) fn model(
        &self,
        world: &simulation::World,
        observation: &Observation,
    ) -> fairways_model::Settings {
        fairways_model::Settings {
            noise: observation.noise / 100.0,
            lost: observation.lost / 100.0,
            overshoot: observation.overshoot,
            ..world
                .model(self.llc_mb.unwrap_or_else(|| self.profiles.llc_mb(world.programs.table())))
        }
    }
}

/// The limit of memory bandwidth, if there is one.
pub(super) fn bandwidth(mbps: Option<f64>, model: Model) -> Option<MemoryBandwidth> {
    MemoryBandwidth::new(mbps?, model.into())
}

/// A level of bandwidth that limits, in percent.
pub(super) fn level(text: &str) -> Result<BandwidthLevel, String> {
    let percent = whole(1, 99_u32)(text)?;
    Ok(BandwidthLevel::new(percent).expect("a percent above 0"))
}

/// Levels of which none is named twice, from the lowest up.
pub(super) fn different(levels: &[BandwidthLevel]) -> Result<Vec<BandwidthLevel>, BadInput> {
    let mut levels = levels.to_vec();
    levels.sort_unstable();
    match repeated(&levels) {
        Some(twice) => Err(BadInput(format!(
            "--bandwidth-levels: expected each level once, found {twice} twice"
        ))),
        None => Ok(levels),
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
