//! The last-level cache that programs share, as a policy sees it.

use core::fmt;

/// The most ways a mask can name: resctrl's `cbm_mask` is at most 32 bits wide.
pub const MAX_WAYS: usize = 32;

/// How many ways a cache has, 1 to [`MAX_WAYS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ways(u32);

impl Ways {
    /// `count` ways, or `None` if there are none or more than [`MAX_WAYS`].
    #[must_use]
    pub const fn new(count: u32) -> Option<Self> {
        if count == 0 || count as usize > MAX_WAYS { None } else { Some(Self(count)) }
    }

    /// The number of ways.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The rules that a machine's last-level cache sets for partitions (Linux
/// `Documentation/filesystems/resctrl.rst`, the files of `info/L3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Llc {
    /// Ways of the cache: the bits of `cbm_mask`.
    pub ways: Ways,
    /// The fewest ways a mask may have (`min_cbm_bits`); at least 1.
    pub min_bits: u32,
    /// Whether a mask must be one run of ways (`sparse_masks` reads 0).
    pub contiguous: bool,
    /// The number of classes of service (`num_closids`); at least 1.
    pub clos: u32,
}

impl Llc {
    /// A cache of `ways` ways under the rules most hardware has: masks of one way or more,
    /// contiguous, 16 classes of service.
    #[must_use]
    pub const fn with_ways(ways: Ways) -> Self {
        Self { ways, min_bits: 1, contiguous: true, clos: 16 }
    }

    /// The fewest ways a cluster may own: `min_bits`, but at least 1 and at most the whole cache,
    /// whatever a machine reports.
    #[must_use]
    pub const fn min_ways(&self) -> u32 {
        if self.min_bits == 0 {
            1
        } else if self.min_bits > self.ways.get() {
            self.ways.get()
        } else {
            self.min_bits
        }
    }

    /// The most clusters that fit side by side, each with the fewest ways.
    #[must_use]
    pub const fn max_disjoint_clusters(&self) -> u32 {
        // Nearly every cache's least width is one way: no division for those.
        if self.min_ways() == 1 { self.ways.get() } else { self.ways.get() / self.min_ways() }
    }

    /// The most clusters that can own ways exclusively: as many as fit side by side and have a
    /// class of service; at least 1.
    #[must_use]
    pub const fn max_clusters(&self) -> u32 {
        let most = if self.max_disjoint_clusters() < self.clos {
            self.max_disjoint_clusters()
        } else {
            self.clos
        };
        if most == 0 { 1 } else { most }
    }
}
