//! For any events in any order, under any parameters: policies do not panic, the machine accepts
//! their plans, and everything that they announce about programs is new.

#![allow(clippy::unwrap_used)]

mod announced;
#[path = "../../examples/climb/policy.rs"]
mod climb;
mod parameters;

use std::sync::Arc;
use std::time::Duration;

use announced::Announced;
use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, CoRun, Counters, Cpus, Curve,
    EndedTurn, Event, Latencies, LatencyBin, Levers, LimitScope, Llc, Objective, Partition,
    PartitionError, PlanId, Policy, Profile, Q32, Sample, ThreadCounters, ThreadId, Time, WayMask,
    Ways, Wish,
};
use fairways_policy::cache_fair::{self, CacheFair};
use fairways_policy::casc::{self, Casc};
use fairways_policy::dcat::{self, Dcat};
use fairways_policy::dunn::{self, Dunn};
use fairways_policy::fairways::{self, Fairways};
use fairways_policy::kpart::{self, KPart};
use fairways_policy::lfoc::{self, Lfoc};
use fairways_policy::locpart::{self, Locpart};
use parameters::{numbers, spans};
use proptest::prelude::*;

fn llcs() -> impl Strategy<Value = Llc> {
    (1u32..=32, 0u32..=8, 0u32..=6, any::<bool>()).prop_map(|(ways, min_bits, clos, contiguous)| {
        Llc { ways: Ways::new(ways).unwrap(), min_bits, contiguous, clos: clos.max(1) }
    })
}

/// Levers with every kind of bandwidth.
fn levers() -> impl Strategy<Value = Levers> {
    let kinds = prop::sample::select(&[
        (BandwidthUnit::Percent, LimitScope::Core, [10, 100]),
        (BandwidthUnit::Percent, LimitScope::Class, [1, 100]),
        (BandwidthUnit::EighthGbps, LimitScope::Class, [1, 2048]),
        (BandwidthUnit::MibPerSecond, LimitScope::Class, [1, u32::MAX]),
    ]);
    let capacity = prop::option::of(prop_oneof![Just(1), Just(10), Just(10_000), any::<u32>()]);
    let bandwidth = (kinds, capacity).prop_map(|((unit, scope, levels), capacity_mbps)| {
        let [least, most] = levels.map(|level| BandwidthLevel::new(level).unwrap());
        BandwidthLever { unit, least, step: least, most, scope, capacity_mbps }
    });
    (llcs(), prop::option::of(bandwidth)).prop_map(|(llc, bandwidth)| Levers { llc, bandwidth })
}

/// Counts as they come, and as they never should.
fn counts() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        6 => (0u64..2_000_000_000).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(0)),
        1 => Just(Some(u64::MAX)),
    ]
}

fn counters() -> impl Strategy<Value = Counters> {
    prop::array::uniform10(counts()).prop_map(
        |[
            instructions,
            cycles,
            l1_references,
            llc_references,
            llc_misses,
            stalls_l2_miss,
            stalls_llc_miss,
            stalls_store_buffer,
            memory_bytes,
            cpu_nanos,
        ]| Counters {
            instructions,
            cycles,
            l1_references,
            llc_references,
            llc_misses,
            stalls_l2_miss,
            stalls_llc_miss,
            stalls_store_buffer,
            memory_bytes,
            cpu_nanos,
        },
    )
}

fn threads() -> impl Strategy<Value = ThreadId> {
    let numbers = prop_oneof![8 => Just(0u32), 2 => 0u32..3, 1 => any::<u32>()];
    (0u32..6, numbers).prop_map(|(app, number)| ThreadId { app: AppId(app), number })
}

fn cpus() -> impl Strategy<Value = Cpus> {
    (numbers(), spans()).prop_map(|(count, quantum)| Cpus { count, quantum })
}

fn together() -> impl Strategy<Value = CoRun> {
    let ran =
        (threads(), counters()).prop_map(|(thread, counters)| ThreadCounters { thread, counters });
    (prop::collection::vec(ran, 0..4), counters(), spans())
        .prop_map(|(threads, group, window)| CoRun { threads, group, window })
}

fn slices() -> impl Strategy<Value = EndedTurn> {
    (threads(), 0u32..4, spans(), spans()).prop_map(|(thread, cpu, ordered, ran)| EndedTurn {
        thread,
        cpu,
        ordered,
        ran,
    })
}

fn samples() -> impl Strategy<Value = Sample> {
    let plan = prop_oneof![
        4 => Just(Some(PlanId(u32::MAX))),
        2 => (0u32..60).prop_map(|id| Some(PlanId(id))),
        1 => Just(None),
    ];
    let occupancy = prop_oneof![
        4 => 0u64..12 << 32,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ];
    let occupancy = prop::option::of(occupancy.prop_map(Q32::from_raw));
    (0u32..6, counters(), occupancy, any::<bool>(), plan, any::<bool>()).prop_map(
        |(app, counters, read, is_all, plan, straddled)| Sample {
            app: AppId(app),
            counters,
            occupancy: read.filter(|_| is_all),
            occupancy_at_least: read.filter(|_| !is_all),
            window: Duration::ZERO,
            plan,
            straddled,
        },
    )
}

fn profiles() -> impl Strategy<Value = Option<Arc<Profile>>> {
    let curve = prop::collection::vec(0u64..=Q32::MAX_IN_CURVE.raw(), 1..=32)
        .prop_map(|raw| Curve::new(raw.into_iter().map(Q32::from_raw)).unwrap());
    let share = prop::collection::vec(0u64..=Q32::ONE.raw(), 1..=32)
        .prop_map(|raw| Curve::new(raw.into_iter().map(Q32::from_raw)).unwrap());
    let shares = prop_oneof![share, curve.clone()];
    let profile = (curve.clone(), curve, shares).prop_map(|(ipc, llcmpkc, stalls_l2_miss)| {
        Arc::new(Profile {
            ipc,
            llcmpki: llcmpkc,
            llcmpkc,
            bandwidth_mbps: llcmpkc,
            stalls_l2_miss,
        })
    });
    prop::option::weighted(0.2, profile)
}

/// Objectives that are met, that are missed, and that are absent.
fn objectives() -> impl Strategy<Value = Option<Objective>> {
    let percentile = prop_oneof![
        6 => (1u32..=100).prop_map(Q32::from_int),
        1 => any::<u64>().prop_map(Q32::from_raw),
        1 => Just(Q32::default()),
    ];
    let objective =
        (spans(), percentile).prop_map(|(slo, percentile)| Objective { slo, percentile });
    prop::option::of(objective)
}

fn wishes() -> impl Strategy<Value = Wish> {
    let importance = prop::option::of(prop_oneof![6 => 0u32..5, 1 => any::<u32>()]);
    (prop::option::of(0u32..20), any::<bool>(), objectives(), importance).prop_map(
        |(baseline_ways, best_effort, objective, importance)| Wish {
            baseline_ways,
            best_effort,
            objective,
            importance,
        },
    )
}

fn latencies() -> impl Strategy<Value = Latencies> {
    let requests = prop_oneof![6 => 0u64..200, 1 => Just(u64::MAX)];
    let answered =
        (spans(), requests).prop_map(|(latency, requests)| LatencyBin { latency, requests });
    (0u32..6, spans(), prop::collection::vec(answered, 0..4))
        .prop_map(|(app, window, answered)| Latencies { app: AppId(app), window, answered })
}

/// What a machine may make of a plan.
fn actual() -> impl Strategy<Value = Partition> {
    prop::collection::vec((0u32..6, 1u32..1 << 11), 0..4).prop_map(|clusters| {
        let mut partition = Partition::default();
        for (app, mask) in clusters {
            let cluster = partition.add_cluster(WayMask::from_bits(mask));
            partition.place(AppId(app), cluster);
        }
        partition
    })
}

fn events() -> impl Strategy<Value = Event> {
    let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
    prop_oneof![
        1 => levers().prop_map(Event::Machine),
        1 => cpus().prop_map(Event::Cpus),
        3 => (0u32..6, profiles(), wishes()).prop_map(|(app, profile, wish)| {
            Event::Started { app: AppId(app), wish, profile }
        }),
        1 => (0u32..6, wishes()).prop_map(|(app, wish)| Event::Wished { app: AppId(app), wish }),
        10 => latencies().prop_map(Event::Latency),
        1 => (0u32..6).prop_map(|app| Event::Exited { app: AppId(app) }),
        20 => samples().prop_map(Event::Sampled),
        5 => together().prop_map(Event::RanTogether),
        10 => slices().prop_map(Event::QuantumGiven),
        4 => Just(Event::Woke),
        1 => (0u32..60).prop_map(move |plan| Event::Refused { plan: PlanId(plan), why }),
        3 => (0u32..60, actual()).prop_map(|(plan, actual)| Event::Applied {
            plan: PlanId(plan),
            actual,
        }),
    ]
}

/// A policy and its parameters.
#[derive(Clone, Debug)]
enum AnyPolicy {
    Lfoc(lfoc::Parameters),
    Dunn(dunn::Parameters),
    KPart(kpart::Parameters),
    Dcat(dcat::Parameters),
    CacheFair(cache_fair::Parameters),
    Casc(casc::Parameters),
    Locpart(locpart::Parameters),
    Fairways(fairways::Parameters),
    /// The policy of docs/own-policy.md.
    Climb,
    /// With the parameters that it has by default, by its name.
    Plain(&'static str),
}

impl AnyPolicy {
    fn policy(&self) -> Box<dyn Policy> {
        match self {
            Self::Lfoc(parameters) => Box::new(Lfoc::new(*parameters)),
            Self::Dunn(parameters) => Box::new(Dunn::new(*parameters)),
            Self::KPart(parameters) => Box::new(KPart::new(*parameters)),
            Self::Dcat(parameters) => Box::new(Dcat::new(*parameters)),
            Self::CacheFair(parameters) => Box::new(CacheFair::new(*parameters)),
            Self::Casc(parameters) => Box::new(Casc::new(*parameters)),
            Self::Locpart(parameters) => Box::new(Locpart::new(*parameters)),
            Self::Fairways(parameters) => Box::new(Fairways::new(*parameters)),
            Self::Climb => Box::new(climb::Climb::default()),
            Self::Plain(name) => fairways_policy::by_name(name).unwrap(),
        }
    }

    /// Whether it makes plans: those that schedule threads leave the cache as it is.
    const fn partitions(&self) -> bool {
        !matches!(self, Self::CacheFair(_) | Self::Casc(_))
    }
}

/// Policies with the parameters that they have by default.
const PLAIN: &[&str] =
    &["stock", "equal", "static", "ucp", "ucp-slowdown", "yu-petrov", "parties", "mba-feedback"];

/// Half with the published parameters.
fn policies() -> impl Strategy<Value = AnyPolicy> {
    prop_oneof![
        1 => Just(AnyPolicy::Lfoc(lfoc::Parameters::default())),
        1 => Just(AnyPolicy::Lfoc(lfoc::Parameters::plus())),
        1 => Just(AnyPolicy::Dunn(dunn::Parameters::default())),
        1 => Just(AnyPolicy::KPart(kpart::Parameters::default())),
        1 => Just(AnyPolicy::Dcat(dcat::Parameters::default())),
        1 => Just(AnyPolicy::CacheFair(cache_fair::Parameters::default())),
        2 => parameters::dcat().prop_map(AnyPolicy::Dcat),
        2 => parameters::lfoc().prop_map(AnyPolicy::Lfoc),
        1 => (any::<u64>(), any::<[bool; 2]>()).prop_map(|(nanos, [textbook_index, last_window])| {
            let decision_period = Duration::from_nanos(nanos);
            AnyPolicy::Dunn(dunn::Parameters { decision_period, textbook_index, last_window })
        }),
        1 => (any::<[u64; 3]>(), numbers(), numbers()).prop_map(|(long, averaged, patience)| {
            AnyPolicy::KPart(kpart::Parameters {
                sampling_window: long[0],
                profile_period: long[1],
                averaged_profiles: averaged,
                decision_period: Duration::from_nanos(long[2]),
                sampling_patience: patience,
            })
        }),
        2 => parameters::cache_fair().prop_map(AnyPolicy::CacheFair),
        1 => Just(AnyPolicy::Casc(casc::Parameters::default())),
        2 => parameters::casc().prop_map(AnyPolicy::Casc),
        1 => Just(AnyPolicy::Locpart(locpart::Parameters::default())),
        1 => Just(AnyPolicy::Locpart(locpart::Parameters::published())),
        2 => Just(AnyPolicy::Climb),
        3 => parameters::locpart().prop_map(AnyPolicy::Locpart),
        2 => prop::sample::select(PLAIN).prop_map(AnyPolicy::Plain),
        1 => Just(AnyPolicy::Fairways(fairways::Parameters::default())),
        3 => parameters::fairways().prop_map(AnyPolicy::Fairways),
    ]
}

/// Reports the events, except for those that no machine reports: a start of a running program, an
/// exit of another.
fn report(made: &AnyPolicy, events: &[Event]) -> u32 {
    let mut policy = made.policy();
    // dCat may decide about what has just come, and then about a round that was over.
    let mut announced = Announced::new(made.partitions(), matches!(made, AnyPolicy::Dcat(_)));
    let (mut levers, mut running, mut plans, mut count) = (None, Vec::new(), 0, 0);
    for (nanos, event) in (0..).zip(events) {
        match event {
            Event::Machine(now) => levers = Some(*now),
            Event::Started { app, .. } if running.contains(app) => continue,
            Event::Started { app, .. } => running.push(*app),
            Event::Exited { app } => running.retain(|other| other != app),
            _ => {}
        }
        if let Event::Cpus(cpus) = event {
            count = cpus.count;
        }
        let lives = |thread: &ThreadId| running.contains(&thread.app);
        announced.event(event);
        policy.handle(Time::from_nanos(nanos << 28), event, &mut |action| {
            announced.action(&action, &running);
            match action {
                Action::Partition { partition, .. } => {
                    let legal = partition.check_levers(levers.unwrap(), running.iter().copied());
                    assert_eq!(legal, Ok(()), "{event:?}: {partition:?}");
                    if matches!(made, AnyPolicy::Locpart(_)) && !running.is_empty() {
                        // Every way belongs to exactly one cluster.
                        let masks = partition.masks();
                        let all = masks.clone().fold(0, |all, mask| all | mask.bits()).count_ones();
                        let sum: u32 = masks.map(|mask| mask.count()).sum();
                        assert!(
                            all == sum && sum == levers.unwrap().llc.ways.get(),
                            "{partition:?}"
                        );
                    }
                    plans += 1;
                }
                Action::Quantum { thread, time, .. } => {
                    assert!(lives(&thread) && !time.is_zero(), "{event:?}: {action:?}");
                }
                Action::Allow { thread, cpus, .. } => {
                    assert!(lives(&thread), "{event:?}: {thread}");
                    assert!(cpus.is_sorted_by(|a, b| a < b) && cpus.iter().all(|&cpu| cpu < count));
                }
                Action::Priority { threads, .. } => {
                    assert!(
                        !threads.is_empty() && threads.iter().all(lives),
                        "{event:?}: {threads:?}"
                    );
                }
                Action::Estimated { thread, value, .. } => {
                    let is_score = matches!(made, AnyPolicy::Casc(_));
                    assert!(
                        lives(&thread) && (!is_score || value <= Q32::from_int(100)),
                        "{value:?}"
                    );
                }
                _ => {}
            }
        });
    }
    plans
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 1200, ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_makes_a_policy_panic(
        made in policies(),
        events in prop::collection::vec(events(), 0..120),
    ) {
        report(&made, &events);
    }

    /// A machine and programs from the beginning, so that sampling mode is reached.
    #[test]
    fn plans_are_legal_in_every_mode(
        made in policies(),
        levers in levers(),
        events in prop::collection::vec(events(), 0..200),
    ) {
        let start = |app| {
            let objective = Objective { slo: Duration::from_millis(20), percentile: Q32::from_int(99) };
            let objective = (app % 3 == 0).then_some(objective);
            let wish = Wish { best_effort: app % 2 == 1, objective, ..Wish::default() };
            Event::Started { app: AppId(app), wish, profile: None }
        };
        let cpus = Event::Cpus(Cpus { count: 2, quantum: Duration::from_millis(10) });
        let machine = [Event::Machine(levers), cpus];
        let all: Vec<Event> = machine.into_iter().chain((0..6).map(start)).chain(events).collect();
        let plans = report(&made, &all);
        prop_assert_eq!(plans >= 6, made.partitions(), "{} plans", plans);
    }

    /// Even events that no machine reports.
    #[test]
    fn a_damaged_journal_does_not_make_a_policy_panic(
        made in policies(),
        events in prop::collection::vec(events(), 0..200),
    ) {
        let mut policy = made.policy();
        for event in &events {
            policy.handle(Time::ZERO, event, &mut |_| ());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 3000, ..ProptestConfig::default()
    })]

    /// As docs/own-policy.md says.
    #[test]
    fn the_policy_of_ones_own_makes_legal_plans(
        llc in llcs(),
        events in prop::collection::vec(events(), 0..120),
    ) {
        let all: Vec<Event> = [Event::Machine(llc.into())].into_iter().chain(events).collect();
        report(&AnyPolicy::Climb, &all);
    }
}
