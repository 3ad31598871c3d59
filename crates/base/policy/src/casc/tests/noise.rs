//! The effect of wrong measurements on scores (§4.2: within 30 % in the worst case).

use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::bench::{Bench, thread};
use crate::casc::Parameters;

/// Runs every row with its rate off by up to so many percent; whether each was known at the end.
fn measured(truth: &[i64], noise: &[i64]) -> Bench {
    let cpus = u32::try_from(truth.len() - 1).unwrap();
    let parameters = Parameters { delay: Duration::ZERO, ..Parameters::default() };
    let mut bench = Bench::with(cpus, truth, parameters);
    for (out, noise) in (0..=cpus).zip(noise) {
        let row: Vec<u32> = (0..=cpus).filter(|&app| app != out).collect();
        let sum: i64 = row.iter().map(|&app| truth[app as usize]).sum();
        let misses = sum * 1_000_000 / i64::from(cpus) * (100 + noise) / 100;
        bench.ran_with(&row, 2000, u64::try_from(misses).unwrap());
    }
    bench
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 300, ..ProptestConfig::default()
    })]

    /// x_j = sum of rates - n rate_j: noise of p percent moves a score by at most p percent of the
    /// sum of the n + 1 rates and n times its own row's, and never out of 0 to 100.
    #[test]
    fn a_score_is_off_by_no_more_than_the_rows_are(
        truth in prop::collection::vec(0i64..=70, 9),
        noise in prop::collection::vec(-5i64..=5, 9),
    ) {
        let bench = measured(&truth, &noise);
        let total: i64 = truth.iter().sum();
        for (app, &own) in (0..).zip(&truth) {
            let score = i64::try_from(bench.pcmr(app).unwrap().raw()).unwrap();
            let raw = bench.casc.raw_pcmr(thread(app)).unwrap();
            prop_assert!((0..=100 << 32).contains(&score));
            prop_assert_eq!(score, raw.clamp(0, 100 << 32));
            // The rates sum up to the total, and n times the own row's is the total less the own.
            let most = ((2 * total - own) << 32) / 20 + (1 << 24);
            prop_assert!((raw - (own << 32)).abs() <= most, "{app}: {raw} for {own}");
        }
    }

    /// Noise that cancels out within a measurement does no harm.
    #[test]
    fn noise_within_a_measurement_averages_out(
        truth in prop::collection::vec(10i64..=60, 5),
        noise in prop::collection::vec(0u64..=9_000_000, 5),
    ) {
        let parameters = Parameters { delay: Duration::ZERO, ..Parameters::default() };
        let mut bench = Bench::with(4, &truth, parameters);
        for (out, noise) in (0..5).zip(noise) {
            let row: Vec<u32> = (0..5).filter(|&app| app != out).collect();
            let sum: i64 = row.iter().map(|&app| truth[app as usize]).sum();
            let misses = u64::try_from(sum).unwrap() * 250_000;
            bench.ran_with(&row, 1000, misses - noise);
            bench.ran_with(&row, 1000, misses + noise);
        }
        for app in 0..5 {
            prop_assert!(bench.knows(app));
        }
    }
}
