//! The parts of a chip and their sizes.

use fairways_core::{
    BandwidthLevel, BandwidthLever, BandwidthUnit, Levers, LimitScope, Llc, MAX_WAYS, Partition,
};
use thiserror::Error;

use crate::bus::BusWait;
use crate::throttle::{CapUnit, Throttle};

/// Bytes of a line.
pub const LINE: u64 = 64;

/// The rule for which line makes room for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The line that was used longest ago.
    Lru,
    /// A line that was not used since all others were (bit-PLRU, also called MRU). Each line has a
    /// bit, set when it is used; once all bits are set, all others are cleared. A program that owns
    /// some of the ways clears their bits once all of them are set.
    BitPlru,
    /// Not recently used, as in the L2 of the UltraSPARC T1 and T2: the bits of bit-PLRU, but the
    /// search for a way begins at a pointer. All sets share the pointer, and it moves on by one way
    /// whenever a line is brought in (Kedzierski, Moreto, Cazorla and Valero, Adapting cache
    /// partitioning algorithms to pseudo-LRU replacement policies, IPDPS 2010, on NRU).
    Nru,
}

/// A chip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Cores.
    pub cores: u32,
    /// Hardware threads of each core, which share its pipeline and its private caches. Each is a
    /// CPU; numbering starts with the first core's.
    pub threads: u32,
    /// Core clock, MHz.
    pub mhz: u32,
    /// The first private data cache of each core.
    pub l1: CacheShape,
    /// The instruction cache of each core; `None`: fetches cost nothing.
    pub l1i: Option<CacheShape>,
    /// The path of stores out of a core.
    pub stores: StorePath,
    /// The second private cache of each core, if it has one.
    pub l2: Option<CacheShape>,
    /// Sets of the last-level cache, at most 2^20.
    pub sets: u32,
    /// Banks of the last-level cache: sets belong to them in turn. References are counted by bank.
    pub banks: u32,
    /// The ways of the last-level cache, and the rules for masks.
    pub llc: Llc,
    /// Whether a line that leaves the last-level cache leaves the private caches too.
    pub inclusive: bool,
    /// The rule for which line of the last-level cache makes room.
    pub replacement: Replacement,
    /// Latencies of accesses that miss the L1.
    pub latency: MissLatency,
    /// The bandwidth of the memory bus, MB/s; may be infinite.
    pub bandwidth_mbps: f64,
    /// How long a line waits for the memory bus.
    pub bus: BusWait,
    /// How memory bandwidth can be limited; `None`: it can't.
    pub throttle: Option<Throttle>,
}

/// The path of stores out of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePath {
    /// Into the L1, which fetches their lines and is written back: a store costs the same as a
    /// load.
    Back,
    /// Through the L1, where they bring no line in, to the last-level cache, by a buffer for each
    /// hardware thread: one after the other, and the thread waits only if the buffer is full.
    Through {
        /// Entries, 1 to 64.
        buffer: u32,
    },
}

/// The size of a private cache of lines of 64 bytes; the line used longest ago makes room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Sets, a power of two of at most 2^20.
    pub sets: u32,
    /// Lines of a set, at most 32.
    pub ways: u32,
}

/// Cycles from a load to its value on an idle chip. L1 hits are part of a program's base CPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissLatency {
    /// From the L2.
    pub l2: u32,
    /// From the last-level cache.
    pub llc: u32,
    /// From memory.
    pub memory: u32,
}

/// A chip that can't be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{what}: expected {expected}, found {found}")]
pub struct GeometryError {
    what: &'static str,
    expected: &'static str,
    found: String,
}

fn refused(
    what: &'static str,
    expected: &'static str,
    found: &dyn ToString,
) -> Result<(), GeometryError> {
    Err(GeometryError { what, expected, found: found.to_string() })
}

impl CacheShape {
    /// A cache of `kb` KB.
    #[must_use]
    pub const fn from_kb(kb: u32, ways: u32) -> Self {
        Self { sets: kb * 1024 / 64 / ways, ways }
    }
}

impl Geometry {
    /// The CPUs: the hardware threads of all cores.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.cores.saturating_mul(self.threads)
    }

    /// Bytes of a way of the last-level cache.
    #[must_use]
    pub fn way_bytes(&self) -> u64 {
        u64::from(self.sets) * LINE
    }

    /// What a policy can set on this chip.
    #[must_use]
    pub fn levers(&self) -> Levers {
        Levers { llc: self.llc, bandwidth: self.bandwidth_lever() }
    }

    fn bandwidth_lever(&self) -> Option<BandwidthLever> {
        let (unit, step, most, scope) = match self.throttle? {
            Throttle::Spacing { .. } => (BandwidthUnit::Percent, 10, 100, LimitScope::Core),
            // Of AMD's values, 256 GB/s is the greatest (resctrl.rst).
            Throttle::Cap(CapUnit::EighthGbps) => {
                (BandwidthUnit::EighthGbps, 1, 2048, LimitScope::Class)
            }
            // Nothing is a percent of an unlimited bus.
            Throttle::Cap(CapUnit::Percent) if self.bandwidth_mbps.is_infinite() => return None,
            Throttle::Cap(CapUnit::Percent) => (BandwidthUnit::Percent, 1, 100, LimitScope::Class),
        };
        let (step, most) = (BandwidthLevel::new(step)?, BandwidthLevel::new(most)?);
        let capacity_mbps = self.capacity_mbps();
        Some(BandwidthLever { unit, least: step, step, most, scope, capacity_mbps })
    }

    /// The bus's bandwidth in whole MB/s; `None` if it is unlimited.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a bandwidth is positive; the cast saturates"
    )]
    fn capacity_mbps(&self) -> Option<u32> {
        self.bandwidth_mbps.is_finite().then_some(self.bandwidth_mbps as u32)
    }

    /// A partition with the levels of memory bandwidth that this chip makes of those planned: it
    /// rounds up to a step, as Linux does.
    pub(crate) fn with_levels_in_force(&self, planned: &Partition) -> Partition {
        let Some(lever) = self.bandwidth_lever() else { return planned.clone() };
        let step = lever.step.get();
        planned.with_bandwidth(|level| {
            // A plan may have any number before it is refused.
            let rounded = level.get().checked_next_multiple_of(step);
            rounded.and_then(BandwidthLevel::new).unwrap_or(lever.most)
        })
    }

    /// Checks that such a chip can be simulated.
    ///
    /// # Errors
    /// If it can't: [`GeometryError`].
    pub fn check(&self) -> Result<(), GeometryError> {
        if !(1..=MOST_CORES).contains(&self.cores) {
            return refused("cores", "1 to 63", &self.cores);
        }
        if !(1..=MOST_CORES).contains(&self.threads) || self.cpus() > MOST_CORES {
            return refused("hardware threads", "1 to 63 of all cores", &self.threads);
        }
        if !(1..=MOST_BANKS).contains(&self.banks) || !self.banks.is_power_of_two() {
            return refused("banks", "1, 2, 4 or 8", &self.banks);
        }
        if let StorePath::Through { buffer } = self.stores {
            if !(1..=64).contains(&buffer) {
                return refused("entries of a store buffer", "1 to 64", &buffer);
            }
            if self.l2.is_some() {
                return refused("a store buffer", "no L2 behind it", &buffer);
            }
        }
        if !(1..=100_000).contains(&self.mhz) {
            return refused("clock", "1 to 100000 MHz", &self.mhz);
        }
        let private = [Some(self.l1), self.l1i, self.l2];
        for shape in private.into_iter().flatten() {
            if !shape.sets.is_power_of_two() || shape.sets > MOST_SETS {
                return refused(
                    "sets of a private cache",
                    "a power of two up to 2^20",
                    &shape.sets,
                );
            }
            if !(1..=MAX_WAYS).contains(&(shape.ways as usize)) {
                return refused("ways of a private cache", "1 to 32", &shape.ways);
            }
        }
        let most = private.into_iter().flatten().map(|shape| shape.sets).max();
        if (1..=MOST_SETS).contains(&self.sets) && most > Some(self.sets) {
            let expected = "no more sets than the last-level cache";
            return refused(
                "a private cache of more sets than the last-level cache",
                expected,
                &self.sets,
            );
        }
        if !(1..=MOST_SETS).contains(&self.sets) {
            return refused("sets of the last-level cache", "1 to 2^20", &self.sets);
        }
        let MissLatency { l2, llc, memory } = self.latency;
        if l2 > llc || llc > memory || memory > 100_000 {
            let found = format!("{l2}, {llc} and {memory} cycles");
            return refused(
                "latencies of L2, LLC and memory",
                "each at least the one before",
                &found,
            );
        }
        if self.bandwidth_mbps.is_nan() || self.bandwidth_mbps <= 0.0 {
            return refused("bandwidth", "more than 0 MB/s", &self.bandwidth_mbps);
        }
        Ok(())
    }
}

/// The most programs that run at once, and so the most cores: the tag of a line has its program's
/// number.
pub(crate) const MOST_CORES: u32 = 63;

/// The most banks.
pub(crate) const MOST_BANKS: u32 = 8;

const MOST_SETS: u32 = 1 << 20;
