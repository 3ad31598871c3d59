//! Flags of the simulated machine and of the programs on it.

use std::path::PathBuf;

use fairways_command_kit::input::{above_zero, real, whole};

use super::lists::pairs;
use super::{MOST_WAYS, Model, Pairs, ways_of_profiles};

/// Programs, and the simulated machine on which they run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a simulated machine")]
pub(crate) struct World {
    /// Profiles of programs, as CSV [default: the embedded ones]
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,

    /// Programs with phases, as CSV [default: embedded ones]
    ///
    /// Each phase has one of the profiles (docs/profiles.md). With --profiles, there are none by
    /// default.
    #[arg(long, value_name = "FILE")]
    pub(crate) phases: Option<PathBuf>,

    /// Ways of the cache [default: as many as the profiles have]
    ///
    /// At most as many as the profiles have.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways_of_profiles)]
    pub(crate) ways: Option<u32>,

    /// Classes of service, which limit the clusters
    #[arg(long, value_name = "N", default_value = "16", allow_negative_numbers = true,
        value_parser = whole(1, u32::MAX))]
    pub(crate) clos: u32,

    /// The fewest ways that a cluster may have
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(1, MOST_WAYS))]
    pub(crate) min_bits: u32,

    /// Size in MB of the cache of the profiles
    ///
    /// It is the cache on which the profiles were measured; over time, larger ways take longer to
    /// fill.
    #[arg(long, value_name = "X", default_value = "27.5", allow_negative_numbers = true,
        value_parser = real(0.001, 1e6))]
    pub(crate) llc_mb: f64,

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

    /// Seed for mixes and for everything random over time
    ///
    /// Mixes are drawn if none are named. The same seed gives the same results.
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
