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

/// What people read after a level: ` %`, say.
impl fmt::Display for BandwidthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percent => "%",
            Self::EighthGbps => "x 1/8 GB/s",
            Self::MibPerSecond => "MiB/s",
        })
    }
}
