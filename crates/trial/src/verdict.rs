//! Whether it helped: differences of pairs of blocks, with 95 % confidence intervals.
//!
//! The order in a pair is random, so that other changes over time affect both blocks alike.
//! Logarithms of ratios are compared: they are symmetric, and their mean over several programs is
//! the logarithm of the geometric mean.

use serde::Serialize;

use super::found::{Domain, Measure};

/// A smaller difference is not worth partitioning for.
pub const MATTERS: f64 = 0.01;

/// The fewest pairs for a verdict.
const LEAST: usize = 3;

/// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on; the last value is
/// for all beyond.
const T: [f64; 31] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042, 1.96,
];

/// A difference as a fraction of the value without partitioning: 0.1 is a tenth more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    pub(crate) by: f64,
    /// The ends of the interval.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Whether the policy helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is better with than without, by 1 % or more.
    Helped,
    /// There is no difference of 1 %.
    DidNot,
    /// It is worse with than without, by 1 % or more.
    DidHarm,
    /// The interval is too wide to decide.
    Inconclusive,
}

impl Difference {
    /// Computes it from logarithms of ratios; `None` if they are too few.
    pub(crate) fn of(logarithms: &[f64]) -> Option<Self> {
        let count = logarithms.len();
        if count < LEAST {
            return None;
        }
        let mean = logarithms.iter().sum::<f64>() / count as f64;
        let squares = logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        let wide = T[(count - 2).min(T.len() - 1)] * error;
        let part = |logarithm: f64| logarithm.exp() - 1.0;
        Some(Self { by: part(mean), low: part(mean - wide), high: part(mean + wide) })
    }

    /// The verdict for a measure that is better the larger it is.
    pub(crate) fn verdict(self) -> Verdict {
        let Self { by, low, high } = self;
        match () {
            () if low > 0.0 && by >= MATTERS => Verdict::Helped,
            () if high < 0.0 && by <= -MATTERS => Verdict::DidHarm,
            () if low > -MATTERS && high < MATTERS => Verdict::DidNot,
            () => Verdict::Inconclusive,
        }
    }
}

/// The difference of one measure of a program.
pub(crate) fn of_program(pairs: &[(f64, f64)]) -> Option<Difference> {
    let ratios: Vec<f64> = pairs.iter().map(|(with, without)| (with / without).ln()).collect();
    Difference::of(&ratios)
}

/// The difference of the geometric mean of IPC, over all programs that were measured in every pair.
pub(crate) fn of_all<'a>(domains: impl Iterator<Item = &'a Domain>) -> Option<Difference> {
    let mut pairs: Vec<(f64, u32)> = Vec::new();
    for domain in domains {
        let all: Vec<Vec<(f64, f64)>> =
            domain.programs().iter().map(|&app| domain.pairs(app, Measure::Ipc)).collect();
        let most = all.iter().map(Vec::len).max().unwrap_or(0);
        for whole in all.iter().filter(|pairs| pairs.len() == most) {
            pairs.resize(pairs.len().max(whole.len()), (0.0, 0));
            for (sum, (with, without)) in pairs.iter_mut().zip(whole) {
                *sum = (sum.0 + (with / without).ln(), sum.1 + 1);
            }
        }
    }
    let means: Vec<f64> = pairs.iter().map(|(sum, count)| sum / f64::from(*count)).collect();
    Difference::of(&means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ratios: &[f64]) -> Verdict {
        let pairs: Vec<(f64, f64)> = ratios.iter().map(|ratio| (*ratio, 1.0)).collect();
        of_program(&pairs).unwrap().verdict()
    }

    #[test]
    fn the_verdict_follows_from_the_interval() {
        assert_eq!(verdict(&[1.10, 1.12, 1.09, 1.11]), Verdict::Helped);
        assert_eq!(verdict(&[0.90, 0.92, 0.89, 0.91]), Verdict::DidHarm);
        assert_eq!(verdict(&[1.001, 0.999, 1.0, 1.002]), Verdict::DidNot);
        assert_eq!(verdict(&[1.5, 0.7, 1.2, 0.9]), Verdict::Inconclusive);
        // A difference that is certain, and too small to matter.
        assert_eq!(verdict(&[1.004, 1.005, 1.0045, 1.0055]), Verdict::DidNot);
        assert_eq!(Difference::of(&[0.1, 0.1]), None);
    }

    /// Numbers as in a textbook: 4 degrees of freedom, a variance of 6.25e-5 and 5 values.
    #[test]
    fn an_interval_is_students() {
        let logarithms = [1.0, 1.5, 2.0, 2.5, 3.0].map(|value: f64| value / 100.0);
        let found = Difference::of(&logarithms).unwrap();
        let half = 2.776 * (6.25e-5_f64 / 5.0).sqrt();
        assert!((found.by - (0.02_f64.exp() - 1.0)).abs() < 1e-12);
        assert!((found.high - ((0.02 + half).exp() - 1.0)).abs() < 1e-12);
        assert!((found.low - ((0.02 - half).exp() - 1.0)).abs() < 1e-12);
    }
}
