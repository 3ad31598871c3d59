//! Limits of memory bandwidth, as platforms have them.

/// How a chip limits memory bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// Intel's memory bandwidth allocation (MBA): the requests of a core that leave its private
    /// caches are spaced, whether the last-level cache then has their line or not. Values are
    /// percents, in steps of ten. Lines that are written back are not spaced; whether hardware
    /// spaces them is not known.
    Spacing {
        /// The least time between two requests, in tenths of ns, by step: 10 %, 20 %, to 100 %.
        gaps: [u32; 10],
        /// The gap of a hardware thread whose sibling has another one.
        siblings: SiblingGap,
    },
    /// A cap on the lines that the programs of a class move between the last-level cache and
    /// memory together. Lines that are written back count, too; whether they do on hardware is not
    /// known.
    Cap(CapUnit),
}

/// The unit of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapUnit {
    /// 1/8 GB/s, as on AMD.
    EighthGbps,
    /// A percent of the chip's bandwidth, as on ARM (MPAM).
    Percent,
}

impl CapUnit {
    /// MB/s, on a chip with this bandwidth.
    pub(crate) fn mbps(self, bandwidth_mbps: f64) -> f64 {
        match self {
            Self::EighthGbps => 125.0,
            Self::Percent => bandwidth_mbps / 100.0,
        }
    }
}

/// The gap of a hardware thread whose sibling has another one (`thread_throttle_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiblingGap {
    /// The wider of both, and one queue of requests for both.
    Max,
    /// Its own.
    PerThread,
}

/// Gaps that agree within 12 % with the bandwidth of one stream on three Intel machines, one of
/// them a Gold 6254, which the kernel's self-test printed. A step that has the same gap as its
/// neighbour has no effect of its own.
pub const SKYLAKE_GAPS: [u32; 10] = [320, 206, 152, 98, 81, 81, 66, 66, 66, 0];

/// A program's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthLimit {
    /// Its class of service: programs of a class have one cap together.
    pub class: u16,
    /// The limit, in the unit of the chip's [`Throttle`].
    pub value: u32,
}
