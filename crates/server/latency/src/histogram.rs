//! Histograms that only grow, and their growth.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::LatencyBin;

use super::{Bounds, UNBOUNDED};

/// Requests by latency, for each series: each series counts, and starts over, by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(BTreeMap<String, BTreeMap<Duration, Bucket>>);

/// A bucket; its upper bound is its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    /// Its lower bound: each request took longer.
    above: Duration,
    requests: u64,
}

/// The most latencies that a bucket's requests are spread over, and those of all buckets: the
/// server decides how many buckets there are.
const SLICES: usize = 8;
const MOST_SLICES: usize = 1024;

impl Histogram {
    /// Adds a series in which each bucket counts the requests of the shorter ones as well; `None`
    /// if one counts fewer than a shorter one.
    ///
    /// A bucket begins where the one before it ends, and no lower than `least` of its upper bound:
    /// some servers leave empty buckets out.
    pub(super) fn add_cumulative(
        &mut self,
        series: String,
        buckets: &BTreeMap<Duration, u64>,
        least: fn(Duration) -> Duration,
    ) -> Option<()> {
        let of = self.0.entry(series).or_default();
        let (mut shorter, mut above) = (0, Duration::ZERO);
        for (&bound, &requests) in buckets {
            let own = requests.checked_sub(shorter)?;
            let sum = of.entry(bound).or_default();
            sum.requests = sum.requests.saturating_add(own);
            sum.above = above.max(least(bound));
            (shorter, above) = (requests, bound);
        }
        Some(())
    }

    fn count(&self, series: &str, bound: &Duration) -> u64 {
        let bucket = self.0.get(series).and_then(|buckets| buckets.get(bound));
        bucket.map_or(0, |bucket| bucket.requests)
    }

    /// The widest bucket that a latency is in, as its two bounds; `None` if it is in none.
    pub(super) fn around(&self, latency: Duration) -> Option<Bounds> {
        let buckets = self.0.values().flatten().map(|(&bound, bucket)| (bucket.above, bound));
        let around = buckets.filter(|&(above, bound)| above < latency && latency <= bound);
        around.max_by_key(|&(above, bound)| bound - above)
    }

    /// The growth since `before`; `None` if a bucket of a series counts fewer than then, or a
    /// series that had counted is gone: counting started over in between.
    ///
    /// The requests of a bucket are spread evenly between its bounds, as Prometheus'
    /// `histogram_quantile` does, and none is put on a bound: a tail is above a bound exactly if
    /// too many requests were. For the bucket without an upper bound, all that is known is that
    /// they took longer than any bound.
    pub(super) fn since(&self, before: &Self) -> Option<Vec<LatencyBin>> {
        if before.0.iter().any(|(series, buckets)| {
            buckets.iter().any(|(bound, bucket)| self.count(series, bound) < bucket.requests)
        }) {
            return None;
        }
        let mut grown = Vec::new();
        for (series, buckets) in &self.0 {
            for (&bound, bucket) in buckets {
                let requests = bucket.requests - before.count(series, &bound);
                if requests > 0 {
                    grown.push((bucket.above, bound, requests));
                }
            }
        }
        let slices = (MOST_SLICES / grown.len().max(1)).clamp(1, SLICES);
        let mut spread: BTreeMap<Duration, u64> = BTreeMap::new();
        for (above, bound, requests) in grown {
            for (latency, requests) in between(above, bound, requests, slices) {
                let sum = spread.entry(latency).or_default();
                *sum = sum.saturating_add(requests);
            }
        }
        let answered = spread.into_iter();
        Some(answered.map(|(latency, requests)| LatencyBin { latency, requests }).collect())
    }
}

/// Spreads requests evenly over at most `slices` latencies, each the middle of its part.
fn between(
    above: Duration,
    bound: Duration,
    requests: u64,
    slices: usize,
) -> impl Iterator<Item = (Duration, u64)> {
    let slices = if bound == UNBOUNDED { 1 } else { u32::try_from(slices).unwrap_or(1) };
    let slices = u32::try_from(requests).map_or(slices, |requests| slices.min(requests));
    (0..slices).map(move |slice| {
        let (all, slice_count) = (u128::from(requests), u128::from(slices));
        let before = all * u128::from(slice) / slice_count;
        let own = all * u128::from(slice + 1) / slice_count - before;
        let latency = match bound {
            UNBOUNDED => UNBOUNDED,
            _ => above + bound.saturating_sub(above) / (2 * slices) * (2 * slice + 1),
        };
        (latency, u64::try_from(own).unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn whole(_: Duration) -> Duration {
        Duration::ZERO
    }

    fn of(buckets: &[(u64, u64)]) -> Option<Histogram> {
        let mut histogram = Histogram::default();
        let buckets = buckets.iter().map(|&(ms, requests)| (Duration::from_millis(ms), requests));
        histogram.add_cumulative("a".to_owned(), &buckets.collect(), whole).map(|()| histogram)
    }

    fn took(micros: u64, requests: u64) -> LatencyBin {
        LatencyBin { latency: Duration::from_micros(micros), requests }
    }

    #[test]
    fn a_histograms_growth_is_known_even_where_empty_buckets_are_left_out() {
        let before = of(&[(1, 10), (4, 12)]).unwrap();
        let now = of(&[(1, 10), (2, 13), (4, 16)]).unwrap();
        let thirds = [1166, 1499, 1833].map(|micros| took(micros, 1));
        let grown = now.since(&before).unwrap();
        assert!(
            grown.iter().zip(&[&thirds[..], &[took(3000, 1)]].concat()).all(|(one, other)| {
                one.requests == other.requests && one.latency.abs_diff(other.latency) < MS / 500
            }),
            "{grown:?}"
        );
        assert_eq!(grown.len(), 4);
        assert_eq!(now.since(&now), Some(vec![]));
    }

    /// The tail that `locpart` would see: the latency that at least `percent` of a hundred requests
    /// do not exceed.
    fn tail(answered: &[LatencyBin], percent: u64) -> Duration {
        let all: u64 = answered.iter().map(|of| of.requests).sum();
        let mut below = 0;
        answered
            .iter()
            .find(|of| {
                below += of.requests;
                below * 100 >= all * percent
            })
            .unwrap()
            .latency
    }

    #[test]
    fn an_objective_on_a_bound_is_met_if_enough_requests_were_within_it() {
        let none = Histogram::default();
        let tail = |buckets: &[(u64, u64)]| tail(&of(buckets).unwrap().since(&none).unwrap(), 95);
        assert!(tail(&[(5, 0), (10, 1000)]) < MS * 10, "all of them");
        assert!(tail(&[(5, 0), (10, 950), (25, 1000)]) < MS * 10, "just enough");
        assert!(tail(&[(5, 0), (10, 949), (25, 1000)]) > MS * 10, "one too few");
    }

    #[test]
    fn within_a_bucket_latencies_are_even() {
        let answered = of(&[(8, 0), (16, 800)]).unwrap().since(&Histogram::default()).unwrap();
        assert_eq!(answered.len(), SLICES);
        assert_eq!((answered[0].latency, answered[7].latency), (MS * 17 / 2, MS * 31 / 2));
        assert!(answered.iter().all(|of| of.requests == 100));
    }

    #[test]
    fn the_latencies_of_many_buckets_are_bounded() {
        let buckets: Vec<_> = (1..=3000).map(|ms| (ms, ms * 100)).collect();
        let answered = of(&buckets).unwrap().since(&Histogram::default()).unwrap();
        assert_eq!(answered.len(), 3000);
        assert_eq!(answered.iter().map(|of| of.requests).sum::<u64>(), 300_000);
    }

    #[test]
    fn the_widest_bucket_around_a_latency_is_found() {
        let histogram = of(&[(5, 0), (10, 0), (25, 0)]).unwrap();
        assert_eq!(histogram.around(MS * 20), Some((MS * 10, MS * 25)));
        assert_eq!(histogram.around(MS * 10), Some((MS * 5, MS * 10)), "a bound is in its bucket");
        assert_eq!(histogram.around(MS * 30), None);
    }

    #[test]
    fn the_growth_of_a_histogram_that_started_over_is_unknown() {
        let before = of(&[(1, 10), (4, 12)]).unwrap();
        assert_eq!(of(&[(1, 10), (4, 11)]).unwrap().since(&before), None);
        assert_eq!(of(&[(1, 100)]).unwrap().since(&before), None);
        assert_eq!(of(&[(1, 10), (4, 9)]), None, "no cumulative histogram");
    }

    fn with(one: u64, other: Option<u64>) -> Histogram {
        let mut histogram = Histogram::default();
        for (name, requests) in [("a", Some(one)), ("b", other)] {
            if let Some(requests) = requests {
                let buckets = [(Duration::from_millis(1), requests)].into();
                histogram.add_cumulative(name.to_owned(), &buckets, whole).unwrap();
            }
        }
        histogram
    }

    #[test]
    fn a_series_that_started_over_is_not_hidden_by_another() {
        let before = with(10, Some(50));
        let requests =
            |now: Histogram| Some(now.since(&before)?.iter().map(|of| of.requests).sum());
        assert_eq!(requests(with(100, Some(2))), None::<u64>);
        assert_eq!(requests(with(100, None)), None);
        assert_eq!(requests(with(12, Some(53))), Some(5));
        let since = before.since(&with(10, None)).unwrap();
        assert_eq!(since.iter().map(|of| of.requests).sum::<u64>(), 50);
    }
}
