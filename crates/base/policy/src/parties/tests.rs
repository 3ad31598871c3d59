use fairways_core::{
    Latencies, LatencyBin, Levers, LimitScope, Objective, Partition, Q32, WayMask, Ways, Wish,
};

use super::*;

const HALF: Duration = Duration::from_millis(500);
const MS: Duration = Duration::from_millis(1);

/// A machine with 11 ways, with a lever of bandwidth or without.
fn levers(with_bandwidth: bool) -> Levers {
    let [least, most] = [10, 100].map(|of| BandwidthLevel::new(of).unwrap());
    let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
    let lever = BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None };
    let llc = Llc::with_ways(Ways::new(11).unwrap());
    Levers { llc, bandwidth: with_bandwidth.then_some(lever) }
}

/// Services 0 to `services`, and a program without an objective.
struct PartiesBench {
    policy: Parties,
    levers: Levers,
    partition: Partition,
    at: Time,
    services: u32,
    reasons: Vec<alloc::string::String>,
}

impl PartiesBench {
    fn new(levers: Levers, services: u32) -> Self {
        let (policy, partition) = (Parties::default(), Partition::default());
        let mut bench =
            Self { policy, levers, partition, at: Time::ZERO, services, reasons: Vec::new() };
        bench.handle(&Event::Machine(levers));
        let slo = Duration::from_millis(10);
        let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
        for app in 0..=services {
            let objective = objective.filter(|_| app < services);
            let wish = Wish { objective, ..Wish::default() };
            bench.handle(&Event::Started { app: AppId(app), wish, profile: None });
        }
        bench
    }

    fn handle(&mut self, event: &Event) {
        let Self { policy, levers, partition, at, reasons, .. } = self;
        policy.handle(*at, event, &mut |action| {
            let Action::Partition { partition: planned, reason, .. } = action else { return };
            let placed = planned.placements().iter().map(|at| at.app);
            assert_eq!(planned.check_levers(*levers, placed), Ok(()));
            *partition = planned.into_owned();
            reasons.push(reason.into_owned());
        });
    }

    /// A period in which these are the services' tails, in ms.
    fn period(&mut self, tails: impl Fn(&Self, u32) -> u32) {
        self.at = self.at.after(HALF);
        for app in 0..self.services {
            let latency = MS * tails(self, app);
            // 98 of 100 are fast: the 99th percentile is the tail.
            let answered = [(MS / 2, 98), (latency, 2)];
            let answered = answered.map(|(latency, requests)| LatencyBin { latency, requests });
            let answered = answered.into();
            self.handle(&Event::Latency(Latencies { app: AppId(app), window: HALF, answered }));
        }
        self.handle(&Event::Woke);
    }

    fn ways(&self, app: u32) -> u32 {
        self.partition.mask_of(AppId(app)).map_or(0, WayMask::count)
    }

    fn level(&self, app: u32) -> Option<u32> {
        self.partition.level_of(AppId(app)).map(BandwidthLevel::get)
    }
}

/// §4: at first an even split.
#[test]
fn it_begins_with_equal_shares() {
    let bench = PartiesBench::new(levers(false), 2);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [3, 3, 5]);
}

/// §4: slack below 0.05 takes from best effort first, and the same resource as long as that helps.
#[test]
fn a_service_that_misses_its_target_gets_ways_of_best_effort_first() {
    let mut bench = PartiesBench::new(levers(false), 2);
    // 24 ms with three ways, 10 % less than its target with eight.
    for _ in 0..4 {
        bench.period(|bench, app| if app == 0 { 33 - 3 * bench.ways(0) } else { 9 });
    }
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [7, 3, 1]);
    // Then of the service with the most slack.
    bench.period(|bench, app| if app == 0 { 33 - 3 * bench.ways(0) } else { 9 });
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [8, 2, 1]);
    bench.period(|_, _| 9);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [8, 2, 1]);
}

/// §4: a unit that did not help is not returned; the next resource is tried.
#[test]
fn a_resource_that_does_not_help_gives_way_to_the_next() {
    let mut bench = PartiesBench::new(levers(true), 1);
    assert_eq!([bench.ways(0), bench.ways(1)], [5, 6]);
    for _ in 0..4 {
        bench.period(|bench, _| bench.level(1).map_or(20, |level| level / 5));
    }
    assert_eq!([bench.ways(0), bench.ways(1)], [6, 5]);
    assert_eq!([bench.level(0), bench.level(1)], [None, Some(70)]);
}

/// §4: slack above 0.2 gives a unit; slack below 0.05 after that returns it, and there is no
/// downsizing for 30 s.
#[test]
fn a_service_with_much_slack_gives_until_it_would_miss_its_target() {
    let mut bench = PartiesBench::new(levers(false), 1);
    fn tail(bench: &PartiesBench, _: u32) -> u32 {
        if bench.ways(0) >= 4 { 5 } else { 12 }
    }
    bench.period(tail);
    assert_eq!(bench.ways(0), 4);
    bench.period(tail);
    assert_eq!(bench.ways(0), 3);
    bench.period(tail);
    assert_eq!(bench.ways(0), 4);
    assert_eq!(bench.reasons.last().unwrap(), RETURNED);
    for _ in 0..59 {
        bench.period(tail);
        assert_eq!(bench.ways(0), 4);
    }
    bench.period(tail);
    assert_eq!(bench.ways(0), 3);
}

#[test]
fn without_services_nothing_is_divided() {
    let mut bench = PartiesBench::new(levers(true), 0);
    bench.period(|_, _| 1);
    assert_eq!((bench.ways(0), bench.level(0)), (11, None));
}
