//! The rates of a window, and the size that they are of.

use fairways_core::{Counters, MAX_WAYS, Q32};

/// Sizes differ by half ways.
pub(crate) const SIZES: usize = 2 * MAX_WAYS + 1;

/// The rates of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObservedRates {
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
    /// `None` if a counter is missing that has to be there.
    pub(crate) fn new(counters: &Counters, occupancy: Q32) -> Option<Self> {
        let instructions = counters.instructions.filter(|&count| count > 0)?;
        let cpi = Q32::ratio(counters.cycles.filter(|&cycles| cycles > 0)?, instructions);
        let references = counters
            .llc_references
            .map(|count| Q32::ratio(count.saturating_mul(1000), instructions));
        Some(Self {
            occupancy,
            cpi: cpi.clamp(Q32::from_raw(1 << 8), Q32::MAX_IN_CURVE),
            llcmpkc: counters.llcmpkc()?.min(Q32::MAX_IN_CURVE),
            references,
            stalls: counters.stalls_l2_miss_share().map(|share| share.min(Q32::ONE)),
        })
    }

    /// The mean of `weight - 1` windows like this and another.
    pub(crate) fn blend(&mut self, other: &Self, weight: u32) {
        self.occupancy = mean(self.occupancy, other.occupancy, weight);
        self.cpi = mean(self.cpi, other.cpi, weight);
        self.llcmpkc = mean(self.llcmpkc, other.llcmpkc, weight);
        self.references = match (self.references, other.references) {
            (Some(one), Some(other)) => Some(mean(one, other, weight)),
            (one, other) => one.or(other),
        };
        self.stalls = match (self.stalls, other.stalls) {
            (Some(one), Some(other)) => Some(mean(one, other, weight)),
            (one, other) => one.or(other),
        };
    }
}

/// The mean of `weight - 1` numbers whose mean is known, and another.
fn mean(known: Q32, other: Q32, weight: u32) -> Q32 {
    let sum = u128::from(known.raw()) * u128::from(weight - 1) + u128::from(other.raw());
    Q32::from_raw(u64::try_from(sum / u128::from(weight)).unwrap_or(u64::MAX))
}
