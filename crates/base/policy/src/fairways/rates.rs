//! The rates of a window, and the size at which they were measured.

use core::time::Duration;

use fairways_core::{Counters, MAX_WAYS, Q32};

/// How many sizes a way is divided into.
const PER_WAY: usize = 4;

/// Sizes differ by a quarter of a way.
pub(crate) const SIZES: usize = PER_WAY * MAX_WAYS + 1;

/// A mean covers roughly this many windows as long as the last one, and never less time than
/// before.
const REMEMBERED: u64 = 16;

/// A window that is longer than this, an hour, counts as an hour.
const LONGEST: u64 = 3_600_000_000_000;

/// The rates of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObservedRates {
    /// Its length in nanoseconds, at least 1; for a mean, the length of the windows that it covers.
    pub(crate) nanos: u64,
    /// The ways that the program occupied.
    pub(crate) occupancy: Q32,
    /// Cycles per instruction.
    pub(crate) cpi: Q32,
    /// LLC misses per 1000 cycles.
    pub(crate) llcmpkc: Q32,
    /// LLC references per 1000 instructions, which depend little on the size.
    pub(crate) references: Option<Q32>,
    /// The share of cycles stalled while an L2 miss is outstanding.
    pub(crate) stalls: Option<Q32>,
}

impl ObservedRates {
    /// `None` if a required counter is missing.
    pub(crate) fn new(counters: &Counters, occupancy: Q32, length: Duration) -> Option<Self> {
        let instructions = counters.instructions.filter(|&count| count > 0)?;
        let cpi = Q32::ratio(counters.cycles.filter(|&cycles| cycles > 0)?, instructions);
        let references = counters
            .llc_references
            .map(|count| Q32::ratio(count.saturating_mul(1000), instructions));
        Some(Self {
            nanos: u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).clamp(1, LONGEST),
            occupancy,
            cpi: cpi.clamp(Q32::from_raw(1 << 8), Q32::MAX_IN_CURVE),
            llcmpkc: counters.llcmpkc()?.min(Q32::MAX_IN_CURVE),
            references,
            stalls: counters.stalls_l2_miss_share().map(|share| share.min(Q32::ONE)),
        })
    }

    /// Whether it has so few references that the cache hardly matters: a miss costs up to 200
    /// cycles, and all of its references together less than a fiftieth of its time.
    pub(crate) fn hardly_uses_the_cache(&self) -> bool {
        self.references.is_some_and(|references| references.raw() / 5 <= self.cpi.raw() / 50)
    }

    /// The index of its size.
    pub(crate) fn size(&self) -> usize {
        let size = (u128::from(self.occupancy.raw()) * PER_WAY as u128) >> 32;
        usize::try_from(size).unwrap_or(usize::MAX).min(SIZES - 1)
    }

    /// Adds a window to a mean, weighted by its length. The program is assumed to have run all that
    /// time; this yields the instructions by which rates per instruction are weighted.
    pub(crate) fn blend(&mut self, other: &Self) {
        let most = self.nanos.max(other.nanos * REMEMBERED);
        let length = (self.nanos + other.nanos).min(most);
        let of_time = Q32::ratio(other.nanos, length).raw();
        // A window with fewer cycles per instruction has more instructions.
        let [before, now] = [
            u128::from(Q32::ONE.raw() - of_time) * u128::from(other.cpi.raw()),
            u128::from(of_time) * u128::from(self.cpi.raw()),
        ];
        let of_work = u64::try_from((now << 32) / (before + now).max(1)).unwrap_or(0);
        self.nanos = length;
        self.occupancy = mean(self.occupancy, other.occupancy, of_time);
        self.cpi = mean(self.cpi, other.cpi, of_work);
        self.llcmpkc = mean(self.llcmpkc, other.llcmpkc, of_time);
        self.references = mean_of_known(self.references, other.references, of_work);
        self.stalls = mean_of_known(self.stalls, other.stalls, of_time);
    }
}

/// The mean of two numbers; the second has the weight `part`, in units of 2^-32.
fn mean(known: Q32, other: Q32, part: u64) -> Q32 {
    let rest = u128::from(Q32::ONE.raw() - part);
    let sum = u128::from(known.raw()) * rest + u128::from(other.raw()) * u128::from(part);
    Q32::from_raw(u64::try_from(sum >> 32).unwrap_or(u64::MAX))
}

/// The mean of two numbers of which either may be missing.
fn mean_of_known(known: Option<Q32>, other: Option<Q32>, part: u64) -> Option<Q32> {
    match (known, other) {
        (Some(known), Some(other)) => Some(mean(known, other, part)),
        (known, other) => known.or(other),
    }
}
