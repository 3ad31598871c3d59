//! Calibration (§4.2): how much CPU time a thread is ahead or behind.
//!
//! It is computed in time, so the clock's frequency is not needed. Take a thread that was entitled
//! to run for E, ran for C, and has CPI P where F is fair. It needs E P / F for the work that it
//! would have done in E at its fair CPI, so E P / F - C is added to what it is behind by. Its next
//! quantum, for which it is entitled to Q, is to make up for everything, "so that by the end of its
//! next quantum, T completes the number of instructions corresponding to its fair CPI": Q' = Q P /
//! F + what it is behind by (decision cache-fair 4).
//!
//! A thread is not entitled to time that it was given as compensation (§7: applications are charged
//! "only for the CPU cycles given to them by the system scheduler, and not for the 'compensation'
//! cycles").

use fairways_core::{Counters, Q32};

use super::fair_cpi::{fair_cpi, ideal_cpi};
use super::recon::{Fit, memory_stalls, share};
use crate::regression::nearest;

/// No actual CPI is more than this multiple of the fair CPI: with stalls of at most 99 %
/// ([`MOST_STALLS`](super::MOST_STALLS)), it can't be.
const MOST_RATIO: Q32 = Q32::from_int(100);

/// The CPU time that a cache-fair thread is owed, in nanoseconds; negative if it is ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    debt: i128,
    /// The time that it was entitled to in slices since the debt was last computed, and the time
    /// that it ran.
    entitled: i128,
    ran: i128,
    /// The cycles of windows since then, and the cycles that they would have taken at the fair CPI.
    cycles: u64,
    fair_cycles: u64,
    /// P / F in these windows, or in the last ones before; `None` where it is unknown.
    ratio: Option<Q32>,
}

impl Account {
    /// Handles the end of a slice.
    pub(super) fn slice(&mut self, entitled: i128, ran: i128) {
        self.entitled = self.entitled.saturating_add(entitled);
        self.ran = self.ran.saturating_add(ran);
    }

    /// Handles the end of a window, with its cycles and fair cycles: computes the debt of the
    /// slices before it, at most `most`.
    pub(crate) fn window(&mut self, cycles: u64, fair_cycles: u64, most: i128) {
        self.cycles = self.cycles.saturating_add(cycles);
        self.fair_cycles = self.fair_cycles.saturating_add(fair_cycles);
        let ratio = Q32::ratio(self.cycles, self.fair_cycles).min(MOST_RATIO);
        self.ratio = Some(ratio);
        // A slice may last for many windows.
        if self.entitled != 0 || self.ran != 0 {
            self.debt = self.behind(ratio).clamp(-most, most);
            self.forget();
        }
    }

    /// Drops the time since the debt was last computed, as nothing is known about it, or nothing
    /// can be done about it.
    pub(crate) fn pass(&mut self) {
        self.ratio = None;
        self.forget();
    }

    fn forget(&mut self) {
        (self.entitled, self.ran, self.cycles, self.fair_cycles) = (0, 0, 0, 0);
    }

    fn behind(&self, ratio: Q32) -> i128 {
        let needs = times(self.entitled, ratio);
        self.debt.saturating_add(needs).saturating_sub(self.ran)
    }

    /// Q' - Q: how much longer than `quantum` the thread's next turn is to be. The turn is between
    /// half and twice the quantum; the rest stays in the debt (decision cache-fair 4).
    pub(super) fn wanted(&self, quantum: i128) -> i128 {
        let Some(ratio) = self.ratio else { return 0 };
        let next = self.behind(ratio).saturating_add(times(quantum, ratio));
        next.clamp(quantum - quantum / 2, quantum.saturating_mul(2)) - quantum
    }
}

fn times(time: i128, ratio: Q32) -> i128 {
    nearest(time.saturating_mul(ratio.raw().into()), 1 << 32)
}

/// The cycles of a window, the cycles that it would have taken at the fair CPI, and the fair CPI;
/// `None` if a necessary counter is missing.
pub(super) fn judge(counters: &Counters, fit: &Fit, least_ideal: Q32) -> Option<(u64, u64, Q32)> {
    let (cycles, instructions) = (counters.cycles?, counters.instructions?);
    if cycles == 0 || instructions == 0 {
        return None;
    }
    let (mut stalls, mut fair) = (memory_stalls(counters)?, fit.memory_stalls);
    if let Some(store_buffer) = fit.store_buffer_stalls {
        stalls = add(stalls, share(counters, counters.stalls_store_buffer)?);
        fair = add(fair, store_buffer);
    }
    let fair = fair_cpi(ideal_cpi(Q32::ratio(cycles, instructions), stalls, least_ideal), fair);
    let fair_cycles = (u128::from(fair.raw()) * u128::from(instructions)) >> 32;
    Some((cycles, u64::try_from(fair_cycles).unwrap_or(u64::MAX).max(1), fair))
}

fn add(a: Q32, b: Q32) -> Q32 {
    Q32::from_raw(a.raw().saturating_add(b.raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decision 4: I + Q' / CPI = (C + Q) / FairCPI. With C = Q = 1000, CPI 6 and FairCPI 5, Q' =
    /// 2000 x 6/5 - 1000.
    #[test]
    fn decision_4_by_hand() {
        let mut account = Account::default();
        account.slice(1000, 1000);
        account.window(60, 50, 1 << 60);
        assert_eq!(account.wanted(1000), 400);
        // The next turn had that length: it is even, and wants only what its next turn needs.
        account.slice(1000, 1400);
        assert_eq!(account.wanted(1000), 200);
        // With its fair CPI again, it is ahead by the time that it was given in advance.
        account.window(50, 50, 1 << 60);
        assert_eq!((account.wanted(1000), account.debt), (-200, -200));
    }

    #[test]
    fn debt_that_does_not_fit_one_turn_is_kept_up_to_a_bound() {
        let mut account = Account::default();
        for _ in 0..4 {
            account.slice(1000, 1000);
        }
        account.window(300, 100, 5000);
        assert_eq!((account.wanted(1000), account.debt), (1000, 5000));
        account.pass();
        // While nothing is known, nothing is done and nothing is forgotten.
        assert_eq!((account.wanted(1000), account.debt), (0, 5000));
        account.window(1, 1, 5000);
        assert_eq!(account.wanted(1000), 1000);
    }

    /// A quantum may be as long as many windows.
    #[test]
    fn all_windows_of_a_slice_count() {
        let mut account = Account::default();
        account.window(20, 10, 1 << 60);
        account.window(10, 10, 1 << 60);
        account.slice(3000, 3000);
        account.window(0, 0, 1 << 60);
        // 30 cycles for 20.
        assert_eq!(account.debt, 1500);
    }
}
