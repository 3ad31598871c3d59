//! Flags of the simulated machine and of the programs on it.

use std::path::PathBuf;

use fairways_command_kit::input::{above_zero, real, whole};
use fairways_core::Ways;

use super::lists::pairs;
use super::{MOST_WAYS, Model, Pairs, ways};

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
