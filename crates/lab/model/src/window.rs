//! Counters of programs, and windows under way.

use fairways_core::{Counters, Time, WindowLength};

use crate::rates::RatesPerSecond;

/// A program's counts since it started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CounterTotals(RatesPerSecond);

impl CounterTotals {
    pub(crate) fn advance(&mut self, rates: &RatesPerSecond, seconds: f64) {
        let Self(total) = self;
        total.instructions += rates.instructions * seconds;
        total.cycles += rates.cycles * seconds;
        total.l1_references += rates.l1_references * seconds;
        total.llc_references += rates.llc_references * seconds;
        total.llc_misses += rates.llc_misses * seconds;
        total.stalls_l2_miss += rates.stalls_l2_miss * seconds;
        total.memory_bytes += rates.memory_bytes * seconds;
    }

    pub(crate) fn instructions(&self) -> f64 {
        self.0.instructions
    }

    /// The counts since `from`, in whole counters.
    pub(crate) fn since(&self, from: &Self) -> Counters {
        let (Self(now), Self(from)) = (self, from);
        Counters {
            instructions: counted(now.instructions, from.instructions),
            cycles: counted(now.cycles, from.cycles),
            // It is missing from the start or never.
            l1_references: counted(now.l1_references, from.l1_references)
                .filter(|_| !now.l1_references.is_nan()),
            llc_references: counted(now.llc_references, from.llc_references),
            llc_misses: counted(now.llc_misses, from.llc_misses),
            stalls_l2_miss: counted(now.stalls_l2_miss, from.stalls_l2_miss),
            // Profiles do not have them.
            stalls_llc_miss: None,
            stalls_store_buffer: None,
            memory_bytes: counted(now.memory_bytes, from.memory_bytes),
            cpu_nanos: None,
        }
    }
}

/// The difference of two totals, in whole counters.
fn counted(total: f64, before: f64) -> Option<u64> {
    Some(whole(total) - whole(before))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is counted only grows, and a year of it is below 2^64"
)]
fn whole(total: f64) -> u64 {
    total as u64
}

/// A window that is under way.
pub(crate) type Window = fairways_core::machine::OpenWindow<CounterTotals>;

/// The nanoseconds that a window still lasts while `rate` instructions retire a second, if it is
/// `overshoot` times as long as requested; 0 at its end.
pub(crate) fn nanos_left(
    window: &Window,
    overshoot: f64,
    now: Time,
    totals: &CounterTotals,
    rate: f64,
) -> u64 {
    match window.length {
        WindowLength::Instructions(requested) => {
            // Whole counters have counted them all.
            let end =
                window.start_counts.instructions().floor() + requested.max(1) as f64 * overshoot;
            whole_nanos((end.ceil() - totals.instructions()).max(0.0) / rate)
        }
        WindowLength::Time(requested) => {
            let span = (requested.as_nanos().max(1) as f64 * overshoot).ceil();
            let past = now.nanos() - window.start.nanos();
            whole(span).saturating_sub(past)
        }
    }
}

/// Nanoseconds, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds to the next event are not negative; as many as do not fit are forever"
)]
pub(crate) fn whole_nanos(seconds: f64) -> u64 {
    (seconds * 1e9).ceil() as u64
}
