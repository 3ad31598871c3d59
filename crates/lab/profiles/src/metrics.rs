//! Fairness and throughput of a mix.

/// Fairness and throughput of a mix, from its programs' slowdowns (LFOC §2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairnessMetrics {
    /// The largest slowdown over the smallest, at least 1; lower is fairer (equation 3).
    pub unfairness: f64,
    /// System throughput, the sum of 1 / slowdown; at most the number of programs where no
    /// slowdown is below 1; higher is better (equation 4).
    pub stp: f64,
    /// Average normalised turnaround time, the mean slowdown; lower is better (Eyerman and
    /// Eeckhout, IEEE Micro 2008).
    pub antt: f64,
    /// Jain's index of the slowdowns, 1 / (1 + cov²), above 0 and at most 1; higher is fairer.
    pub jain: f64,
}

impl FairnessMetrics {
    /// The metrics of these slowdowns, each above 0, or NaN for one that is not known: then no
    /// metric is. Without slowdowns every metric is NaN, except for the throughput, which is 0.
    #[must_use]
    pub fn from_slowdowns(slowdowns: &[f64]) -> Self {
        let count = slowdowns.len() as f64;
        let mean = slowdowns.iter().sum::<f64>() / count;
        let largest = slowdowns.iter().copied().fold(f64::NAN, f64::max);
        let smallest = slowdowns.iter().copied().fold(f64::NAN, f64::min);
        let variance = slowdowns.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / count;
        Self {
            // `max` and `min` leave NaN out; the mean does not.
            unfairness: if mean.is_nan() { mean } else { largest / smallest },
            stp: slowdowns.iter().map(|s| 1.0 / s).sum(),
            antt: mean,
            jain: 1.0 / (1.0 + variance / (mean * mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_programs() {
        let m = FairnessMetrics::from_slowdowns(&[1.0, 2.0]);
        assert_eq!((m.unfairness, m.stp, m.antt), (2.0, 1.5, 1.5));
        // Mean 1.5, variance 0.25: cov² = 1/9.
        assert!((m.jain - 0.9).abs() < 1e-15);
    }

    #[test]
    fn nothing_is_not_zero() {
        let m = FairnessMetrics::from_slowdowns(&[]);
        assert!(m.unfairness.is_nan() && m.antt.is_nan() && m.jain.is_nan());
    }

    #[test]
    fn what_is_not_known_of_a_program_is_not_known_of_the_mix() {
        let m = FairnessMetrics::from_slowdowns(&[f64::NAN, 1.5, 1.0]);
        assert!([m.unfairness, m.stp, m.antt, m.jain].iter().all(|metric| metric.is_nan()));
    }
}
