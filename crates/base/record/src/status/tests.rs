//! Tests of the status.

use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Counters, Event, Latencies,
    LatencyBin, Levers, LimitScope, Llc, Partition, PartitionError, PlanId, Q32, Resources, Sample,
    ThreadId, Time, WayMask, Ways, Wish,
};

use super::*;

/// A machine whose lowest two ways belong to others.
struct OffsetMachine;

impl MachineView for OffsetMachine {
    fn cache(&self, _: u32) -> Option<CacheWays> {
        let [all, offered] = [0x1fff, 0x1ffc].map(WayMask::from_bits);
        Some(CacheWays { all, offered, way_bytes: Some(1 << 20) })
    }

    fn physical(&self, _: u32, mask: WayMask) -> WayMask {
        WayMask::from_bits(mask.bits() << 2)
    }

    fn tasks(&self, app: AppId, to: &mut Vec<i32>) {
        to.push(70 * i32::try_from(app.0).unwrap());
    }

    fn cpus(&self, _: u32) -> Vec<u32> {
        vec![4, 6, 7]
    }
}

fn started(status: &mut Status, app: u32, name: &str) {
    let event = Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
    status.record_event(3, Time::ZERO, &event, &OffsetMachine, |_| name.to_owned());
}

#[test]
fn a_name_is_one_programs_of_a_domain_as_long_as_it_lives() {
    let mut status = Status::default();
    for (app, name) in (0..).zip(["web", "web", "web#2", "batch", "web"]) {
        started(&mut status, app, name);
    }
    fn names(status: &Status) -> Vec<String> {
        status.programs.iter().map(|program| program.name.clone()).collect()
    }
    assert_eq!(names(&status), ["web", "web#2", "web#2#2", "batch", "web#3"]);
    let exited = Event::Exited { app: AppId(0) };
    status.record_event(3, Time::ZERO, &exited, &OffsetMachine, |_| String::new());
    assert_eq!(names(&status), ["web#2", "web#2#2", "batch", "web#3"]);
    started(&mut status, 7, "web");
    assert_eq!(names(&status)[4], "web");
    // Programs of another domain are others.
    let event = Event::Started { app: AppId(7), wish: Wish::default(), profile: None };
    status.record_event(5, Time::ZERO, &event, &OffsetMachine, |_| "web".to_owned());
    assert_eq!(
        (status.name(5, AppId(7)), status.name(3, AppId(1))),
        ("web".into(), "web#2".into())
    );
}

#[test]
fn a_program_that_runs_before_others_is_named_once() {
    let mut watched = MachineRecord::new(Status::default());
    let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
    watched.record_event(3, Time::ZERO, &started, &OffsetMachine, |_| "web".to_owned());
    let threads = [0, 1, 2].map(|number| ThreadId { app: AppId(0), number });
    let action =
        Action::Priority { threads: (&threads[..]).into(), raised: false, reason: "so".into() };
    watched.record_action(3, &action, &OffsetMachine);
    let actions: Vec<RecordedAction> =
        watched.decisions.kept().flat_map(|decision| decision.actions).collect();
    let (programs, reason) = (vec!["web".to_owned()], "so".to_owned());
    assert_eq!(actions, [RecordedAction::Raised { programs, raised: false, reason }]);
}

#[test]
fn events_and_actions_are_recorded() {
    let mut status = Status::default();
    let llc = Llc::with_ways(Ways::new(11).unwrap());
    status.record_event(3, Time::ZERO, &Event::Machine(llc.into()), &OffsetMachine, |_| {
        String::new()
    });
    started(&mut status, 0, "web");
    started(&mut status, 1, "batch");
    let mut partition = Partition::default();
    partition.place(AppId(1), 0);
    partition.add_cluster(WayMask::from_bits(0x700));
    let (plan, reason) = (PlanId(4), "because");
    let asked = Action::Partition { plan, partition: (&partition).into(), reason: reason.into() };
    status.record_action(3, &asked, &OffsetMachine);
    assert_eq!((status.domains[0].plan, status.programs[1].ways), (None, None), "not yet");
    let applied = Event::Applied { plan, actual: partition.clone() };
    status.record_event(3, Time::ZERO, &applied, &OffsetMachine, |_| String::new());
    let counters = Counters { instructions: Some(300), cycles: Some(200), ..Counters::default() };
    let window = Duration::from_millis(100);
    let (occupancy, straddled) = (Some(Q32::ratio(5, 2)), false);
    let sample = Sample { occupancy, straddled, ..Sample::new(AppId(1), counters, window) };
    status.record_event(3, Time::from_nanos(7), &Event::Sampled(sample), &OffsetMachine, |_| {
        String::new()
    });

    assert_eq!((status.now_ns, status.domains[0].id, status.domains[0].ways), (7, 3, 11));
    let [cluster] = &status.domains[0].clusters[..] else { panic!("one cluster") };
    assert_eq!((&cluster.programs[..], &cluster.tasks[..]), (&["batch".to_owned()][..], &[70][..]));
    let [web, batch] = &status.programs[..] else { panic!("two programs") };
    assert_eq!((web.ways, web.ipc), (None, None));
    assert_eq!((batch.mask.as_deref(), batch.ways), (Some("0x1c00"), Some(3)));
    assert_eq!((batch.ipc, batch.llcmpkc, batch.occupancy_ways), (Some(1.5), None, Some(2.5)));

    let thread = ThreadId::first_of(AppId(1));
    let value = Q32::ratio(3, 2);
    for action in [
        Action::Allow { thread, cpus: vec![0, 2, 9].into(), reason: reason.into() },
        Action::Priority { threads: vec![thread].into(), raised: true, reason: reason.into() },
        Action::Quantum { thread, time: window, reason: reason.into() },
        Action::Estimated { thread, what: "PCMR".into(), value, raw: 0 },
    ] {
        status.record_action(3, &action, &OffsetMachine);
    }
    let batch = &status.programs[1];
    assert_eq!((batch.cpus.as_deref(), batch.raised), (Some("4,7"), true));
    assert_eq!((batch.ordered_ns, batch.estimates["PCMR"]), (Some(100_000_000), 1.5));
    let (cpus, reason) = (vec![2, 1, 0].into(), reason.into());
    status.record_action(3, &Action::Allow { thread, cpus, reason }, &OffsetMachine);
    assert_eq!(status.programs[1].cpus, None);

    status.scheduler = Some("sched_ext".to_owned());
    status.scheduler_reason = Some("as configured".to_owned());
    for (name, reason) in
        [("sched_ext", "as configured"), ("affinity", "the kernel ended the one before")]
    {
        status.set_scheduler(Some(name));
        assert_eq!(status.scheduler.as_deref(), Some(name));
        assert_eq!(status.scheduler_reason.as_deref(), Some(reason));
    }

    let why = PartitionError::NotPlaced { app: AppId(0) };
    let refused = Event::Refused { plan, why };
    status.record_event(3, Time::ZERO, &refused, &OffsetMachine, |_| String::new());
    assert_eq!(status.domains[0].refused.as_deref(), Some("app 0 runs and is in no cluster"));
    status.record_event(3, Time::ZERO, &Event::Exited { app: AppId(0) }, &OffsetMachine, |_| {
        String::new()
    });
    assert_eq!(status.programs.len(), 1);
}

#[test]
fn a_lower_bound_of_an_occupancy_is_shown_as_one() {
    let mut status = Status::default();
    started(&mut status, 1, "web");
    let sample = Sample::new(AppId(1), Counters::default(), Duration::from_millis(1));
    let half = Some(Q32::ratio(1, 2));
    for (occupancy, occupancy_at_least, shown) in
        [(half, None, "0.50"), (None, half, "≥0.50"), (None, None, "-")]
    {
        let event = Event::Sampled(Sample { occupancy, occupancy_at_least, ..sample });
        status.record_event(3, Time::ZERO, &event, &WholeMachine, |_| String::new());
        assert_eq!(status.programs[0].shown_occupancy(), shown);
    }
}

#[test]
fn unreported_cpus_have_the_policys_numbers() {
    let mut status = Status::default();
    let cpus = fairways_core::Cpus { count: 4, quantum: Duration::from_millis(10) };
    fn event(event: &Event, status: &mut Status) {
        status.record_event(0, Time::ZERO, event, &WholeMachine, |_| String::new());
    }
    event(&Event::Started { app: AppId(0), wish: Wish::default(), profile: None }, &mut status);
    event(&Event::Cpus(cpus), &mut status);
    assert_eq!(status.domains[0].cpus.as_deref(), Some("0-3"));
    let thread = ThreadId::first_of(AppId(0));
    let allow =
        |cpus: &[u32]| Action::Allow { thread, cpus: cpus.to_vec().into(), reason: "so".into() };
    for (cpus, shown) in [(&[1, 0][..], Some("0-1")), (&[0, 1, 2, 3], None), (&[3], Some("3"))] {
        status.record_action(0, &allow(cpus), &WholeMachine);
        assert_eq!(status.programs[0].cpus.as_deref(), shown);
    }
    status.record_action(0, &allow(&[]), &WholeMachine);
    assert_eq!(status.programs[0].cpus, None);
}

/// A source that falls silent does not leave its last report behind.
#[test]
fn a_window_without_latencies_has_none() {
    let mut status = Status::default();
    fn event(
        event: &Event,
        status: &mut Status,
    ) -> Option<(Option<u64>, Option<u64>, Option<bool>)> {
        status.record_event(0, Time::ZERO, event, &WholeMachine, |_| "web".to_owned());
        status.programs[0]
            .objective
            .map(|objective| (objective.latency_ns, objective.requests, objective.met))
    }
    let (app, slo) = (AppId(0), Duration::from_millis(2));
    let objective = fairways_core::Objective { percentile: Q32::ratio(95, 1), slo };
    let wish = Wish { objective: Some(objective), ..Wish::default() };
    let unknown = Some((None, None, None));
    assert_eq!(event(&Event::Started { app, wish, profile: None }, &mut status), unknown);
    let (counters, window) = (Counters::default(), Duration::from_millis(100));
    let (occupancy, plan, straddled) = (None, None, false);
    let sample =
        Event::Sampled(Sample { occupancy, plan, straddled, ..Sample::new(app, counters, window) });
    fn latency(requests: u64, app: AppId, window: Duration) -> Event {
        let answered = [LatencyBin { latency: Duration::from_millis(3), requests }];
        let answered = answered.into_iter().filter(|answered| answered.requests > 0).collect();
        Event::Latency(Latencies { app, window, answered })
    }
    assert_eq!(event(&sample, &mut status), unknown);
    assert_eq!(
        event(&latency(7, app, window), &mut status),
        Some((Some(3_000_000), Some(7), Some(false)))
    );
    assert_eq!(event(&sample, &mut status), unknown, "until this window is reported");
    assert_eq!(
        event(&latency(0, app, window), &mut status),
        Some((None, Some(0), None)),
        "no request came"
    );
    assert_eq!((event(&sample, &mut status), event(&sample, &mut status)), (unknown, unknown));
}

/// The machine rounds one mask and can't move another program.
#[test]
fn what_is_in_force_is_shown_beside_what_was_planned() {
    let mut watched = MachineRecord::new(Status::default());
    fn record(event: &Event, watched: &mut MachineRecord) {
        watched.record_event(3, Time::ZERO, event, &OffsetMachine, |app: AppId| {
            ["web", "batch", "other"][app.0 as usize].to_owned()
        });
    }
    record(&Event::Machine(Llc::with_ways(Ways::new(11).unwrap()).into()), &mut watched);
    for app in [0, 1, 2].map(AppId) {
        record(&Event::Started { app, wish: Wish::default(), profile: None }, &mut watched);
    }
    fn of(clusters: &[(u32, &[u32])]) -> Partition {
        let mut partition = Partition::default();
        for (mask, apps) in clusters {
            let cluster = partition.add_cluster(WayMask::from_bits(*mask));
            apps.iter().for_each(|&app| partition.place(AppId(app), cluster));
        }
        partition
    }
    let (plan, planned) = (PlanId(4), of(&[(0x700, &[0]), (0x0ff, &[1, 2])]));
    let partition = (&planned).into();
    watched.record_action(
        3,
        &Action::Partition { plan, partition, reason: "because".into() },
        &OffsetMachine,
    );
    let actual = of(&[(0x600, &[0]), (0x0ff, &[1])]);
    watched.record_event(3, Time::ZERO, &Event::Applied { plan, actual }, &OffsetMachine, |_| {
        String::new()
    });

    let status = &watched.status;
    let [web, batch, other] = &status.programs[..] else { panic!("three programs") };
    assert_eq!((web.ways, web.planned_ways), (Some(2), Some(3)));
    assert_eq!(
        (web.mask.as_deref(), web.planned_mask.as_deref()),
        (Some("0x1800"), Some("0x1c00"))
    );
    assert_eq!((batch.ways, batch.planned_ways), (Some(8), None));
    assert_eq!((other.ways, other.planned_ways), (None, Some(8)));
    let planned = status.domains[0].planned.as_ref().unwrap();
    assert_eq!(
        (&planned[0].mask[..], &planned[1].programs[..]),
        ("0x1c00", &["batch".to_owned(), "other".to_owned()][..])
    );
    assert_eq!(
        status.differences(3).collect::<Vec<_>>(),
        ["web has ways 0x1800, planned 0x1c00", "other is not limited to its planned ways 0x3fc"]
    );
    let decisions: Vec<RecordedAction> =
        watched.decisions.kept().flat_map(|decision| decision.actions).collect();
    let [RecordedAction::Planned { clusters, outcome: Outcome::Otherwise(others), .. }] =
        &decisions[..]
    else {
        panic!("{decisions:?}")
    };
    assert_eq!((clusters[0].ways, others[0].ways, others.len()), (3, 2, 2));
    assert_eq!((watched.totals.planned, watched.totals.refused), (1, 0));
    // The planned ways come into force without another plan.
    let actual = of(&[(0x700, &[0]), (0x0ff, &[1, 2])]);
    watched.record_event(3, Time::ZERO, &Event::Applied { plan, actual }, &OffsetMachine, |_| {
        String::new()
    });
    assert!(watched.status.domains[0].planned.is_none() && watched.totals.planned == 1);
    assert_eq!(watched.status.differences(3).count(), 0);
}

/// A machine that carries nothing out answers as if it did: nothing of the plan is in force.
#[test]
fn a_plan_that_is_only_observed_is_not_shown_as_in_force() {
    let mut watched =
        MachineRecord::new(Status { mode: "observe".to_owned(), ..Status::default() });
    let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
    watched.record_event(3, Time::ZERO, &started, &OffsetMachine, |_| "web".to_owned());
    let mut partition = Partition::default();
    let cluster = partition.add_cluster(WayMask::from_bits(0x700));
    partition.place(AppId(0), cluster);
    let (plan, reason) = (PlanId(4), "because".into());
    let planned = Action::Partition { plan, partition: (&partition).into(), reason };
    watched.record_action(3, &planned, &OffsetMachine);
    let applied = Event::Applied { plan, actual: partition };
    watched.record_event(3, Time::ZERO, &applied, &OffsetMachine, |_| String::new());
    let (web, domain) = (&watched.status.programs[0], &watched.status.domains[0]);
    assert_eq!((web.ways, web.mask.as_deref(), web.cluster), (None, None, None));
    assert_eq!((web.planned_ways, web.planned_mask.as_deref()), (Some(3), Some("0x1c00")));
    assert_eq!((domain.plan, domain.clusters.len()), (Some(4), 0));
    assert_eq!(domain.planned.as_ref().unwrap()[0].programs, ["web"]);
    assert_eq!(watched.status.differences(3).count(), 0);
}

/// A level that the machine rounded, one that somebody else's limit is below, and one of a program
/// that could not be moved.
#[test]
fn levels_in_force_are_shown_beside_those_planned() {
    let mut watched = MachineRecord::new(Status::default());
    fn record(event: &Event, watched: &mut MachineRecord) {
        watched.record_event(3, Time::ZERO, event, &OffsetMachine, |app: AppId| {
            ["web", "batch", "other"][app.0 as usize].to_owned()
        });
    }
    let [least, most] = [10, 100].map(|level| BandwidthLevel::new(level).unwrap());
    let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
    let lever = BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None };
    let llc = Llc::with_ways(Ways::new(11).unwrap());
    record(&Event::Machine(Levers { llc, bandwidth: Some(lever) }), &mut watched);
    for app in [0, 1, 2].map(AppId) {
        record(&Event::Started { app, wish: Wish::default(), profile: None }, &mut watched);
    }
    fn of(levels: &[u32]) -> Partition {
        let mut partition = Partition::default();
        for (app, level) in (0..).zip(levels) {
            let mask = WayMask::from_bits(0x0ff);
            partition.add(Resources { mask, bandwidth: BandwidthLevel::new(*level) });
            partition.place(AppId(app), app);
        }
        partition
    }
    let (plan, planned) = (PlanId(4), of(&[0, 11, 30]));
    let action = Action::Partition { plan, partition: planned.into(), reason: "because".into() };
    watched.record_action(3, &action, &OffsetMachine);
    record(&Event::Applied { plan, actual: of(&[0, 20]) }, &mut watched);
    let levels: Vec<_> = watched
        .status
        .programs
        .iter()
        .map(|program| (program.bandwidth_level, program.planned_bandwidth_level))
        .collect();
    assert_eq!(levels, [(None, None), (Some(20), Some(11)), (None, Some(30))]);
    assert_eq!(
        watched.status.differences(3).collect::<Vec<_>>(),
        [
            "batch is limited to 20 % of memory bandwidth, planned 11 %",
            "other is not limited to its planned ways 0x3fc",
            "other is not limited to the planned 30 % of memory bandwidth",
        ]
    );
    let limits = watched.status.programs.iter().map(|program| watched.status.limit_text(program));
    let shown = [None, Some("20 % (11 % planned)"), Some("none (30 % planned)")];
    assert!(limits.eq(shown.map(|limit| limit.map(str::to_owned))));
    // The plan has no limit for `web`, and somebody else has.
    record(&Event::Applied { plan, actual: of(&[20, 11, 30]) }, &mut watched);
    assert_eq!(
        watched.status.differences(3).collect::<Vec<_>>(),
        ["web is limited to 20 % of memory bandwidth, planned 100 %"]
    );
    record(&Event::Applied { plan, actual: of(&[0, 11, 30]) }, &mut watched);
    assert_eq!(watched.status.differences(3).count(), 0);
    assert_eq!(watched.status.domains[0].clusters[2].bandwidth_level, Some(30));
}
