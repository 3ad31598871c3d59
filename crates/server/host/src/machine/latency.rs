//! The latencies of a service, reported to each of its domains.

use std::collections::BTreeMap;

use fairways_core::LatencyBin;

/// The latencies of a service.
pub(super) struct Latency {
    source: Box<dyn fairways_latency::Source>,
    /// By domain: the latencies that are not reported to its policy yet; `None` if they are
    /// unknown.
    pending: BTreeMap<u32, Option<Vec<LatencyBin>>>,
}

impl Latency {
    /// The latencies of a service in these domains, from now on.
    pub(super) fn new(source: Box<dyn fairways_latency::Source>, domains: &[u32]) -> Self {
        let pending = domains.iter().map(|&domain| (domain, Some(Vec::new()))).collect();
        Self { source, pending }
    }

    /// The source of the latencies.
    pub(super) fn into_source(self) -> Box<dyn fairways_latency::Source> {
        self.source
    }

    /// The latencies since the last report to this domain's policy.
    pub(super) fn take(&mut self, domain: u32) -> Option<Vec<LatencyBin>> {
        let new = self.source.answered();
        for pending in self.pending.values_mut() {
            *pending = pending.take().zip(new.as_deref()).map(|(before, new)| merged(before, new));
        }
        let pending = self.pending.insert(domain, Some(Vec::new()));
        pending.unwrap_or(new)
    }
}

/// The sum of two histograms, from the shortest latency to the longest.
fn merged(mut one: Vec<LatencyBin>, other: &[LatencyBin]) -> Vec<LatencyBin> {
    one.extend_from_slice(other);
    one.retain(|answered| answered.requests > 0);
    one.sort_by_key(|answered| answered.latency);
    one.dedup_by(|next, kept| {
        let is_same = next.latency == kept.latency;
        if is_same {
            kept.requests = kept.requests.saturating_add(next.requests);
        }
        is_same
    });
    one
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Scripted(Vec<Option<Vec<LatencyBin>>>);

    impl fairways_latency::Source for Scripted {
        fn answered(&mut self) -> Option<Vec<LatencyBin>> {
            self.0.remove(0)
        }
    }

    fn answered(of: &[(u64, u64)]) -> Vec<LatencyBin> {
        let of = of.iter().map(|&(millis, requests)| LatencyBin {
            latency: Duration::from_millis(millis),
            requests,
        });
        of.collect()
    }

    #[test]
    fn every_request_is_reported_to_every_domain_once() {
        let story = vec![
            Some(answered(&[(1, 5), (3, 1)])),
            Some(answered(&[(1, 2), (2, 4)])),
            None,
            Some(answered(&[(9, 9)])),
            Some(answered(&[])),
        ];
        let pending = [(0, Some(Vec::new())), (7, Some(Vec::new()))].into();
        let mut latency = Latency { source: Box::new(Scripted(story)), pending };
        assert_eq!(latency.take(0), Some(answered(&[(1, 5), (3, 1)])));
        assert_eq!(latency.take(7), Some(answered(&[(1, 7), (2, 4), (3, 1)])));
        // The silent window is unknown to both domains, until that was reported to each.
        assert_eq!(latency.take(0), None);
        assert_eq!(latency.take(7), None);
        assert_eq!(latency.take(0), Some(answered(&[(9, 9)])));
    }
}
