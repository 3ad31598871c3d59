//! Every event and every action reads as it was written.

#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, CoRun, Counters, Cpus, Curve,
    EndedTurn, Event, Latencies, LatencyBin, Levers, LimitScope, Llc, MaskError, Objective,
    Partition, PartitionError, PlanId, Profile, Q32, Resources, Sample, ThreadCounters, ThreadId,
    Time, WayMask, Ways, WindowLength, Wish,
};
use proptest::option::of;
use proptest::prelude::*;

fn ways() -> impl Strategy<Value = Ways> {
    (1u32..=32).prop_map(|count| Ways::new(count).unwrap())
}

fn curve() -> impl Strategy<Value = Curve> {
    let value = (0..=Q32::MAX_IN_CURVE.raw()).prop_map(Q32::from_raw);
    prop::collection::vec(value, 1..=32).prop_map(|values| Curve::new(values).unwrap())
}

fn profile() -> impl Strategy<Value = Arc<Profile>> {
    (curve(), curve(), curve(), curve(), curve()).prop_map(
        |(ipc, llcmpki, llcmpkc, bandwidth_mbps, stalls_l2_miss)| {
            Arc::new(Profile { ipc, llcmpki, llcmpkc, bandwidth_mbps, stalls_l2_miss })
        },
    )
}

fn refusal() -> impl Strategy<Value = PartitionError> {
    let mask = any::<u32>().prop_map(WayMask::from_bits);
    let why = prop_oneof![
        Just(MaskError::Empty),
        (mask.clone(), ways()).prop_map(|(mask, ways)| MaskError::TooWide { mask, ways }),
        (mask.clone(), any::<u32>())
            .prop_map(|(mask, min_bits)| MaskError::TooNarrow { mask, min_bits }),
        mask.prop_map(|mask| MaskError::Split { mask }),
    ];
    let app = any::<u32>().prop_map(AppId);
    prop_oneof![
        any::<(u32, u32)>()
            .prop_map(|(clusters, clos)| PartitionError::TooManyClusters { clusters, clos }),
        (any::<u32>(), why).prop_map(|(cluster, why)| PartitionError::Mask { cluster, why }),
        any::<u32>().prop_map(|cluster| PartitionError::NoBandwidthLever { cluster }),
        (any::<u32>(), level(), level(), level()).prop_map(|(cluster, level, least, most)| {
            PartitionError::Level { cluster, level, least, most }
        }),
        any::<u32>().prop_map(|cluster| PartitionError::NoMember { cluster }),
        (app.clone(), any::<u32>())
            .prop_map(|(app, cluster)| PartitionError::NoCluster { app, cluster }),
        app.clone().prop_map(|app| PartitionError::PlacedTwice { app }),
        app.clone().prop_map(|app| PartitionError::NotPlaced { app }),
        app.prop_map(|app| PartitionError::NotRunning { app }),
        Just(PartitionError::Failed),
    ]
}

fn counters() -> impl Strategy<Value = Counters> {
    prop::array::uniform10(of(any::<u64>()))
        .prop_map(|counts| Counters::from_fn(|counter| counts[counter as usize]))
}

fn spans() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn thread() -> impl Strategy<Value = ThreadId> {
    any::<(u32, u32)>().prop_map(|(app, number)| ThreadId { app: AppId(app), number })
}

/// Events of machines that schedule threads.
fn scheduled() -> impl Strategy<Value = Event> {
    let ran =
        (thread(), counters()).prop_map(|(thread, counters)| ThreadCounters { thread, counters });
    let together = (prop::collection::vec(ran, 1..4), counters(), spans())
        .prop_map(|(threads, group, window)| CoRun { threads, group, window });
    let slice = (thread(), any::<u32>(), spans(), spans())
        .prop_map(|(thread, cpu, ordered, ran)| EndedTurn { thread, cpu, ordered, ran });
    let cpus = (any::<u32>(), spans()).prop_map(|(count, quantum)| Cpus { count, quantum });
    prop_oneof![
        cpus.prop_map(Event::Cpus),
        together.prop_map(Event::RanTogether),
        slice.prop_map(Event::QuantumGiven),
    ]
}

prop_compose! {
    fn sample()(
        app: u32,
        counters in counters(),
        occupancy in of(any::<u64>().prop_map(Q32::from_raw)),
        window in any::<u64>().prop_map(Duration::from_nanos),
        plan in of(any::<u32>().prop_map(PlanId)),
        straddled: bool,
    ) -> Sample {
        Sample { app: AppId(app), counters, occupancy, window, plan, occupancy_at_least: None, straddled }
    }
}

fn wish() -> impl Strategy<Value = Wish> {
    let percentile = any::<u64>().prop_map(Q32::from_raw);
    let objective =
        of((spans(), percentile).prop_map(|(slo, percentile)| Objective { slo, percentile }));
    (of(any::<u32>()), any::<bool>(), objective, of(any::<u32>())).prop_map(
        |(baseline_ways, best_effort, objective, importance)| Wish {
            baseline_ways,
            best_effort,
            objective,
            importance,
        },
    )
}

fn latencies() -> impl Strategy<Value = Latencies> {
    let answered =
        (spans(), any::<u64>()).prop_map(|(latency, requests)| LatencyBin { latency, requests });
    (any::<u32>(), spans(), prop::collection::vec(answered, 0..4))
        .prop_map(|(app, window, answered)| Latencies { app: AppId(app), window, answered })
}

fn level() -> impl Strategy<Value = BandwidthLevel> {
    (1..=u32::MAX).prop_map(|value| BandwidthLevel::new(value).unwrap())
}

/// Its programs are in the order of clusters, as they are read.
fn partition() -> impl Strategy<Value = Partition> {
    let cluster = (any::<u32>(), of(level()), prop::collection::vec(any::<u32>(), 0..4));
    prop::collection::vec(cluster, 0..4).prop_map(|clusters| {
        let mut partition = Partition::default();
        for (mask, bandwidth, apps) in clusters {
            let mask = WayMask::from_bits(mask);
            let cluster = partition.add(Resources { mask, bandwidth });
            apps.into_iter().for_each(|app| partition.place(AppId(app), cluster));
        }
        partition
    })
}

fn text() -> impl Strategy<Value = Cow<'static, str>> {
    ".{0,20}".prop_map(Cow::Owned)
}

fn app() -> impl Strategy<Value = AppId> {
    any::<u32>().prop_map(AppId)
}

fn action() -> impl Strategy<Value = Action<'static>> {
    let every = prop_oneof![
        any::<u64>().prop_map(WindowLength::Instructions),
        spans().prop_map(WindowLength::Time),
    ];
    let plan = (any::<u32>(), partition(), text()).prop_map(|(plan, partition, reason)| {
        Action::Partition { plan: PlanId(plan), partition: partition.into(), reason }
    });
    let allow = (thread(), prop::collection::vec(any::<u32>(), 0..4), text())
        .prop_map(|(thread, cpus, reason)| Action::Allow { thread, cpus: cpus.into(), reason });
    let threads = prop::collection::vec(thread(), 0..4);
    let priority = (threads, any::<bool>(), text()).prop_map(|(threads, raised, reason)| {
        Action::Priority { threads: threads.into(), raised, reason }
    });
    let estimated =
        (thread(), text(), any::<u64>(), any::<i64>()).prop_map(|(thread, what, value, raw)| {
            Action::Estimated { thread, what, value: Q32::from_raw(value), raw }
        });
    prop_oneof![
        plan,
        (app(), every).prop_map(|(app, every)| Action::Watch { app, every }),
        any::<u64>().prop_map(|at| Action::Wake { at: Time::from_nanos(at) }),
        spans().prop_map(|shortest| Action::WatchTogether { shortest }),
        allow,
        priority,
        (thread(), spans(), text()).prop_map(|(thread, time, reason)| Action::Quantum {
            thread,
            time,
            reason
        }),
        estimated,
        (app(), text(), text()).prop_map(|(app, class, reason)| Action::Classified {
            app,
            class,
            reason
        }),
    ]
}

/// The key of a JSON object, or a JSON string: the name of an event or action.
fn name(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let of_object = value.as_object().and_then(|of| of.keys().next().cloned());
    of_object.or_else(|| value.as_str().map(str::to_owned)).unwrap()
}

fn event() -> impl Strategy<Value = Event> {
    let app = any::<u32>().prop_map(AppId);
    let llc = (ways(), any::<(u32, bool, u32)>())
        .prop_map(|(ways, (min_bits, contiguous, clos))| Llc { ways, min_bits, contiguous, clos });
    let kind = prop_oneof![
        Just((BandwidthUnit::Percent, LimitScope::Core)),
        Just((BandwidthUnit::EighthGbps, LimitScope::Class)),
        Just((BandwidthUnit::MibPerSecond, LimitScope::Class)),
    ];
    let levels = (level(), level(), level());
    let lever = (kind, levels, of(any::<u32>())).prop_map(
        |((unit, scope), (least, step, most), capacity_mbps)| BandwidthLever {
            unit,
            least,
            step,
            most,
            scope,
            capacity_mbps,
        },
    );
    let machine =
        (llc, of(lever)).prop_map(|(llc, bandwidth)| Event::Machine(Levers { llc, bandwidth }));
    let started = (app.clone(), wish(), of(profile()))
        .prop_map(|(app, wish, profile)| Event::Started { app, wish, profile });
    let wished = (app.clone(), wish()).prop_map(|(app, wish)| Event::Wished { app, wish });
    prop_oneof![
        machine,
        started,
        wished,
        app.prop_map(|app| Event::Exited { app }),
        sample().prop_map(Event::Sampled),
        latencies().prop_map(Event::Latency),
        scheduled(),
        Just(Event::Woke),
        (any::<u32>(), partition())
            .prop_map(|(plan, actual)| Event::Applied { plan: PlanId(plan), actual }),
        (any::<u32>(), refusal())
            .prop_map(|(plan, why)| Event::Refused { plan: PlanId(plan), why }),
    ]
}

proptest! {
    #[test]
    fn an_event_reads_as_it_was_written(event in event()) {
        let text = serde_json::to_string(&event).unwrap();
        let read: Event = serde_json::from_str(&text).unwrap();
        // Events have no equality of their own; what they show leaves nothing out.
        prop_assert_eq!(format!("{read:?}"), format!("{event:?}"));
        prop_assert_eq!(name(&text), event.kind());
    }

    #[test]
    fn an_action_reads_as_it_was_written(action in action()) {
        let text = serde_json::to_string(&action).unwrap();
        let read: Action<'static> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &action);
        prop_assert_eq!(name(&text), action.kind());
    }

    #[test]
    fn a_time_and_a_window_read_as_they_were_written(nanos: u64) {
        let at = Time::from_nanos(nanos);
        let text = serde_json::to_string(&at).unwrap();
        prop_assert_eq!(&text, &nanos.to_string());
        prop_assert_eq!(serde_json::from_str::<Time>(&text).unwrap(), at);
        for every in [WindowLength::Instructions(nanos), WindowLength::Time(Duration::from_nanos(nanos))] {
            let text = serde_json::to_string(&every).unwrap();
            prop_assert_eq!(serde_json::from_str::<WindowLength>(&text).unwrap(), every);
        }
    }
}

fn sampled(extra: &str) -> String {
    format!(
        r#"{{"sampled":{{"app":0,"counters":{{"instructions":7,"cycles":null{extra}}},"occupancy":null,"window":5,"plan":null,"straddled":false}}}}"#
    )
}

#[test]
fn what_is_missing_is_null_and_what_is_unknown_is_refused() {
    let Event::Sampled(sample) = serde_json::from_str(&sampled("")).unwrap() else { panic!() };
    assert_eq!((sample.counters.instructions, sample.counters.cycles), (Some(7), None));
    let text = serde_json::to_string(&Event::Sampled(sample)).unwrap();
    assert!(text.contains(r#""cycles":null"#) && text.contains(r#""occupancy":null"#), "{text}");
    assert!(serde_json::from_str::<Event>(&sampled(r#","branches":1"#)).is_err());
}
