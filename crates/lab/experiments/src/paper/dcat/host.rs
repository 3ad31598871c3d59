//! The host: a program that is unknown to the policy and in no class of service.

use fairways_core::{Action, AppId, Event, Partition, Policy, Time, WayMask, Ways};

/// A policy on a machine whose host runs a program of its own. The policy is not notified of that
/// program, which may fill every way.
pub(super) struct HostedPolicy {
    policy: Box<dyn Policy>,
    host: AppId,
    is_running: bool,
    everywhere: WayMask,
    partition: Partition,
}

impl HostedPolicy {
    pub(super) fn new(policy: Box<dyn Policy>, host: AppId, ways: Ways) -> Self {
        let everywhere = WayMask::full(ways);
        Self { policy, host, is_running: false, everywhere, partition: Partition::default() }
    }
}

impl Policy for HostedPolicy {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Self { policy, host, is_running, everywhere, partition } = self;
        match event {
            Event::Started { app, .. } if app == host => return *is_running = true,
            Event::Sampled(sample) if sample.app == *host => return,
            _ => {}
        }
        // The policy does not see the host's own cluster either.
        let answer = match event {
            Event::Applied { plan, actual } if *is_running => Some(Event::Applied {
                plan: *plan,
                actual: actual.restricted_to(|app| app != *host),
            }),
            _ => None,
        };
        let event = answer.as_ref().unwrap_or(event);
        policy.handle(at, event, &mut |action| match action {
            Action::Partition { plan, partition: own, reason } if *is_running => {
                partition.clone_from(&own);
                let cluster = partition.add_cluster(*everywhere);
                partition.place(*host, cluster);
                act(Action::Partition { plan, partition: (&*partition).into(), reason });
            }
            action => act(action),
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::setup::{CacheMode, DcatBench, FinishedRuns, among, tenant};

    /// The host fills the ways that tenants left: a stream that was cut to one way finds less of
    /// its data there, and the policy gives the tenants the same ways as without the host.
    #[test]
    fn a_host_fills_the_ways_that_tenants_left() {
        let finished = FinishedRuns::default();
        let bench = DcatBench::new("xeon-e5:sets=4096", 40, 1, &finished);
        let hosted = DcatBench { host: Some("mload:100M:cpi=2"), ..bench };
        let tenants = among(&[tenant("mload:7M", 3)], 5, 3);
        let [alone, beside] = [bench, hosted]
            .map(|bench| bench.run(&tenants, CacheMode::Dcat(bench.dcat), 16).unwrap());
        assert_eq!(alone.ways(0), beside.ways(0));
        assert_eq!(alone.final_ways(0), 1);
        fn hits(run: &super::super::setup::TenantRun) -> f64 {
            let last = run.0[0].last().unwrap().counted;
            1.0 - last.llc_misses as f64 / last.llc_references as f64
        }
        assert!(hits(&beside) < hits(&alone) / 2.0, "{} {}", hits(&beside), hits(&alone));
    }
}
