//! Programs that take turns on a chip: the common part of CASC's and cache-fair's experiments.

use std::time::Duration;

use fairways_chip::{Account, Chip, Geometry, PagePlacement, Settings};
use fairways_core::{Event, Policy, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::after_each::AfterEach;
pub(super) use crate::after_each::RunControl;

/// Solaris on a chip. It colours pages, so that a program's pages are spread over the cache's sets
/// as evenly as possible (McDougall and Mauro, Solaris Internals, on page coloring).
pub(super) fn solaris_settings(chip: Geometry, seed: u64) -> Settings {
    Settings { seed, placement: PagePlacement::Sequential, ..Settings::new(chip) }
}

/// `count` random times within a span at which programs start, so that they do not start at once.
pub(super) fn arrivals(seed: u64, count: usize, within: Duration) -> Vec<Time> {
    let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0xa221);
    let nanos = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
    fn at(bits: u64, nanos: u64) -> u64 {
        u64::try_from((u128::from(bits) * u128::from(nanos)) >> 64).unwrap_or(0)
    }
    (0..count).map(|_| Time::from_nanos(at(random.next_u64(), nanos))).collect()
}

/// Runs a chip under a policy until `look` stops the run, or until `end`; `look` is called with
/// each event after the policy. A stopped run continues with the next call.
pub(super) fn run<P: Policy + ?Sized>(
    chip: &mut Chip,
    policy: &mut P,
    end: Time,
    look: impl FnMut(Time, &Event, &Chip, &P) -> RunControl,
) {
    chip.stop_at(end);
    fairways_core::run(chip, policy, &mut [&mut AfterEach::new(look)]);
}

/// Runs a chip under a policy until `end`.
pub(super) fn run_until<P: Policy + ?Sized>(chip: &mut Chip, policy: &mut P, end: Time) {
    chip.stop_at(end);
    fairways_core::run(chip, policy, &mut []);
}

/// The accounts of the first `jobs` jobs.
pub(super) fn accounts(chip: &Chip, jobs: usize) -> Vec<Account> {
    (0..jobs).map(|job| chip.account(job)).collect()
}

/// The counts of a stretch of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    pub(super) each: Vec<Account>,
    /// The length, in seconds on the chip's clock.
    pub(super) seconds: f64,
}

impl Stretch {
    /// The counts from one set of accounts to the other.
    pub(super) fn between(from: &[Account], to: &[Account], seconds: f64) -> Self {
        let each = to.iter().zip(from).map(|(to, from)| to.minus(from)).collect();
        Self { each, seconds }
    }

    pub(super) fn sum(&self, counter: fn(&Account) -> u64) -> f64 {
        self.each.iter().map(counter).sum::<u64>() as f64
    }

    /// L2 misses per 100 references (CASC §4.2).
    pub(super) fn miss_rate(&self) -> f64 {
        100.0 * self.sum(|account| account.llc_misses) / self.sum(|account| account.llc_references)
    }

    /// Instructions per second.
    pub(super) fn throughput(&self) -> f64 {
        self.sum(|account| account.instructions) / self.seconds
    }

    /// The standard deviation of each job's time on a CPU, over its mean.
    pub(super) fn unevenness(&self) -> f64 {
        spread(&self.each.iter().map(Account::cycles).collect::<Vec<f64>>())
    }
}

/// The standard deviation of numbers over their mean.
pub(super) fn spread(numbers: &[f64]) -> f64 {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (squares / numbers.len() as f64).sqrt() / mean
}

/// The mean of numbers.
pub(super) fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The median of numbers.
pub(super) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

pub(super) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
