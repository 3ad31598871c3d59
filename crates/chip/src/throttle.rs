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

    /// The value for this share of a chip's bandwidth, in 1/1024 of it; at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a bandwidth is not negative; the cast saturates"
    )]
    pub(crate) fn value_of_share(self, share: u16, bandwidth_mbps: f64) -> u32 {
        let mbps = bandwidth_mbps * f64::from(share) / 1024.0;
        ((mbps / self.mbps(bandwidth_mbps)).round() as u32).max(1)
    }

    /// The share of a chip's bandwidth, in 1/1024 of it, that this value is; at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share is not negative; the cast saturates"
    )]
    pub(crate) fn share_of(self, value: u32, bandwidth_mbps: f64) -> u16 {
        let mbps = f64::from(value) * self.mbps(bandwidth_mbps);
        ((mbps * 1024.0 / bandwidth_mbps).round() as u16).max(1)
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

impl Throttle {
    /// The value for this limit of a plan, in 1/1024.
    pub(crate) fn value_of(self, share: u16, bandwidth_mbps: f64) -> u32 {
        match self {
            Self::Spacing { .. } => u32::from(share) * 100 / 1024,
            Self::Cap(unit) => unit.value_of_share(share, bandwidth_mbps),
        }
    }
}
