//! Shares of memory bandwidth.

use core::fmt;

/// A share of a domain's peak memory bandwidth, or of a core's, in 1/1024 of it: 1 to
/// [`Bandwidth::ALL`]. Which one a limit is of, [`LimitScope`](crate::LimitScope) says.
///
/// Each machine converts this unit to its platform's own (percent, multiples of 1/8 GB/s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u16);

impl Bandwidth {
    /// The whole peak bandwidth.
    pub const ALL: Self = Self(1024);

    /// `share` 1/1024 of the peak; `None` if that is 0 or more than the peak.
    #[must_use]
    pub const fn new(share: u16) -> Option<Self> {
        if share == 0 || share > Self::ALL.0 { None } else { Some(Self(share)) }
    }

    /// The share, in 1/1024 of the peak.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/1024", self.0)
    }
}
