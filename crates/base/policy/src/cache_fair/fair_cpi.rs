//! The fair CPI (§3.2): what a thread's CPI would be at its fair miss rate.
//!
//! Equations 3 and 4 add stall cycles *per instruction* to an ideal CPI. But the miss rate that
//! these depend on is per *cycle* (§3.1), and so are the stalls that are fitted to it (§4.1). Let s
//! be the share of cycles that misses cost beyond hits. Then a thread stalls s x CPI cycles for
//! each instruction, so that
//!
//! * Equation 3, CPI = IdealCPI + s CPI, gives IdealCPI = CPI (1 - s);
//! * Equation 4, FairCPI = IdealCPI + s' FairCPI with s' at the fair miss rate (Equation 6), gives
//!   FairCPI = IdealCPI / (1 - s').

use fairways_core::Q32;

/// The largest share of cycles that counts as stalled, 99 %. Ours: Equation 4 has no solution at 1,
/// and counters of overlapping stalls add up to more.
pub const MOST_STALLS: Q32 = Q32::ratio(99, 100);

/// IdealCPI (Equation 3): cycles per instruction without any miss of the last-level cache, of a
/// thread that takes `cpi` cycles per instruction and stalls this share of them, 0 to 1.
///
/// It is at least `least`, or `cpi` if that is less: overstated stalls make no core faster than it
/// can issue (decision cache-fair 9).
#[must_use]
pub fn ideal_cpi(cpi: Q32, stalls: Q32, least: Q32) -> Q32 {
    let busy = u128::from(Q32::ONE.raw() - stalls.min(MOST_STALLS).raw());
    let ideal = u64::try_from((u128::from(cpi.raw()) * busy) >> 32).unwrap_or(u64::MAX);
    Q32::from_raw(ideal).max(least.min(cpi))
}

/// FairCPI (Equations 4 and 6): cycles per instruction of a thread with this IdealCPI that stalls
/// this share of its cycles, 0 to 1, at its fair miss rate.
#[must_use]
pub fn fair_cpi(ideal_cpi: Q32, fair_stalls: Q32) -> Q32 {
    Q32::ratio(ideal_cpi.raw(), Q32::ONE.raw() - fair_stalls.min(MOST_STALLS).raw())
}
