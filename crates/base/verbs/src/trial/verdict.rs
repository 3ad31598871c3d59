//! Whether it helped: differences of pairs of blocks, with 95 % confidence intervals.
//!
//! The order in a pair is random, so that other changes over time affect both blocks alike.
//! Logarithms of ratios are compared: they are symmetric, and their mean over several programs is
//! the logarithm of the geometric mean.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use fairways_core::AppId;
use serde::Serialize;

use super::found::{Arm, Found, Measure};

/// A smaller difference is not worth partitioning for.
pub const MATTERS: f64 = 0.01;

/// The fewest pairs for a verdict.
const LEAST: usize = 3;

/// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The same for any number of degrees.
const NORMAL: f64 = 1.959_964;

/// Student's t for a two-sided interval of 95 %; beyond the table by the first terms of its
/// expansion in the degrees' inverse (Abramowitz and Stegun, 26.7.5), which are within 0.0001.
fn t(degrees: usize) -> f64 {
    T.get(degrees - 1).copied().unwrap_or_else(|| {
        let (z, degrees) = (NORMAL, degrees as f64);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        z + (z.powi(3) + z) / 4.0 / degrees + second / degrees.powi(2)
    })
}

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
    /// The policy limited no program, or had no time to.
    NothingWasTried,
}

impl Verdict {
    /// In a table.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Helped => "helped",
            Self::DidNot => "did not help",
            Self::DidHarm => "did harm",
            Self::Inconclusive => "inconclusive",
            Self::NothingWasTried => "nothing was tried",
        }
    }
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
        let wide = t(count - 1) * error;
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

/// IPC of all programs.
#[derive(Debug)]
pub(crate) struct Overall {
    /// The difference of the geometric mean; `None` if too little was measured.
    pub(crate) difference: Option<Difference>,
    /// Number of programs in it. A program that would leave fewer than half of the pairs of the
    /// one that was measured in most is not.
    pub(crate) programs: usize,
    /// Number of programs that ran.
    pub(crate) of: usize,
    /// Number of pairs in which all programs in it were measured.
    pub(crate) pairs: usize,
}

impl Overall {
    /// IPC with the first of these in force over that with the second.
    pub(crate) fn new(found: &Found, arms: [Arm; 2]) -> Self {
        let rounds = found.rounds();
        let mut all: Vec<(AppId, Vec<Option<f64>>)> = Vec::new();
        for domain in found.domains.values().filter(|domain| domain.tries(arms)) {
            all.extend(domain.programs().into_iter().map(|app| {
                let pairs = domain.every_pair(app, Measure::Ipc, arms, rounds);
                (app, pairs.map(|pair| pair.map(|(with, without)| (with / without).ln())).collect())
            }));
        }
        all.sort_by_key(|(_, pairs)| Reverse(measured(pairs)));
        let most = all.first().map_or(0, |(_, pairs)| measured(pairs));
        let (mut left_out, mut each) = (BTreeSet::new(), Vec::new());
        // By pair, the sum so far; `None` where a program lacks it.
        let mut sums = all.first().map_or(Vec::new(), |(_, pairs)| vec![Some(0.0); pairs.len()]);
        for (app, pairs) in &all {
            let with = sums.iter().zip(pairs).map(|(sum, of)| Some((*sum)? + (*of)?));
            let with: Vec<Option<f64>> = with.collect();
            if measured(&with) > 0 && 2 * measured(&with) >= most {
                sums = with;
                each.push(app);
            } else {
                left_out.insert(app);
            }
        }
        let means: Vec<f64> =
            sums.into_iter().flatten().map(|sum| sum / each.len() as f64).collect();
        let of = all.iter().map(|(app, _)| app).collect::<BTreeSet<_>>().len();
        // Without a program, no sum is of anything.
        let pairs = if each.is_empty() { 0 } else { means.len() };
        let difference = Difference::of(&means[..pairs]);
        Self { difference, programs: of - left_out.len(), of, pairs }
    }
}

/// Number of pairs in which it was measured.
fn measured(pairs: &[Option<f64>]) -> usize {
    pairs.iter().flatten().count()
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

    #[test]
    fn few_degrees_and_many_have_students_quantile() {
        for (degrees, expected) in
            [(1, 12.706), (30, 2.042), (31, 2.040), (60, 2.000), (120, 1.980)]
        {
            assert!((t(degrees) - expected).abs() < 0.0006, "{degrees}: {}", t(degrees));
        }
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
