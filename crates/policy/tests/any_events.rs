//! Whatever LFOC is told, in whatever order, under whatever parameters: it does not panic, and its
//! plans are ones that the machine it was told of accepts.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Curve, Event, Llc, PartitionError, PlanId, Policy, Profile, Q32,
    Sample, Time, Ways, Wish,
};
use fairways_policy::lfoc::{Lfoc, Parameters};
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

fn samples() -> impl Strategy<Value = Sample> {
    let counters = (counts(), counts(), counts(), counts()).prop_map(
        |(instructions, cycles, llc_misses, stalls_l2_miss)| Counters {
            instructions,
            cycles,
            llc_misses,
            stalls_l2_miss,
            ..Counters::default()
        },
    );
    let plan = prop_oneof![
        4 => Just(Some(PlanId(u32::MAX))),
        2 => (0u32..60).prop_map(|id| Some(PlanId(id))),
        1 => Just(None),
    ];
    let occupancy = prop::option::of(any::<u64>().prop_map(Q32::from_raw));
    (0u32..6, counters, occupancy, plan, any::<bool>()).prop_map(
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
    let profile = (curve.clone(), curve).prop_map(|(ipc, llcmpkc)| {
        Arc::new(Profile {
            ipc,
            llcmpki: llcmpkc,
            llcmpkc,
            bandwidth_mbps: llcmpkc,
            stalls_l2_miss: llcmpkc,
        })
    });
    prop::option::weighted(0.2, profile)
}

fn events() -> impl Strategy<Value = Event> {
    let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
    prop_oneof![
        1 => llcs().prop_map(Event::Machine),
        3 => (0u32..6, profiles()).prop_map(|(app, profile)| {
            Event::Started { app: AppId(app), wish: Wish::default(), profile }
        }),
        1 => (0u32..6).prop_map(|app| Event::Exited { app: AppId(app) }),
        20 => samples().prop_map(Event::Sampled),
        2 => Just(Event::Woke),
        1 => (0u32..60).prop_map(move |plan| Event::Refused { plan: PlanId(plan), why }),
    ]
}

fn numbers() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..8, 2 => 90u32..120, 1 => Just(u32::MAX)]
}

fn parameters() -> impl Strategy<Value = Parameters> {
    (prop::array::uniform20(numbers()), any::<[u64; 4]>(), any::<bool>()).prop_map(
        |(n, long, early_stop_heeds_stalls)| Parameters {
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
            normal_window: long[0],
            sampling_window: long[1],
            high_threshold: Q32::from_raw(long[2]),
            streaming_llcmpkc: Q32::from_raw(long[2]),
            decision_period: Duration::from_nanos(long[3]),
            early_stop_heeds_stalls,
            ..Parameters::default()
        },
    )
}

/// Tells the events, but for those that no machine tells: a start of what runs, an exit of what
/// does not.
fn tell(parameters: Parameters, events: &[Event]) -> u32 {
    let mut policy = Lfoc::new(parameters);
    let (mut llc, mut running, mut plans) = (None, Vec::new(), 0);
    for (nanos, event) in (0..).zip(events) {
        match event {
            Event::Machine(now) => llc = Some(*now),
            Event::Started { app, .. } if running.contains(app) => continue,
            Event::Started { app, .. } => running.push(*app),
            Event::Exited { app } => running.retain(|other| other != app),
            _ => {}
        }
        policy.handle(Time::from_nanos(nanos << 28), event, &mut |action| {
            if let Action::Partition { partition, .. } = action {
                let legal = partition.check(&llc.unwrap(), running.iter().copied());
                assert_eq!(legal, Ok(()), "{event:?}: {partition:?}");
                plans += 1;
            }
        });
    }
    plans
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 600, ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_makes_lfoc_panic(
        parameters in parameters(),
        events in prop::collection::vec(events(), 0..120),
    ) {
        tell(parameters, &events);
    }

    /// A machine and programs from the beginning, so that sampling mode is reached.
    #[test]
    fn plans_are_legal_in_every_mode(
        parameters in prop_oneof![Just(Parameters::default()), parameters()],
        llc in llcs(),
        events in prop::collection::vec(events(), 0..200),
    ) {
        let start = |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
        let all: Vec<Event> =
            [Event::Machine(llc)].into_iter().chain((0..6).map(start)).chain(events).collect();
        prop_assert!(tell(parameters, &all) >= 6);
    }

    /// Even what no machine tells.
    #[test]
    fn a_damaged_journal_does_not_make_lfoc_panic(
        parameters in prop_oneof![Just(Parameters::default()), parameters()],
        events in prop::collection::vec(events(), 0..200),
    ) {
        let mut policy = Lfoc::new(parameters);
        for event in &events {
            policy.handle(Time::ZERO, event, &mut |_| ());
        }
    }
}
