//! Whatever policies that learn are told, in whatever order, under whatever parameters: they do not
//! panic, and their plans are ones that the machine they were told of accepts.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, Answered, AppId, Counters, Cpus, Curve, Event, Latencies, Llc, Objective,
    PartitionError, PlanId, Policy, Profile, Q32, Ran, Sample, Slice, ThreadId, Time, Together,
    Ways, Wish,
};
use fairways_policy::cache_fair::{self, CacheFair};
use fairways_policy::casc::{self, Casc};
use fairways_policy::dcat::{self, Dcat};
use fairways_policy::dunn::{self, Dunn};
use fairways_policy::kpart::{self, KPart};
use fairways_policy::lfoc::{self, Lfoc};
use fairways_policy::locpart::{self, Locpart};
use proptest::prelude::*;

fn llcs() -> impl Strategy<Value = Llc> {
    (1u32..=32, 0u32..=8, 0u32..=6, any::<bool>()).prop_map(|(ways, min_bits, clos, contiguous)| {
        Llc { ways: Ways::new(ways).unwrap(), min_bits, contiguous, clos: clos.max(1) }
    })
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
    prop::array::uniform8(counts()).prop_map(
        |[
            instructions,
            cycles,
            l1_references,
            llc_references,
            llc_misses,
            stalls_l2_miss,
            stalls_llc_miss,
            stalls_store_buffer,
        ]| Counters {
            instructions,
            cycles,
            l1_references,
            llc_references,
            llc_misses,
            stalls_l2_miss,
            stalls_llc_miss,
            stalls_store_buffer,
            ..Counters::default()
        },
    )
}

fn threads() -> impl Strategy<Value = ThreadId> {
    let numbers = prop_oneof![8 => Just(0u32), 2 => 0u32..3, 1 => any::<u32>()];
    (0u32..6, numbers).prop_map(|(app, number)| ThreadId { app: AppId(app), number })
}

fn spans() -> impl Strategy<Value = Duration> {
    prop_oneof![
        6 => (0u64..40).prop_map(Duration::from_millis),
        2 => any::<u64>().prop_map(Duration::from_nanos),
        1 => Just(Duration::MAX),
    ]
}

fn cpus() -> impl Strategy<Value = Cpus> {
    (numbers(), spans()).prop_map(|(count, quantum)| Cpus { count, quantum })
}

fn together() -> impl Strategy<Value = Together> {
    let ran = (threads(), counters()).prop_map(|(thread, counters)| Ran { thread, counters });
    (prop::collection::vec(ran, 0..4), counters(), spans())
        .prop_map(|(threads, group, window)| Together { threads, group, window })
}

fn slices() -> impl Strategy<Value = Slice> {
    (threads(), 0u32..4, spans(), spans()).prop_map(|(thread, cpu, ordered, ran)| Slice {
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
    let occupancy = prop::option::of(any::<u64>().prop_map(Q32::from_raw));
    (0u32..6, counters(), occupancy, plan, any::<bool>()).prop_map(
        |(app, counters, occupancy, plan, straddled)| Sample {
            app: AppId(app),
            counters,
            occupancy,
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

/// Objectives that are held, that are missed, and that are none.
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
    (prop::option::of(0u32..20), any::<bool>(), objectives()).prop_map(
        |(baseline_ways, best_effort, objective)| Wish { baseline_ways, best_effort, objective },
    )
}

fn latencies() -> impl Strategy<Value = Latencies> {
    let requests = prop_oneof![6 => 0u64..200, 1 => Just(u64::MAX)];
    let answered =
        (spans(), requests).prop_map(|(latency, requests)| Answered { latency, requests });
    (0u32..6, spans(), prop::collection::vec(answered, 0..4))
        .prop_map(|(app, window, answered)| Latencies { app: AppId(app), window, answered })
}

fn events() -> impl Strategy<Value = Event> {
    let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
    prop_oneof![
        1 => llcs().prop_map(Event::Machine),
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
    ]
}

fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..8, 2 => 90u32..120, 1 => Just(u32::MAX)]
}

/// A policy and its parameters.
#[derive(Clone, Debug)]
enum Made {
    Lfoc(lfoc::Parameters),
    Dunn(dunn::Parameters),
    KPart(kpart::Parameters),
    Dcat(dcat::Parameters),
    CacheFair(cache_fair::Parameters),
    Casc(casc::Parameters),
    Locpart(locpart::Parameters),
}

impl Made {
    fn policy(&self) -> Box<dyn Policy> {
        match self {
            Self::Lfoc(parameters) => Box::new(Lfoc::new(*parameters)),
            Self::Dunn(parameters) => Box::new(Dunn::new(*parameters)),
            Self::KPart(parameters) => Box::new(KPart::new(*parameters)),
            Self::Dcat(parameters) => Box::new(Dcat::new(*parameters)),
            Self::CacheFair(parameters) => Box::new(CacheFair::new(*parameters)),
            Self::Casc(parameters) => Box::new(Casc::new(*parameters)),
            Self::Locpart(parameters) => Box::new(Locpart::new(*parameters)),
        }
    }

    /// Whether it makes plans: those that schedule threads leave the cache as it is.
    const fn partitions(&self) -> bool {
        !matches!(self, Self::CacheFair(_) | Self::Casc(_))
    }
}

/// Half with the published parameters.
fn policies() -> impl Strategy<Value = Made> {
    prop_oneof![
        1 => Just(Made::Lfoc(lfoc::Parameters::default())),
        1 => Just(Made::Lfoc(lfoc::Parameters::plus())),
        1 => Just(Made::Dunn(dunn::Parameters::default())),
        1 => Just(Made::KPart(kpart::Parameters::default())),
        1 => Just(Made::Dcat(dcat::Parameters::default())),
        1 => Just(Made::CacheFair(cache_fair::Parameters::default())),
        2 => dcat_parameters().prop_map(Made::Dcat),
        2 => lfoc_parameters().prop_map(Made::Lfoc),
        1 => (any::<u64>(), any::<bool>()).prop_map(|(nanos, textbook_index)| {
            let decision_period = Duration::from_nanos(nanos);
            Made::Dunn(dunn::Parameters { decision_period, textbook_index })
        }),
        1 => (any::<[u64; 3]>(), numbers(), numbers()).prop_map(|(long, averaged, patience)| {
            Made::KPart(kpart::Parameters {
                sampling_window: long[0],
                profile_period: long[1],
                averaged_profiles: averaged,
                decision_period: Duration::from_nanos(long[2]),
                sampling_patience: patience,
            })
        }),
        2 => cache_fair_parameters().prop_map(Made::CacheFair),
        1 => Just(Made::Casc(casc::Parameters::default())),
        2 => casc_parameters().prop_map(Made::Casc),
        1 => Just(Made::Locpart(locpart::Parameters::default())),
        1 => Just(Made::Locpart(locpart::Parameters::published())),
        3 => locpart_parameters().prop_map(Made::Locpart),
    ]
}

fn locpart_parameters() -> impl Strategy<Value = locpart::Parameters> {
    let util_th = prop_oneof![3 => 0u64..1 << 32, 1 => any::<u64>()];
    (spans(), util_th, any::<[bool; 2]>(), prop::array::uniform5(numbers())).prop_map(
        |(t_sched, util_th, [margin, sliding], n)| locpart::Parameters {
            t_sched,
            w: n[0],
            util_th: Q32::from_raw(util_th),
            rule: if margin { locpart::Rule::Margin } else { locpart::Rule::Published },
            window: if sliding { locpart::Window::Sliding } else { locpart::Window::PastInterval },
            least_requests: n[1],
            longest_window: n[2],
            hold: n[3],
            memory: n[4],
        },
    )
}

fn casc_parameters() -> impl Strategy<Value = casc::Parameters> {
    let long = prop_oneof![3 => 0u64..5 << 32, 1 => any::<u64>()];
    (prop::array::uniform4(spans()), prop::array::uniform3(long), any::<bool>(), numbers())
        .prop_map(|(spans, long, in_bucket, number)| casc::Parameters {
            min_runlength: spans[0],
            shortest_interval: spans[1] / 64,
            delay: spans[2] / 64,
            threshold: Q32::from_raw(long[0]),
            threshold_factor: Q32::from_raw(long[1]),
            unit: Q32::from_raw(long[2]),
            m: number,
            penalty: if in_bucket { casc::Penalty::InBucket } else { casc::Penalty::Restricted },
            initial_limit: spans[3],
            phase_margin_percent: number,
            phase_measurements: number,
            remeasure_every: spans[3],
        })
}

fn cache_fair_parameters() -> impl Strategy<Value = cache_fair::Parameters> {
    (any::<[u64; 4]>(), prop::array::uniform4(numbers()), prop::array::uniform2(spans())).prop_map(
        |(long, n, [reconnaissance_limit, shortest_point])| cache_fair::Parameters {
            data_points: n[0],
            // Of a length that is reached.
            reconnaissance: long[0] >> 32,
            calibration: long[1],
            repetition: long[2] >> 32,
            reconnaissance_limit,
            shortest_point,
            penalty_limit: n[1],
            phase_change: n[2],
            least_ideal_cpi: Q32::from_raw(long[3]),
            most_debt: n[3],
        },
    )
}

fn dcat_parameters() -> impl Strategy<Value = dcat::Parameters> {
    (any::<[u64; 5]>(), any::<[bool; 4]>(), prop::array::uniform3(numbers())).prop_map(
        |(long, [fair, stops, ipc, refuse], [streaming_thr, idle_mhz, most_phases])| {
            dcat::Parameters {
                period: Duration::from_nanos(long[0]),
                objective: if fair {
                    dcat::Objective::MaxFairness
                } else {
                    dcat::Objective::MaxPerformance
                },
                llc_ref_thr: Q32::from_raw(long[1]),
                llc_miss_rate_thr: Q32::from_raw(long[2] >> 20),
                ipc_imp_thr: Q32::from_raw(long[3] >> 20),
                phase_change_thr: Q32::from_raw(long[4] >> 20),
                streaming_thr,
                idle_mhz,
                receiver_stops_on_misses: stops,
                reclaim_on_ipc: ipc,
                refuse_overcommitment: refuse,
                most_phases,
            }
        },
    )
}

fn lfoc_parameters() -> impl Strategy<Value = lfoc::Parameters> {
    (prop::array::uniform21(numbers()), any::<[u64; 4]>(), any::<[bool; 2]>()).prop_map(
        |(n, long, [early_stop_heeds_stalls, pair_clustering])| lfoc::Parameters {
            max_streaming_way: n[0],
            gaps_per_streaming: n[1],
            max_ways_streaming: n[2],
            streaming_slowdown_percent: n[3],
            streaming_slowdown_bound_percent: n[4],
            sensitive_slowdown_percent: n[5],
            sensitive_from_ways: n[6],
            warm_up_intervals: n[7],
            low_threshold_percent: n[8],
            stalls_percent: n[9],
            averaged_periods: n[10],
            critical_slowdown_percent: n[11],
            streaming_stop_sizes: n[12],
            streaming_stop_slowdown_percent: n[13],
            discarded_windows: n[14],
            most_discarded_windows: n[15],
            settled_percent: n[16],
            windows_per_size: n[17],
            sampling_patience: n[18],
            most_persistence: n[19],
            help_cost_percent: n[20],
            normal_window: long[0],
            sampling_window: long[1],
            high_threshold: Q32::from_raw(long[2]),
            streaming_llcmpkc: Q32::from_raw(long[2]),
            decision_period: Duration::from_nanos(long[3]),
            early_stop_heeds_stalls,
            pair_clustering,
            ..lfoc::Parameters::default()
        },
    )
}

/// Tells the events, but for those that no machine tells: a start of what runs, an exit of what
/// does not.
fn tell(made: &Made, events: &[Event]) -> u32 {
    let mut policy = made.policy();
    let (mut llc, mut running, mut plans, mut count) = (None, Vec::new(), 0, 0);
    for (nanos, event) in (0..).zip(events) {
        match event {
            Event::Machine(now) => llc = Some(*now),
            Event::Started { app, .. } if running.contains(app) => continue,
            Event::Started { app, .. } => running.push(*app),
            Event::Exited { app } => running.retain(|other| other != app),
            _ => {}
        }
        if let Event::Cpus(cpus) = event {
            count = cpus.count;
        }
        let lives = |thread: &ThreadId| running.contains(&thread.app);
        policy.handle(Time::from_nanos(nanos << 28), event, &mut |action| match action {
            Action::Partition { partition, .. } => {
                let legal = partition.check(&llc.unwrap(), running.iter().copied());
                assert_eq!(legal, Ok(()), "{event:?}: {partition:?}");
                if matches!(made, Made::Locpart(_)) && !running.is_empty() {
                    // Every way is somebody's, and nobody else's.
                    let masks = partition.masks();
                    let all = masks.iter().fold(0, |all, mask| all | mask.bits()).count_ones();
                    let sum: u32 = masks.iter().map(|mask| mask.count()).sum();
                    assert!(all == sum && sum == llc.unwrap().ways.get(), "{partition:?}");
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
                assert!(!threads.is_empty() && threads.iter().all(lives), "{event:?}: {threads:?}");
            }
            Action::Estimated { thread, value, .. } => {
                let is_score = matches!(made, Made::Casc(_));
                assert!(lives(&thread) && (!is_score || value <= Q32::from_int(100)), "{value:?}");
            }
            _ => {}
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
        tell(&made, &events);
    }

    /// A machine and programs from the beginning, so that sampling mode is reached.
    #[test]
    fn plans_are_legal_in_every_mode(
        made in policies(),
        llc in llcs(),
        events in prop::collection::vec(events(), 0..200),
    ) {
        let start = |app| {
            let objective = Objective { slo: Duration::from_millis(20), percentile: Q32::from_int(99) };
            let objective = (app % 3 == 0).then_some(objective);
            let wish = Wish { best_effort: app % 2 == 1, objective, ..Wish::default() };
            Event::Started { app: AppId(app), wish, profile: None }
        };
        let cpus = Event::Cpus(Cpus { count: 2, quantum: Duration::from_millis(10) });
        let machine = [Event::Machine(llc), cpus];
        let all: Vec<Event> = machine.into_iter().chain((0..6).map(start)).chain(events).collect();
        let plans = tell(&made, &all);
        prop_assert_eq!(plans >= 6, made.partitions(), "{} plans", plans);
    }

    /// Even what no machine tells.
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
