//! What is shown, held.

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Event, Latencies, LatencyBin, Llc, Partition, PartitionError, PlanId,
    Q32, Sample, ThreadId, Time, WayMask, Ways, Wish,
};

use super::*;

/// The lowest two ways are others'.
struct Known;

impl Seen for Known {
    fn cache(&self, _: u32) -> Option<Cache> {
        let [all, offered] = [0x1fff, 0x1ffc].map(WayMask::from_bits);
        Some(Cache { all, offered, way_bytes: Some(1 << 20) })
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
    status.event(3, Time::ZERO, &event, &Known, |_| name.to_owned());
}

#[test]
fn a_name_is_one_programs_of_a_domain_as_long_as_it_lives() {
    let mut status = Status::default();
    for (app, name) in (0..).zip(["web", "web", "web#2", "batch", "web"]) {
        started(&mut status, app, name);
    }
    let names = |status: &Status| -> Vec<String> {
        status.programs.iter().map(|of| of.name.clone()).collect()
    };
    assert_eq!(names(&status), ["web", "web#2", "web#2#2", "batch", "web#3"]);
    let exited = Event::Exited { app: AppId(0) };
    status.event(3, Time::ZERO, &exited, &Known, |_| String::new());
    assert_eq!(names(&status), ["web#2", "web#2#2", "batch", "web#3"]);
    started(&mut status, 7, "web");
    assert_eq!(names(&status)[4], "web");
    // Another domain's are others.
    let event = Event::Started { app: AppId(7), wish: Wish::default(), profile: None };
    status.event(5, Time::ZERO, &event, &Known, |_| "web".to_owned());
    assert_eq!(
        (status.name(5, AppId(7)), status.name(3, AppId(1))),
        ("web".into(), "web#2".into())
    );
}

#[test]
fn who_runs_before_others_is_named_once() {
    let mut watched = Watched::new(Status::default());
    let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
    watched.event(3, Time::ZERO, &started, &Known, |_| "web".to_owned());
    let threads = [0, 1, 2].map(|number| ThreadId { app: AppId(0), number });
    let action =
        Action::Priority { threads: (&threads[..]).into(), raised: false, reason: "so".into() };
    watched.action(3, &action, &Known);
    let said: Vec<&Said> = watched.decisions.kept().flat_map(|of| &of.said).collect();
    let (programs, reason) = (vec!["web".to_owned()], "so".to_owned());
    assert_eq!(said, [&Said::Raised { programs, raised: false, reason }]);
}

#[test]
fn what_happened_is_told() {
    let mut status = Status::default();
    let llc = Llc::with_ways(Ways::new(11).unwrap());
    status.event(3, Time::ZERO, &Event::Machine(llc.into()), &Known, |_| String::new());
    started(&mut status, 0, "web");
    started(&mut status, 1, "batch");
    let mut partition = Partition::default();
    partition.place(AppId(1), 0);
    partition.add_cluster(WayMask::from_bits(0x700));
    let (plan, reason) = (PlanId(4), "because");
    let asked = Action::Partition { plan, partition: (&partition).into(), reason: reason.into() };
    status.action(3, &asked, &Known);
    assert_eq!((status.domains[0].plan, status.programs[1].ways), (None, None), "not yet");
    let applied = Event::Applied { plan, actual: partition.clone() };
    status.event(3, Time::ZERO, &applied, &Known, |_| String::new());
    let counters = Counters { instructions: Some(300), cycles: Some(200), ..Counters::default() };
    let window = Duration::from_millis(100);
    let (occupancy, straddled) = (Some(Q32::ratio(5, 2)), false);
    let sample = Sample { app: AppId(1), counters, occupancy, window, plan: None, straddled };
    status.event(3, Time::from_nanos(7), &Event::Sampled(sample), &Known, |_| String::new());

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
        status.action(3, &action, &Known);
    }
    let batch = &status.programs[1];
    assert_eq!((batch.cpus.as_deref(), batch.raised), (Some("4,7"), true));
    assert_eq!((batch.ordered_ns, batch.estimates["PCMR"]), (Some(100_000_000), 1.5));
    let (cpus, reason) = (vec![2, 1, 0].into(), reason.into());
    status.action(3, &Action::Allow { thread, cpus, reason }, &Known);
    assert_eq!(status.programs[1].cpus, None);

    status.scheduler = Some("sched_ext".to_owned());
    status.scheduler_reason = Some("as configured".to_owned());
    for (name, reason) in
        [("sched_ext", "as configured"), ("affinity", "the kernel ended the one before")]
    {
        status.scheduled_by(Some(name));
        assert_eq!(status.scheduler.as_deref(), Some(name));
        assert_eq!(status.scheduler_reason.as_deref(), Some(reason));
    }

    let why = PartitionError::NotPlaced { app: AppId(0) };
    let refused = Event::Refused { plan, why };
    status.event(3, Time::ZERO, &refused, &Known, |_| String::new());
    assert_eq!(status.domains[0].refused.as_deref(), Some("app 0 runs and is in no cluster"));
    status.event(3, Time::ZERO, &Event::Exited { app: AppId(0) }, &Known, |_| String::new());
    assert_eq!(status.programs.len(), 1);
}

#[test]
fn where_nobody_tells_of_cpus_they_have_the_policys_numbers() {
    let mut status = Status::default();
    let cpus = fairways_core::Cpus { count: 4, quantum: Duration::from_millis(10) };
    let mut event = |event: &Event| {
        status.event(0, Time::ZERO, event, &Plain, |_| String::new());
    };
    event(&Event::Started { app: AppId(0), wish: Wish::default(), profile: None });
    event(&Event::Cpus(cpus));
    assert_eq!(status.domains[0].cpus.as_deref(), Some("0-3"));
    let thread = ThreadId::first_of(AppId(0));
    let allow =
        |cpus: &[u32]| Action::Allow { thread, cpus: cpus.to_vec().into(), reason: "so".into() };
    for (cpus, shown) in [(&[1, 0][..], Some("0-1")), (&[0, 1, 2, 3], None), (&[3], Some("3"))] {
        status.action(0, &allow(cpus), &Plain);
        assert_eq!(status.programs[0].cpus.as_deref(), shown);
    }
    status.action(0, &allow(&[]), &Plain);
    assert_eq!(status.programs[0].cpus, None);
}

/// A source that tells no more does not leave its last words behind.
#[test]
fn of_a_window_without_latencies_none_are_told() {
    let mut status = Status::default();
    let mut event = |event: &Event| {
        status.event(0, Time::ZERO, event, &Plain, |_| "web".to_owned());
        status.programs[0].objective.map(|of| (of.latency_ns, of.requests, of.met))
    };
    let (app, slo) = (AppId(0), Duration::from_millis(2));
    let objective = fairways_core::Objective { percentile: Q32::ratio(95, 1), slo };
    let wish = Wish { objective: Some(objective), ..Wish::default() };
    let unknown = Some((None, None, None));
    assert_eq!(event(&Event::Started { app, wish, profile: None }), unknown);
    let (counters, window) = (Counters::default(), Duration::from_millis(100));
    let (occupancy, plan, straddled) = (None, None, false);
    let sample = Event::Sampled(Sample { app, counters, occupancy, window, plan, straddled });
    let latency = |requests| {
        let answered = [LatencyBin { latency: Duration::from_millis(3), requests }];
        let answered = answered.into_iter().filter(|of| of.requests > 0).collect();
        Event::Latency(Latencies { app, window, answered })
    };
    assert_eq!(event(&sample), unknown);
    assert_eq!(event(&latency(7)), Some((Some(3_000_000), Some(7), Some(false))));
    assert_eq!(event(&sample), unknown, "until it is told of this window");
    assert_eq!(event(&latency(0)), Some((None, Some(0), None)), "nobody asked anything");
    assert_eq!((event(&sample), event(&sample)), (unknown, unknown));
}

/// The machine rounds one mask and can't move another program.
#[test]
fn what_is_in_force_is_shown_beside_what_was_planned() {
    let mut watched = Watched::new(Status::default());
    let mut tell = |event: &Event| {
        let name = |app: AppId| ["web", "batch", "other"][app.0 as usize].to_owned();
        watched.event(3, Time::ZERO, event, &Known, name);
    };
    tell(&Event::Machine(Llc::with_ways(Ways::new(11).unwrap()).into()));
    for app in [0, 1, 2].map(AppId) {
        tell(&Event::Started { app, wish: Wish::default(), profile: None });
    }
    let of = |clusters: &[(u32, &[u32])]| {
        let mut partition = Partition::default();
        for (mask, apps) in clusters {
            let cluster = partition.add_cluster(WayMask::from_bits(*mask));
            apps.iter().for_each(|&app| partition.place(AppId(app), cluster));
        }
        partition
    };
    let (plan, planned) = (PlanId(4), of(&[(0x700, &[0]), (0x0ff, &[1, 2])]));
    let partition = (&planned).into();
    watched.action(3, &Action::Partition { plan, partition, reason: "because".into() }, &Known);
    let actual = of(&[(0x600, &[0]), (0x0ff, &[1])]);
    watched.event(3, Time::ZERO, &Event::Applied { plan, actual }, &Known, |_| String::new());

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
        status.otherwise(3).collect::<Vec<_>>(),
        ["web has ways 0x1800, planned 0x1c00", "other is not held to its planned ways 0x3fc"]
    );
    let decisions: Vec<&Said> = watched.decisions.kept().flat_map(|of| &of.said).collect();
    let [Said::Planned { clusters, outcome: Outcome::Otherwise(others), .. }] = decisions[..]
    else {
        panic!("{decisions:?}")
    };
    assert_eq!((clusters[0].ways, others[0].ways, others.len()), (3, 2, 2));
    assert_eq!((watched.totals.planned, watched.totals.refused), (1, 0));
    // What is in force becomes what was planned, without another plan.
    let actual = of(&[(0x700, &[0]), (0x0ff, &[1, 2])]);
    watched.event(3, Time::ZERO, &Event::Applied { plan, actual }, &Known, |_| String::new());
    assert!(watched.status.domains[0].planned.is_none() && watched.totals.planned == 1);
    assert_eq!(watched.status.otherwise(3).count(), 0);
}
