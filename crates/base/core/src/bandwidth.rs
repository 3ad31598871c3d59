//! Limits of memory bandwidth.

use core::fmt;
use core::num::NonZeroU32;

/// A limit of memory bandwidth in the machine's own unit ([`BandwidthUnit`]), as in the lines of
/// `schemata`: more than 0. What it limits, [`LimitScope`](crate::LimitScope) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BandwidthLevel(NonZeroU32);

impl BandwidthLevel {
    /// The level with this value; `None` if that is 0, which would stop programs.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        match NonZeroU32::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// Its value, in the machine's unit.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for BandwidthLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The unit of a machine's [`BandwidthLevel`]s
/// (Linux `Documentation/filesystems/resctrl.rst`, "Memory bandwidth Allocation").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum BandwidthUnit {
    /// Percent. Intel's are steps of a delay between requests, not of anything that can be
    /// measured; MPAM's are of the bandwidth of the component that limits.
    Percent,
    /// 1/8 GB/s (AMD).
    EighthGbps,
    /// MiB/s: the mount option `mba_MBps`, with which the kernel sets percents itself.
    MibPerSecond,
}

impl BandwidthUnit {
    /// How many bytes per second a level is; `None` for a percent.
    #[must_use]
    pub fn bytes_per_second(self, level: BandwidthLevel) -> Option<u64> {
        let value = u64::from(level.get());
        match self {
            Self::Percent => None,
            Self::EighthGbps => Some(value * 125_000_000),
            Self::MibPerSecond => Some(value << 20),
        }
    }
}

/// A level with its unit, as people read it: `20 %`, `2.125 GB/s`, `400 MiB/s`.
#[derive(Clone, Copy, Debug)]
pub struct LevelInUnit(pub BandwidthLevel, pub BandwidthUnit);

impl fmt::Display for LevelInUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(level, unit) = self;
        let value = level.get();
        match unit {
            BandwidthUnit::Percent => write!(f, "{value} %"),
            BandwidthUnit::MibPerSecond => write!(f, "{value} MiB/s"),
            BandwidthUnit::EighthGbps => {
                let eighths = ["", ".125", ".25", ".375", ".5", ".625", ".75", ".875"];
                write!(f, "{}{} GB/s", value / 8, eighths[(value % 8) as usize])
            }
        }
    }
}
