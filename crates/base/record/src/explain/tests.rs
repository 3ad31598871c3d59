//! Tests of decisions in sentences.

use std::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Counters, Event, Levers,
    LimitScope, Llc, Partition, PartitionError, PlanId, Q32, Resources, Sample, ThreadId, Time,
    WayMask, Ways, Wish,
};
use fairways_policy::lfoc::SAMPLING;
use fairways_policy::words;

use super::*;
use crate::status::{MachineRecord, Outcome, Status, WholeMachine};

/// Records a policy's actions; the machine carries out every plan but plan 4, and answers after the
/// last action.
fn carry_out(watched: &mut MachineRecord, domain: u32, actions: &[Action<'_>]) {
    actions.iter().for_each(|action| watched.record_action(domain, action, &WholeMachine));
    for action in actions {
        let &Action::Partition { plan, ref partition, .. } = action else { continue };
        if plan != PlanId(4) {
            let at = Time::from_nanos(watched.status.now_ns);
            let applied = Event::Applied { plan, actual: (**partition).clone() };
            watched.record_event(domain, at, &applied, &WholeMachine, |_| String::new());
        }
    }
}

/// LFOC's decisions about two programs, and plans for both.
fn watched() -> MachineRecord {
    let mut watched = MachineRecord::new(Status::default());
    let mut record = |at: u64, event: Event, actions: &[Action<'_>]| {
        watched.record_event(
            0,
            Time::from_nanos(at * 1_000_000),
            &event,
            &WholeMachine,
            |app: AppId| ["lbm", "xalancbmk"][app.0 as usize].to_owned(),
        );
        carry_out(&mut watched, 0, actions);
    };
    let started = |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
    record(0, Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()), &[]);
    record(0, started(0), &[]);
    let both = |masks: [u32; 2]| {
        let mut partition = Partition::default();
        for (number, mask) in (0..).zip(masks) {
            partition.add_cluster(WayMask::from_bits(mask));
            partition.place(AppId(number), number);
        }
        partition
    };
    let plan = |plan, partition, reason: &'static str| Action::Partition {
        plan: PlanId(plan),
        partition: std::borrow::Cow::Borrowed(partition),
        reason: reason.into(),
    };
    let sampling = [both([0x1, 0xfe]), both([0x3, 0xfc]), both([0x7, 0xf8])];
    record(1, started(1), &[plan(0, &sampling[0], SAMPLING)]);
    record(2, Event::Woke, &[plan(1, &sampling[1], SAMPLING)]);
    record(3, Event::Woke, &[plan(2, &sampling[2], SAMPLING)]);
    let thread = ThreadId::first_of(AppId(1));
    let estimated =
        |what: &'static str, value| Action::Estimated { thread, what: what.into(), value, raw: 0 };
    let (class, reason) = ("sensitive".into(), "it gains by more cache".into());
    let sample = Sample::new(AppId(1), Counters::default(), Duration::from_millis(1));
    let last = both([0x1, 0x3e]);
    record(
        4,
        Event::Sampled(sample),
        &[
            Action::Watch {
                app: AppId(1),
                every: fairways_core::WindowLength::Time(Duration::from_secs(1)),
            },
            Action::Classified { app: AppId(1), class, reason },
            estimated(words::CRITICAL_SIZE.text(), Q32::ratio(4, 1)),
            estimated(words::LOOKAHEAD.text(), Q32::ratio(5, 1)),
            estimated(words::SLOWDOWN.text(), Q32::ratio(41, 40)),
            plan(3, &last, "lookahead"),
        ],
    );
    record(5, Event::Woke, &[Action::Wake { at: Time::ZERO }]);
    let cramped = both([0x1, 0x3c]);
    record(6, Event::Woke, &[plan(4, &cramped, "lookahead")]);
    let why = PartitionError::NotPlaced { app: AppId(0) };
    record(6, Event::Refused { plan: PlanId(4), why }, &[]);
    // A refused plan does not count for the ways before.
    record(7, Event::Woke, &[plan(5, &both([0x3, 0x3e]), "lookahead")]);
    watched
}

fn printed(about: Option<&str>) -> String {
    let decisions: Vec<Decision> = watched().decisions.kept().collect();
    let chosen = about.map(|name| decisions_about(&decisions, name));
    let shown = |decision: &Decision| {
        chosen.as_ref().is_none_or(|chosen| chosen.contains(&decision.number))
    };
    let mut out = Vec::new();
    text::print(&decisions, &shown, about, true, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_decision_is_printed_with_what_it_rests_on() {
    let expected = [
        &format!(
            "    0.003 s  the policy's period was over: plan 2, {SAMPLING} (and 2 like it before)"
        ),
        "             3 ways 0x7: lbm (2 before)",
        "             5 ways 0xf8: xalancbmk (6 before)",
        "    0.004 s  a window of xalancbmk ended: plan 3, lookahead",
        "             xalancbmk: sensitive, critical size 4 ways, expected slowdown 1.025, lookahead 5 ways (it gains by more cache)",
        "             1 way 0x1: lbm (3 before)",
        "             5 ways 0x3e: xalancbmk",
        "    0.006 s  the policy's period was over: plan 4, lookahead; refused: app 0 runs and is in no cluster",
        "             1 way 0x1: lbm",
        "             4 ways 0x3c: xalancbmk (5 before)",
        "    0.007 s  the policy's period was over: plan 5, lookahead",
        "             2 ways 0x3: lbm (1 before)",
        "             5 ways 0x3e: xalancbmk",
    ];
    assert_eq!(printed(None).lines().collect::<Vec<_>>(), expected);
}

/// A plan that was refused is followed by one that is in force: both are about the program.
#[test]
fn the_plan_after_a_refused_one_of_the_same_ways_is_shown() {
    let mut watched = MachineRecord::new(Status::default());
    let mut record = |event: &Event, action: Option<Action<'_>>| {
        watched.record_event(0, Time::ZERO, event, &WholeMachine, |_| "lbm".to_owned());
        carry_out(&mut watched, 0, action.as_slice());
    };
    let app = AppId(0);
    record(&Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()), None);
    record(&Event::Started { app, wish: Wish::default(), profile: None }, None);
    let mut partition = Partition::default();
    let cluster = partition.add_cluster(WayMask::from_bits(0x3));
    partition.place(app, cluster);
    let planned = |plan| {
        let reason = "because".into();
        Some(Action::Partition { plan, partition: (&partition).into(), reason })
    };
    record(&Event::Woke, planned(PlanId(4)));
    let why = PartitionError::NotPlaced { app };
    record(&Event::Refused { plan: PlanId(4), why }, None);
    record(&Event::Woke, planned(PlanId(5)));
    record(&Event::Woke, planned(PlanId(6)));
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let about = decisions_about(&decisions, "lbm");
    let plans: Vec<u64> = decisions.iter().map(|decision| decision.number).collect();
    assert_eq!(about, plans[..2], "the last one changes nothing");
}

#[test]
fn decisions_about_one_program_are_printed_as_its_chain() {
    let text = printed(Some("xalancbmk"));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let assessment = "xalancbmk: sensitive, critical size 4 ways, expected slowdown 1.025, lookahead 5 ways (it gains by more cache)";
    assert_eq!(lines[1], "xalancbmk: 5 ways 0xf8, 6 before");
    assert_eq!(lines[3], format!("{assessment}; 5 ways 0x3e"));
    assert_eq!(lines[5], format!("{assessment}; 4 ways 0x3c, 5 before"));
    // Its ways were the same in the last plan of all.
    assert_eq!(printed(Some("lbm")).lines().count(), 6);
    assert!(decisions_about(&[], "lbm").is_empty());
}

#[test]
fn no_more_are_kept_than_there_is_room_for() {
    let mut watched = MachineRecord::new(Status::default());
    for number in 0..1000 {
        watched.record_event(
            0,
            Time::from_nanos(u64::from(number)),
            &Event::Woke,
            &WholeMachine,
            |_| String::new(),
        );
        let (plan, partition) = (PlanId(number), Partition::default().into());
        // The same reason again and again, which is not one of sampling's.
        let reason = "one";
        let asked = Action::Partition { plan, partition, reason: reason.into() };
        carry_out(&mut watched, 0, &[asked]);
    }
    let kept: Vec<Decision> = watched.decisions.kept().collect();
    assert_eq!((kept.len(), kept[0].number, kept[255].number), (256, 745, 1000));
    let [RecordedAction::Planned { outcome: Outcome::Done, plan: 999, .. }] = kept[255].actions[..]
    else {
        panic!("{:?}", kept[255]);
    };
}

/// One program of a name after the other, and one of the same name in another domain.
#[test]
fn an_earlier_program_of_the_same_name_is_another() {
    let mut watched = MachineRecord::new(Status::default());
    let mut record = |domain: u32, at: u64, event: Event, actions: &[Action<'_>]| {
        let at = Time::from_nanos(at * 1_000_000);
        watched.record_event(domain, at, &event, &WholeMachine, |_| "web".to_owned());
        carry_out(&mut watched, domain, actions);
    };
    let started = |app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
    let whole = |app| {
        let mut partition = Partition::default();
        partition.add_cluster(WayMask::from_bits(0xff));
        partition.place(AppId(app), 0);
        partition
    };
    let (first, other, again) = (whole(0), whole(1), whole(2));
    let plan = |plan, partition| Action::Partition {
        plan: PlanId(plan),
        partition: std::borrow::Cow::Borrowed(partition),
        reason: "so it is".into(),
    };
    let classified = Action::Classified {
        app: AppId(0),
        class: "sensitive".into(),
        reason: "it was sampled".into(),
    };
    record(0, 1, started(0), &[plan(0, &first), classified]);
    record(1, 2, started(1), &[plan(0, &other)]);
    record(0, 3, Event::Exited { app: AppId(0) }, &[]);
    record(0, 4, started(2), &[plan(1, &again)]);
    record(1, 5, Event::Woke, &[plan(1, &other)]);
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let ended: Vec<usize> = decisions.iter().map(|decision| decision.ended.len()).collect();
    assert_eq!(ended, [1, 0, 0, 0]);
    assert_eq!(
        decisions_about(&decisions, "web"),
        [1, 2, 3],
        "the last is as before, in its domain"
    );
    assert_eq!(
        sentences(&decisions, &[1, 2, 3], Some("web")),
        [
            "    0.001 s  domain 0: web started: plan 0, so it is",
            "             web: sensitive (it was sampled); 8 ways 0xff",
            "    0.002 s  domain 1: web started: plan 0, so it is",
            "             web: 8 ways 0xff",
            "    0.004 s  domain 0: web started: plan 1, so it is",
            "             web: 8 ways 0xff",
        ]
    );
}

#[test]
fn a_negative_estimate_is_printed_as_it_came_out() {
    let mut watched = MachineRecord::new(Status::default());
    let app = AppId(0);
    let started = Event::Started { app, wish: Wish::default(), profile: None };
    watched.record_event(0, Time::ZERO, &started, &WholeMachine, |_| "web".to_owned());
    let (thread, value, raw) = (ThreadId::first_of(app), Q32::from_raw(0), -3 << 30);
    let slack = Action::Estimated { thread, what: words::SLACK.text().into(), value, raw };
    watched.record_action(0, &slack, &WholeMachine);
    assert_eq!(watched.status.programs[0].estimates[words::SLACK.text()], -0.75);
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let lines = sentences(&decisions, &[1], None);
    assert_eq!(lines[1].trim_start(), "web: slack -0.750 of the objective");
}

/// A domain full of programs that are planned again and again takes some megabytes, not one for
/// each pair of them.
#[test]
fn a_plan_is_kept_once() {
    let (mut watched, mut partition) =
        (MachineRecord::new(Status::default()), Partition::default());
    partition.add_cluster(WayMask::from_bits(0xff));
    for app in 0..256 {
        let event = Event::Started { app: AppId(app), wish: Wish::default(), profile: None };
        watched
            .record_event(0, Time::ZERO, &event, &WholeMachine, |app| format!("worker-{}", app.0));
        partition.place(AppId(app), 0);
    }
    let plan = Action::Partition {
        plan: PlanId(0),
        partition: (&partition).into(),
        reason: "all together".into(),
    };
    carry_out(&mut watched, 0, &[plan]);
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let json = serde_json::to_string(&decisions).unwrap();
    assert!(json.len() < 64 * 256, "{} bytes", json.len());
    assert_eq!(json.matches("worker-77").count(), 1);
}

/// A plan's level is shown with its unit, and beside it what the machine made of it.
#[test]
fn a_level_is_shown_with_what_is_in_force_of_it() {
    let mut watched = MachineRecord::new(Status::default());
    let record = |watched: &mut MachineRecord, event: Event| {
        watched.record_event(0, Time::ZERO, &event, &WholeMachine, |_| "lbm".to_owned());
    };
    let [least, most] = [1, 2048].map(|level| BandwidthLevel::new(level).unwrap());
    let (unit, scope) = (BandwidthUnit::EighthGbps, LimitScope::Class);
    let bandwidth =
        Some(BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None });
    let llc = Llc::with_ways(Ways::new(8).unwrap());
    record(&mut watched, Event::Machine(Levers { llc, bandwidth }));
    let (app, wish) = (AppId(0), Wish::default());
    record(&mut watched, Event::Started { app, wish, profile: None });
    let [planned, actual] = [80, 16].map(|level| {
        let mut partition = Partition::default();
        let (mask, bandwidth) = (WayMask::from_bits(3), BandwidthLevel::new(level));
        partition.add(Resources { mask, bandwidth });
        partition.place(app, 0);
        partition
    });
    let plan = PlanId(0);
    let reason = "the bus is full".into();
    let action = Action::Partition { plan, partition: planned.into(), reason };
    watched.record_action(0, &action, &WholeMachine);
    record(&mut watched, Event::Applied { plan, actual });
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let expected = [
        "    0.000 s  lbm started: plan 0, the bus is full; in force with other ways or bandwidth",
        "             2 ways 0x3, at most 10 GB/s of memory bandwidth: lbm",
        "             in force: 2 ways 0x3, at most 2 GB/s of memory bandwidth: lbm",
    ];
    assert_eq!(sentences(&decisions, &[1], None), expected);
    let about = &sentences(&decisions, &[1], Some("lbm"))[1];
    assert!(about.ends_with("bandwidth; in force: 2 ways 0x3, at most 2 GB/s of memory bandwidth"));
}

/// A plan for two programs that have these slowdowns in halves with it.
fn record_plan(watched: &mut MachineRecord, plan: u32, masks: [u32; 2], halves: [u64; 2]) {
    let at = Time::from_nanos(plan.into());
    watched.record_event(0, at, &Event::Woke, &WholeMachine, |_| String::new());
    let mut partition = Partition::default();
    let mut actions = Vec::new();
    for (number, (mask, halves)) in (0..).zip(masks.into_iter().zip(halves)) {
        partition.add_cluster(WayMask::from_bits(mask));
        partition.place(AppId(number), number);
        actions.push(Action::Estimated {
            thread: ThreadId::first_of(AppId(number)),
            what: words::SLOWDOWN.text().into(),
            value: Q32::ratio(halves, 2),
            raw: 0,
        });
    }
    let (plan, partition) = (PlanId(plan), std::borrow::Cow::Owned(partition));
    actions.push(Action::Partition { plan, partition, reason: "by its estimate".into() });
    carry_out(watched, 0, &actions);
}

/// Nothing was expected before the first one.
#[test]
fn a_plan_says_what_is_expected_of_it() {
    let mut watched = MachineRecord::new(Status::default());
    let llc = Llc::with_ways(Ways::new(8).unwrap());
    let started =
        [0, 1].map(|app| Event::Started { app: AppId(app), wish: Wish::default(), profile: None });
    for event in [Event::Machine(llc.into())].into_iter().chain(started) {
        watched.record_event(0, Time::ZERO, &event, &WholeMachine, |app: AppId| {
            ["lbm", "xalancbmk"][app.0 as usize].to_owned()
        });
    }
    record_plan(&mut watched, 0, [0x3, 0xfc], [4, 2]);
    record_plan(&mut watched, 1, [0xf, 0xf0], [3, 3]);
    let decisions: Vec<Decision> = watched.decisions.kept().collect();
    let mut out = Vec::new();
    text::print(&decisions, &|_| true, None, true, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let lines = out.lines().map(str::trim).filter(|line| line.starts_with("expected:"));
    let said = "expected: unfairness 1.000 (2.000 before), throughput 1.333 (1.500 before)";
    assert_eq!(lines.collect::<Vec<_>>(), [said]);
}
