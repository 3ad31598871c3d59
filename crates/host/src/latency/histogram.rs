//! Histograms that only grow, and what they grew by.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::Answered;

/// Requests by the longest that each of them may have taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(BTreeMap<Duration, u64>);

impl Histogram {
    /// Adds a histogram in which each bucket counts those of the shorter ones as well; `None` if one counts fewer than a shorter one.
    pub(super) fn add_cumulative(&mut self, buckets: &BTreeMap<Duration, u64>) -> Option<()> {
        let mut shorter = 0;
        for (&bound, &requests) in buckets {
            let own = requests.checked_sub(shorter)?;
            let sum = self.0.entry(bound).or_default();
            *sum = sum.saturating_add(own);
            shorter = requests;
        }
        Some(())
    }

    /// What was counted since `before`; `None` if a bucket counts fewer than then, so that counting has begun anew in between.
    pub(super) fn since(&self, before: &Self) -> Option<Vec<Answered>> {
        let now = |bound| self.0.get(bound).copied().unwrap_or(0);
        if before.0.iter().any(|(bound, &requests)| now(bound) < requests) {
            return None;
        }
        let grown = self.0.iter().map(|(bound, &requests)| Answered {
            latency: *bound,
            requests: requests - before.0.get(bound).copied().unwrap_or(0),
        });
        Some(grown.filter(|answered| answered.requests > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(buckets: &[(u64, u64)]) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        let buckets = buckets.iter().map(|&(ms, requests)| (Duration::from_millis(ms), requests));
        histogram.add_cumulative(&buckets.collect()).map(|()| histogram)
    }

    #[test]
    fn a_histogram_tells_what_it_grew_by_even_where_empty_buckets_are_left_out() {
        let before = of(&[(1, 10), (4, 12)]).unwrap();
        let now = of(&[(1, 10), (2, 13), (4, 16)]).unwrap();
        let took = |ms, requests| Answered { latency: Duration::from_millis(ms), requests };
        assert_eq!(now.since(&before), Some(vec![took(2, 3), took(4, 1)]));
        assert_eq!(now.since(&now), Some(vec![]));
    }

    #[test]
    fn one_that_began_anew_is_unknown() {
        let before = of(&[(1, 10), (4, 12)]).unwrap();
        assert_eq!(of(&[(1, 10), (4, 11)]).unwrap().since(&before), None);
        assert_eq!(of(&[(1, 100)]).unwrap().since(&before), None);
        assert_eq!(of(&[(1, 10), (4, 9)]), None, "no cumulative histogram");
    }
}
