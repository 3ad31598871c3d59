//! Estimates occupancies on machines that can't report them, from the lines that each program
//! brings in.
//!
//! A program occupies the lines that it brought in, less those that others' and its own later lines
//! evicted. Lines that were not used for long are evicted first: a program that reuses its lines
//! before the cache turns over keeps them, a streaming program does not.

use core::time::Duration;

use fairways_core::{Counters, Q32, WayMask};

use crate::Attribution;
use crate::program::ObservedProgram;

/// The cap on an occupancy, in ways times 2^32, so that products do not overflow.
const MOST: u128 = 1 << 48;

/// At least this part of a program's lines, a 64th, counts as not recently used.
const LEAST_STALE: u64 = Q32::ONE.raw() / 64;

impl Attribution {
    /// Estimates a program's occupancy at the end of a window. If the window's misses are not
    /// known, it is the one before the window; `None` if that is unknown, too, or nothing is
    /// estimated.
    pub(crate) fn estimate(
        &mut self,
        place: usize,
        counters: &Counters,
        window: Duration,
        mask: WayMask,
    ) -> Option<Q32> {
        let lines = self.lines_per_way?.max(1);
        let Some(misses) = counters.llc_misses else { return self.programs[place].occupancy };
        let millis = u64::try_from(window.as_millis()).unwrap_or(u64::MAX).max(1);
        let ways = u128::from(mask.count()) << 32;
        let own = u128::from(Q32::ratio(misses, lines).raw()).min(MOST);
        let filling = &mut self.programs[place].filling;
        let brought_in = u64::try_from(own).unwrap_or(u64::MAX);
        filling.rate = brought_in / millis;
        filling.brought_in = filling.brought_in.saturating_add(brought_in);
        let (mut there, mut not_used, mut brought_in) = (0, 0, own);
        for (other, one) in self.sharing(mask) {
            there += one.lines_in_ways();
            not_used += (one.lines_in_ways() * u128::from(one.filling.stale)) >> 32;
            if other != place {
                brought_in += u128::from(one.filling.rate).saturating_mul(millis.into()).min(MOST);
            }
        }
        let pushed_out = (there + brought_in).saturating_sub(ways).min(brought_in);
        let mean_stale = (not_used << 32).checked_div(there).unwrap_or(Q32::ONE.raw().into());
        let one = &mut self.programs[place];
        let grown = one.lines_in_ways() + own;
        // All lines that were not recently used are equally likely to be evicted.
        let turns = (pushed_out << 32) / ways.max(1);
        let gone = turns * u128::from(one.filling.stale) / mean_stale.max(1);
        let left = (grown << 32) / ((1 << 32) + gone);
        let left = left.min(ways);
        one.filling.stale = stale(counters, lines, left, ways, brought_in);
        Some(Q32::from_raw(u64::try_from(left).unwrap_or(u64::MAX)))
    }
}

/// The part of a program's lines that it does not use while the cache turns over: 1 / (1 + x +
/// x²/2), where `x` is the number of hits per line in that time.
fn stale(counters: &Counters, lines: u64, left: u128, ways: u128, brought_in: u128) -> u64 {
    let Some((references, misses)) = counters.llc_references.zip(counters.llc_misses) else {
        return Q32::ONE.raw();
    };
    let hits = u128::from(Q32::ratio(references.saturating_sub(misses), lines).raw()).min(MOST);
    // `x`: hits per line while the cache turns over, in 256ths.
    let x = (hits * ways / brought_in.max(1)).min(MOST << 8) * 256 / left.max(1);
    let x = x.min(1 << 16);
    let below = (1 << 16) + (x << 8) + x * x / 2;
    u64::try_from((1_u128 << 48) / below).unwrap_or(0).max(LEAST_STALE)
}

impl ObservedProgram {
    /// Its occupancy, in ways times 2^32.
    fn lines_in_ways(&self) -> u128 {
        self.occupancy.map_or(0, Q32::raw).into()
    }
}
