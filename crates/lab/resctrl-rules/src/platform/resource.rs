//! What can be shared out.

use std::fmt;

/// A resource that can be shared out, in the order in which the kernel counts (`enum
/// resctrl_res_level`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Ways of the last-level cache.
    L3,
    /// Ways of a second-level cache.
    L2,
    /// Memory bandwidth.
    Mb,
    /// Bandwidth of slow memory (AMD, CXL).
    Smba,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::L3, Self::L2, Self::Mb, Self::Smba];

    /// Whether ways of a cache are shared out, by masks.
    #[must_use]
    pub const fn is_cache(self) -> bool {
        matches!(self, Self::L3 | Self::L2)
    }

    /// Its name in `schemata` and under `info`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::L3 => "L3",
            Self::L2 => "L2",
            Self::Mb => "MB",
            Self::Smba => "SMBA",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How ways of a cache can be shared out (CPUID leaf 0x10; `info/L3`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheAllocation {
    /// Bits of a mask, 1 to 32: mostly the ways.
    pub cbm_len: u32,
    /// Bits that other agents, such as network cards, fill, too.
    pub shareable_bits: u32,
    /// Fewest neighbouring bits of a mask; 0 if a mask may be empty.
    pub min_cbm_bits: u32,
    /// Whether a mask may have gaps.
    pub sparse: bool,
    /// Classes of service. Code and data apart need two each.
    pub closids: u32,
    /// Whether code and data can have masks of their own.
    pub cdp: bool,
    /// Whether devices can fill the cache under a class of their own (AMD's SDCIAE).
    pub io_alloc: bool,
    /// Bytes of one cache.
    pub cache_bytes: u32,
}

impl CacheAllocation {
    /// Every bit of a mask.
    #[must_use]
    pub const fn full(&self) -> u32 {
        u32::MAX >> (32 - self.cbm_len)
    }
}

/// The limit of a thread whose sibling has another one (`info/MB/thread_throttle_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleMode {
    /// The stricter of both (`max`).
    Max,
    /// Its own (`per-thread`).
    PerThread,
}

/// A line of `schemata` with a number for each last-level cache, of which only the kernel that has
/// it knows the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherLine {
    /// Its name.
    pub name: &'static str,
    /// The least value that it takes.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// A new group's.
    pub first: u32,
}

/// How bandwidth can be limited (`info/MB`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthAllocation {
    /// Least value.
    pub min: u32,
    /// Greatest value, which is what a new group has: 100 (%) on Intel, 2048 (1/8 GB/s) and more on
    /// AMD.
    pub max: u32,
    /// Values are rounded up to multiples of this.
    pub gran: u32,
    /// Whether delay is linear in the value.
    pub linear: bool,
    /// Classes of service.
    pub closids: u32,
    /// The bits of the fraction in which hardware keeps a percentage, if it does (MPAM's maximum,
    /// `bwa_wd`).
    pub fraction_bits: Option<u32>,
    /// How siblings affect each other, where the kernel reports it.
    pub throttle_mode: Option<ThrottleMode>,
}

impl BandwidthAllocation {
    /// The value that hardware keeps for one within the limits: the next step, and of a fraction
    /// the nearest (`percent_to_mbw_max`, `mbw_max_to_percent`).
    #[must_use]
    pub fn kept(&self, value: u32) -> u32 {
        let step = self.gran.max(1);
        let stepped = value.div_ceil(step) * step;
        let Some(bits) = self.fraction_bits else { return stepped };
        let bands = 1_u32 << bits.min(16);
        let band = ((stepped.min(100) * bands + 50) / 100).max(1);
        (band * 100 + bands / 2) / bands
    }
}

/// An event of `mon_data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Bytes occupied in the cache now.
    LlcOccupancy,
    /// Bytes from and to all memory.
    MbmTotalBytes,
    /// Bytes from and to the memory of the own node.
    MbmLocalBytes,
}

impl Event {
    /// All of them, in the kernel's order (`enum resctrl_event_id`).
    pub const ALL: [Self; 3] = [Self::LlcOccupancy, Self::MbmTotalBytes, Self::MbmLocalBytes];

    /// Its file in `mon_data/mon_L3_*`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LlcOccupancy => "llc_occupancy",
            Self::MbmTotalBytes => "mbm_total_bytes",
            Self::MbmLocalBytes => "mbm_local_bytes",
        }
    }

    /// Whether it counts bandwidth.
    #[must_use]
    pub const fn is_bandwidth(self) -> bool {
        !matches!(self, Self::LlcOccupancy)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An event of `mon_data/mon_PERF_PKG_*`, counted for each package (Intel's energy telemetry).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageEvent {
    /// Joules that cores used.
    CoreEnergy,
    /// Activity of cores, whatever their frequency and voltage: farads.
    Activity,
}

impl PackageEvent {
    /// All of them, in the kernel's order.
    pub const ALL: [Self; 2] = [Self::CoreEnergy, Self::Activity];

    /// Its file in `mon_data/mon_PERF_PKG_*`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoreEnergy => "core_energy",
            Self::Activity => "activity",
        }
    }
}

/// What can be monitored (CPUID leaf 0xf; `info/L3_MON`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitoring {
    /// Monitoring ids; for every class of service if [`rmids_per_class`](Self::rmids_per_class).
    pub rmids: u32,
    /// Whether each class of service has monitoring ids of its own (MPAM), or all share them (x86).
    pub rmids_per_class: bool,
    /// The events, in the order of [`Event::ALL`].
    pub events: Vec<Event>,
    /// Bytes that hardware counts as one; readings are multiples of it.
    pub scale_bytes: u32,
    /// Which transactions an event can count, as bits, where that can be chosen (AMD's BMEC: 0x7f).
    pub configurable: Option<u32>,
    /// Counters of bandwidth that each domain has, where they are assigned to groups (AMD's ABMC,
    /// CPUID leaf 0x8000_0020, subleaf 5).
    pub assignable: Option<u32>,
}

impl Monitoring {
    /// Whether the occupancy of a cache is reported.
    #[must_use]
    pub fn reports_occupancy(&self) -> bool {
        self.events.contains(&Event::LlcOccupancy)
    }
}
