//! Limits of memory bandwidth, on a bus that is shared in proportion to what programs ask for.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    BandwidthLevel, BandwidthLever, BandwidthUnit, Counters, Latencies, LatencyBin, Levers,
    LimitScope, Objective, Partition, PartitionError, Q32, Sample, Ways, Wish,
};

use crate::fairways::learner::flat;
use crate::fairways::*;

/// MB/s of a core by MBA's level, as measured: steps of ten, from 10 % on.
const CAPS: [u64; 10] =
    [2000, 3100, 4200, 6500, 7900, 7900, 9700, 9700, 9700, u64::MAX / 1_000_000];

/// What a program asks for, MB/s, and whether it streams; a program that does not is as slow as the
/// bus.
#[derive(Clone, Copy)]
struct BusLoad {
    mbps: u64,
    streams: bool,
    wish: Wish,
}

const fn stream(mbps: u64) -> BusLoad {
    let wish = Wish { baseline_ways: None, best_effort: false, objective: None, importance: None };
    BusLoad { mbps, streams: true, wish }
}

const fn sensitive(mbps: u64) -> BusLoad {
    BusLoad { streams: false, ..stream(mbps) }
}

fn best_effort(mbps: u64) -> BusLoad {
    BusLoad { wish: Wish { best_effort: true, ..Wish::default() }, ..stream(mbps) }
}

fn lever(unit: BandwidthUnit, scope: LimitScope, capacity_mbps: Option<u32>) -> BandwidthLever {
    let [least, most] = match unit {
        BandwidthUnit::Percent => [10, 100],
        _ => [1, 2048],
    };
    let [least, most] = [least, most].map(|value| BandwidthLevel::new(value).unwrap());
    BandwidthLever { unit, least, step: least, most, scope, capacity_mbps }
}

fn mba(capacity_mbps: u32) -> Option<BandwidthLever> {
    Some(lever(BandwidthUnit::Percent, LimitScope::Core, Some(capacity_mbps)))
}

/// A machine with a bus, and the policy that manages it.
struct BusBench {
    policy: Fairways,
    levers: Levers,
    capacity: u64,
    loads: Vec<BusLoad>,
    partition: Partition,
    plan: Option<PlanId>,
    reasons: Vec<String>,
    at: Time,
    /// Requests of a service with an objective that are late, of a thousand, by what programs ask
    /// for, in percent of the capacity.
    late: fn(asked_percent: u64) -> u64,
    lacks_bytes: bool,
    /// Whether the machine refuses plans with limits, and how many it has refused.
    refuses: bool,
    refused: u32,
    /// Whether a program that is limited to this level or below is of no use to others.
    is_useless: bool,
    /// Whether streams compute for half of their time, and so feel the bus less than others.
    do_streams_compute: bool,
}

impl BusBench {
    /// A policy whose objective is throughput: a step is judged by the change of all speeds.
    fn new(bandwidth: Option<BandwidthLever>, capacity: u64, loads: &[BusLoad]) -> Self {
        let objective = crate::fairways::Objective::Stp;
        let policy = Fairways::new(Parameters { objective, ..Parameters::default() });
        Self::with_policy(policy, bandwidth, capacity, loads)
    }

    fn with_policy(
        policy: Fairways,
        bandwidth: Option<BandwidthLever>,
        capacity: u64,
        loads: &[BusLoad],
    ) -> Self {
        let llc = Llc { clos: 8, ..Llc::with_ways(Ways::new(11).unwrap()) };
        let mut bench = Self {
            policy,
            levers: Levers { llc, bandwidth },
            capacity,
            loads: Vec::new(),
            partition: Partition::default(),
            plan: None,
            reasons: Vec::new(),
            at: Time::ZERO,
            late: |_| 0,
            lacks_bytes: false,
            refuses: false,
            refused: 0,
            is_useless: false,
            do_streams_compute: false,
        };
        bench.report(&Event::Machine(bench.levers));
        loads.iter().for_each(|load| bench.start(*load));
        bench
    }

    fn start(&mut self, load: BusLoad) {
        let app = AppId(u32::try_from(self.loads.len()).unwrap());
        self.loads.push(load);
        let profile = Some(Arc::new(flat(self.levers.llc.ways)));
        self.report(&Event::Started { app, wish: load.wish, profile });
    }

    fn report(&mut self, event: &Event) {
        let mut plans = 0;
        let in_force = self.partition.clone();
        let before: Vec<Option<u32>> = (0..self.loads.len()).map(|app| self.level(app)).collect();
        let Self { policy, levers, partition, plan, reasons, at, .. } = self;
        policy.handle(*at, event, &mut |action| {
            let Action::Partition { plan: id, partition: planned, reason } = action else { return };
            let placed = planned.placements().iter().map(|at| at.app);
            assert_eq!(planned.check_levers(*levers, placed), Ok(()));
            *partition = planned.into_owned();
            *plan = Some(id);
            reasons.push(reason.into_owned());
            plans += 1;
        });
        let changed = (0..before.len()).filter(|&app| self.level(app) != before[app]).count();
        assert!(changed <= 1 || matches!(event, Event::Woke) && self.lacks_bytes, "{changed}");
        if let (Some(plan), true, true) =
            (self.plan, self.refuses, self.levels().iter().any(Option::is_some))
        {
            (self.partition, self.refused) = (in_force, self.refused + 1);
            let why = PartitionError::Failed;
            self.policy.handle(self.at, &Event::Refused { plan, why }, &mut |_| ());
        } else if let (Some(plan), true) = (self.plan, plans > 0) {
            let actual = self.partition.clone();
            self.policy.handle(self.at, &Event::Applied { plan, actual }, &mut |_| ());
        }
    }

    fn level(&self, app: usize) -> Option<u32> {
        let app = AppId(u32::try_from(app).unwrap());
        self.partition.level_of(app).map(BandwidthLevel::get)
    }

    /// What each program asks for, MB/s.
    fn asked(&self) -> Vec<u64> {
        let asked = self.loads.iter().enumerate().map(|(app, load)| {
            let cap = self.level(app).map_or(u64::MAX, |level| match self.levers.bandwidth {
                Some(lever) if lever.scope == LimitScope::Core => CAPS[level as usize / 10 - 1],
                _ => u64::from(level) * 125,
            });
            load.mbps.min(cap)
        });
        asked.collect()
    }

    /// What each program moves in a second, MB, and how fast it is of 1000.
    fn rates(&self) -> Vec<(u64, u64)> {
        let asked = self.asked();
        let all = asked.iter().sum::<u64>().max(self.capacity);
        let rates = self.loads.iter().zip(asked).map(|(load, asked)| {
            let mbps = asked * self.capacity / all;
            let is_free = load.mbps == 0 || (!load.streams && self.is_useless);
            let speed = if is_free { 1000 } else { mbps * 1000 / load.mbps };
            let computes = load.streams && self.do_streams_compute;
            (mbps, if computes { u64::midpoint(speed, 1000) } else { speed })
        });
        rates.collect()
    }

    /// Lets windows and an alarm pass, this often a quarter of a second.
    fn run(&mut self, quarters: u32) {
        for _ in 0..quarters {
            for _ in 0..5 {
                self.at = self.at.after(Duration::from_millis(50));
                self.windows();
            }
            self.report(&Event::Woke);
        }
    }

    fn windows(&mut self) {
        let rates = self.rates();
        let asked = self.asked().iter().sum::<u64>() * 100 / self.capacity;
        for (app, (mbps, speed)) in (0..).map(AppId).zip(rates) {
            let load = self.loads[app.0 as usize];
            let counters = Counters {
                instructions: Some(speed * 100_000),
                cycles: Some(100_000_000),
                llc_references: Some(1000),
                llc_misses: Some(if load.streams { 900 } else { 300 }),
                memory_bytes: (!self.lacks_bytes).then_some(mbps * 50_000),
                ..Counters::default()
            };
            let window = Duration::from_millis(50);
            let (occupancy, plan) = (Some(Q32::ONE), self.plan);
            self.report(&Event::Sampled(Sample {
                occupancy,
                plan,
                ..Sample::new(app, counters, window)
            }));
            if load.wish.objective.is_some() {
                let late = (self.late)(asked);
                let answered =
                    [(1, 1000 - late), (9, late)].into_iter().filter(|(_, requests)| *requests > 0);
                let answered = answered.map(|(millis, requests)| LatencyBin {
                    latency: Duration::from_millis(millis),
                    requests,
                });
                let answered = answered.collect();
                self.report(&Event::Latency(Latencies { app, window, answered }));
            }
        }
    }

    fn steps_taken_back(&self) -> usize {
        self.reasons.iter().filter(|reason| reason.contains("taken back")).count()
    }

    fn levels(&self) -> Vec<Option<u32>> {
        (0..self.loads.len()).map(|app| self.level(app)).collect()
    }
}

#[test]
fn a_bus_with_room_is_never_limited() {
    for loads in [&[stream(5000), stream(3000), sensitive(900)][..], &[stream(4000); 3], &[]] {
        let mut bench = BusBench::new(mba(14_000), 14_000, loads);
        bench.run(400);
        assert_eq!(bench.levels(), vec_of_none(loads.len()), "{:?}", bench.reasons);
    }
}

fn sum_of_speeds(rates: &[(u64, u64)]) -> u64 {
    rates.iter().map(|(_, speed)| speed).sum()
}

fn vec_of_none(count: usize) -> Vec<Option<u32>> {
    (0..count).map(|_| None).collect()
}

/// Others gain more than the streams lose, until a limit costs more than three fifths of a stream's
/// speed; then nothing changes any more.
#[test]
fn streams_on_a_full_bus_are_limited_step_by_step_and_then_left_alone() {
    let loads = [stream(9000), stream(5000), sensitive(1500), sensitive(1500), sensitive(1500)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    let before = bench.rates();
    bench.run(200);
    let (levels, plans) = (bench.levels(), bench.reasons.len());
    assert!(levels[0].is_some() && levels[2..] == vec_of_none(3), "{levels:?}");
    let now = bench.rates();
    assert!(sum_of_speeds(&now) > sum_of_speeds(&before), "{before:?} {now:?}");
    for (before, now) in before.iter().zip(&now) {
        assert!(now.1 * 100 >= before.1 * 60, "{before:?} {now:?}");
    }
    // Only what is barred is tried again, ever more rarely.
    bench.run(2400);
    assert_eq!(bench.levels(), levels);
    assert!(bench.reasons.len() <= plans + 40, "{:?}", bench.reasons);
}

/// All are equally slow without a limit: whatever it brings the others, the stream is slower then.
#[test]
fn a_step_that_makes_the_plan_less_fair_is_taken_back_though_the_sum_gains() {
    let loads = [stream(9000), stream(5000), sensitive(1500), sensitive(1500), sensitive(1500)];
    let policy = Fairways::default();
    let mut bench = BusBench::with_policy(policy, mba(12_000), 12_000, &loads);
    bench.run(100);
    assert_eq!(bench.levels(), vec_of_none(5), "{:?}", bench.reasons);
    assert!(bench.steps_taken_back() >= 2, "{:?}", bench.reasons);
}

/// A stream that computes for half of its time is the least slowed.
#[test]
fn a_step_that_makes_the_plan_fairer_stays() {
    let loads = [stream(9000), sensitive(3000), sensitive(3000), sensitive(1500)];
    let policy = Fairways::default();
    let mut bench = BusBench::with_policy(policy, mba(12_000), 12_000, &loads);
    bench.do_streams_compute = true;
    let before = bench.rates();
    bench.run(200);
    assert!(bench.level(0).is_some(), "{:?}", bench.reasons);
    let now = bench.rates();
    let [unfair, fair] = [&before, &now].map(|rates| rates[0].1 * 1000 / rates[1].1);
    assert!(fair < unfair, "{before:?} {now:?}");
}

#[test]
fn a_best_effort_program_goes_before_one_that_streams() {
    let loads = [stream(9000), best_effort(4500), sensitive(1500), sensitive(1500)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    for _ in 0..40 {
        bench.run(1);
        if bench.levels() != vec_of_none(4) {
            break;
        }
    }
    assert!(bench.level(1).is_some() && bench.level(0).is_none(), "{:?}", bench.levels());
    assert!(bench.reasons.last().unwrap().contains("best-effort"));
}

#[test]
fn what_was_promised_and_what_hits_the_cache_is_not_limited() {
    let promised =
        BusLoad { wish: Wish { baseline_ways: Some(2), ..Wish::default() }, ..stream(9000) };
    let mut bench =
        BusBench::new(mba(12_000), 12_000, &[promised, sensitive(4000), sensitive(2000)]);
    bench.run(200);
    assert_eq!(bench.levels(), vec_of_none(3));
}

/// The others do not use the bus that the stream leaves them.
#[test]
fn a_limit_that_helps_nobody_is_taken_back_and_tried_ever_more_rarely() {
    let mut bench =
        BusBench::new(mba(12_000), 12_000, &[stream(9500), sensitive(2000), sensitive(2000)]);
    bench.is_useless = true;
    bench.run(60);
    assert_eq!(bench.levels(), vec_of_none(3), "{:?}", bench.reasons);
    assert_eq!(bench.steps_taken_back(), 1, "{:?}", bench.reasons);
    // After 30 s, then 60, 120 and so on: five times in twenty minutes.
    bench.run(4800);
    assert!((2..=6).contains(&bench.steps_taken_back()), "{:?}", bench.reasons);
}

#[test]
fn limits_are_raised_once_memory_has_room_again() {
    let loads = [stream(8000), sensitive(2500), sensitive(2500), sensitive(2500)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    bench.run(100);
    assert!(bench.level(0).is_some());
    for app in 1..4 {
        bench.loads[app] = sensitive(10);
    }
    bench.run(200);
    assert_eq!(bench.levels(), vec_of_none(4), "{:?}", bench.reasons);
}

#[test]
fn without_a_measure_of_the_bus_there_are_no_limits() {
    let loads = [stream(9000), sensitive(2500), sensitive(2500), sensitive(2500)];
    let unknown = lever(BandwidthUnit::Percent, LimitScope::Core, None);
    let steered = lever(BandwidthUnit::MibPerSecond, LimitScope::Class, Some(12_000));
    for bandwidth in [None, Some(unknown), Some(steered)] {
        let mut bench = BusBench::new(bandwidth, 12_000, &loads);
        bench.run(100);
        assert_eq!(bench.levels(), vec_of_none(4));
    }
    // Readings that fail later: no limit stays.
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    bench.run(100);
    assert!(bench.level(0).is_some());
    bench.lacks_bytes = true;
    bench.run(40);
    assert_eq!(bench.levels(), vec_of_none(4), "{:?}", bench.reasons);
}

/// The fuller memory is, the more of its answers are late: steps that make fewer of them late stay,
/// although nobody else gains.
#[test]
fn a_service_that_misses_its_objective_is_helped() {
    let slo = Duration::from_millis(2);
    let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
    let service = BusLoad { wish: Wish { objective, ..Wish::default() }, ..sensitive(1000) };
    let loads = [service, stream(9000), best_effort(4000)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    bench.late = |asked| asked.saturating_sub(95) * 5;
    bench.is_useless = true;
    bench.run(200);
    assert_eq!(bench.levels(), [None, Some(40), Some(20)], "{:?}", bench.reasons);
}

/// Below the share at which memory counts as full it is helped too, down to where there is room;
/// without late answers nobody is limited there.
#[test]
fn a_service_that_misses_its_objective_is_helped_before_memory_is_full() {
    let slo = Duration::from_millis(2);
    let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
    let service = BusLoad { wish: Wish { objective, ..Wish::default() }, ..sensitive(1000) };
    let loads = [service, stream(5500), best_effort(4000)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    bench.run(200);
    assert_eq!(bench.levels(), vec_of_none(3), "{:?}", bench.reasons);
    bench.late = |asked| asked.saturating_sub(80) * 5;
    bench.run(400);
    assert!(bench.level(2).is_some(), "{:?}", bench.reasons);
}

#[test]
fn a_machine_that_refuses_limits_is_left_alone_for_long() {
    let loads = [stream(9000), sensitive(2500), sensitive(2500), sensitive(2500)];
    let mut bench = BusBench::new(mba(12_000), 12_000, &loads);
    bench.refuses = true;
    bench.run(2000);
    assert_eq!((bench.levels(), bench.refused), (vec_of_none(4), 1), "{:?}", bench.reasons);
}

/// Where a level is of a class, two programs with the same level have two classes.
#[test]
fn a_limit_of_a_class_is_one_program_s() {
    let amd = Some(lever(BandwidthUnit::EighthGbps, LimitScope::Class, Some(12_000)));
    let loads = [stream(6000), stream(6000), sensitive(1500), sensitive(1500)];
    let mut bench = BusBench::new(amd, 12_000, &loads);
    bench.run(200);
    let [one, other] = [0, 1].map(|app| bench.level(app));
    assert!(one.is_some() && other.is_some(), "{:?}", bench.reasons);
    let places = bench.partition.placements();
    let own = [0, 1].map(|app| places.iter().find(|at| at.app == AppId(app)).unwrap().cluster);
    assert_ne!(own[0], own[1]);
}
