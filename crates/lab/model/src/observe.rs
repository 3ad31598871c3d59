//! How a policy sees counters: with noise and losses.

use fairways_core::{Counter, Counters, Q32};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::settings::Settings;

/// The source of everything random.
#[derive(Clone, Debug)]
pub(crate) struct RandomSource {
    rng: Pcg64Mcg,
    noise: f64,
    lost: f64,
    refusals: f64,
}

impl RandomSource {
    pub(crate) fn new(settings: &Settings) -> Self {
        let Settings { noise, lost, refusals, seed, .. } = *settings;
        Self { rng: Pcg64Mcg::seed_from_u64(seed), noise, lost, refusals }
    }

    /// The readings of these counters.
    pub(crate) fn counters(&mut self, counted: &Counters) -> Counters {
        if self.draws(self.lost) {
            return Counters::default();
        }
        Counters::from_fn(|counter| match (counter, counted.get(counter)) {
            (Counter::Instructions | Counter::CpuNanos, exact) => exact,
            (_, count) => count.map(|count| self.noisy(count)),
        })
    }

    /// An occupancy in ways.
    pub(crate) fn occupancy(&mut self, ways: f64) -> Option<Q32> {
        if self.draws(self.lost) {
            return None;
        }
        Some(Q32::from_raw(self.noisy(round(ways * (1u64 << 32) as f64))))
    }

    pub(crate) fn refuses(&mut self) -> bool {
        self.draws(self.refusals)
    }

    fn draws(&mut self, share: f64) -> bool {
        // A share of 0 draws no number, so that other draws do not change.
        share > 0.0 && self.unit() < share
    }

    fn noisy(&mut self, count: u64) -> u64 {
        if self.noise == 0.0 {
            return count;
        }
        round(count as f64 * (1.0 + self.noise * (2.0 * self.unit() - 1.0)))
    }

    /// A random number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        f64::from(self.rng.next_u32()) / (f64::from(u32::MAX) + 1.0)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are not negative and far below 2^64"
)]
fn round(value: f64) -> u64 {
    value.round() as u64
}
