//! Histograms that only grow, and what they grew by.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::Answered;

/// Requests by the longest that each of them may have taken, of each series: each counts, and begins anew, by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(BTreeMap<String, BTreeMap<Duration, u64>>);

impl Histogram {
    /// Adds a series in which each bucket counts those of the shorter ones as well; `None` if one counts fewer than a shorter one.
    pub(super) fn add_cumulative(
        &mut self,
        series: String,
        buckets: &BTreeMap<Duration, u64>,
    ) -> Option<()> {
        let of = self.0.entry(series).or_default();
        let mut shorter = 0;
        for (&bound, &requests) in buckets {
            let own = requests.checked_sub(shorter)?;
            let sum = of.entry(bound).or_default();
            *sum = sum.saturating_add(own);
            shorter = requests;
        }
        Some(())
    }

    fn of(&self, series: &str, bound: &Duration) -> u64 {
        self.0.get(series).and_then(|buckets| buckets.get(bound)).copied().unwrap_or(0)
    }

    /// What was counted since `before`; `None` if a bucket of a series counts fewer than then, or a series is gone that counted any, so that
    /// counting has begun anew in between.
    pub(super) fn since(&self, before: &Self) -> Option<Vec<Answered>> {
        let fell = |(series, buckets): (&String, &BTreeMap<Duration, u64>)| {
            buckets.iter().any(|(bound, &requests)| self.of(series, bound) < requests)
        };
        if before.0.iter().any(fell) {
            return None;
        }
        let mut grown: BTreeMap<Duration, u64> = BTreeMap::new();
        for (series, buckets) in &self.0 {
            for (bound, requests) in buckets {
                let sum = grown.entry(*bound).or_default();
                *sum = sum.saturating_add(requests - before.of(series, bound));
            }
        }
        let answered = grown.into_iter().filter(|&(_, requests)| requests > 0);
        Some(answered.map(|(latency, requests)| Answered { latency, requests }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(buckets: &[(u64, u64)]) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        let buckets = buckets.iter().map(|&(ms, requests)| (Duration::from_millis(ms), requests));
        histogram.add_cumulative("a".to_owned(), &buckets.collect()).map(|()| histogram)
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

    #[test]
    fn one_series_that_began_anew_is_not_hidden_by_another() {
        let with = |one: u64, other: Option<u64>| {
            let mut histogram = Histogram::default();
            for (name, requests) in [("a", Some(one)), ("b", other)] {
                if let Some(requests) = requests {
                    let buckets = [(Duration::from_millis(1), requests)].into();
                    histogram.add_cumulative(name.to_owned(), &buckets).unwrap();
                }
            }
            histogram
        };
        let before = with(10, Some(50));
        let requests =
            |now: Histogram| Some(now.since(&before)?.iter().map(|of| of.requests).sum());
        assert_eq!(requests(with(100, Some(2))), None::<u64>);
        assert_eq!(requests(with(100, None)), None);
        assert_eq!(requests(with(12, Some(53))), Some(5));
        assert_eq!(before.since(&with(10, None)).map(|of| of[0].requests), Some(50));
    }
}
