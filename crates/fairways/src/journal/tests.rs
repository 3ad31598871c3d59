//! What stands on the disk while a journal is written.

use fairways_core::{Action, AppId, Event, Partition, PartitionError, PlanId, Time, WayMask, Wish};
use serde_json::json;

use super::{Followed, Start, Writer};

#[test]
fn an_event_stands_on_the_disk_with_its_actions_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = (u64::MAX, None);
    let mut writer =
        Writer::create(&path, "stock", json!({}), json!({}), limits, Start::New).unwrap();
    let size = || path.metadata().unwrap().len();
    // The header is there from the beginning.
    let mut before = size();
    assert!(before > 0);
    let mut seen = 0;
    for app in 0..4000 {
        let at = Time::from_nanos(app.into());
        writer.event(at, &Event::Exited { app: AppId(app) }, None).unwrap();
        for nanos in [1, 2, u64::MAX] {
            writer.action(at, &Action::Wake { at: Time::from_nanos(nanos) }).unwrap();
            if size() != before {
                before = size();
                seen += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.ends_with(&format!("{{\"wake\":{{\"at\":{}}}}}}}\n", u64::MAX)));
            }
        }
    }
    assert!(seen > 5, "{seen}");
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1 + 4 * 4000);
}

#[test]
fn what_is_held_back_is_written_when_a_run_breaks_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut writer =
        Writer::create(&path, "stock", json!({}), json!({}), (1 << 20, None), Start::New).unwrap();
    writer.event(Time::ZERO, &Event::Woke, None).unwrap();
    drop(writer);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("{\"at\":0,\"event\":\"woke\"}\n"), "{text}");
}

/// A machine says right after a plan that it can't carry it out; nobody who follows sees it in force in between.
#[test]
fn a_plan_that_is_refused_never_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = (u64::MAX, None);
    let mut writer =
        Writer::create(&path, "stock", json!({}), json!({}), limits, Start::New).unwrap();
    let mut partition = Partition::default();
    partition.add_cluster(WayMask::from_bits(0x3));
    partition.place(AppId(0), 0);
    let mut tell = |at: u64, event: &Event, plans: &[u32]| {
        let at = Time::from_nanos(at);
        writer.event(at, event, Some("web")).unwrap();
        for &plan in plans {
            let (plan, partition) = (PlanId(plan), &partition);
            writer.action(at, &Action::Partition { plan, partition, reason: "a test" }).unwrap();
        }
    };
    let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
    let why = PartitionError::NotPlaced { app: AppId(0) };
    let refused = |plan| Event::Refused { plan: PlanId(plan), why };
    tell(0, &started, &[0]);
    tell(1, &Event::Woke, &[1, 2, 3]);
    tell(1, &refused(1), &[4]);
    tell(1, &refused(3), &[]);
    tell(1, &refused(4), &[]);
    tell(2, &Event::Woke, &[5]);
    tell(3, &Event::Woke, &[]);
    writer.finish().unwrap();
    let mut followed = Followed::open(&path).unwrap();
    let mut told = Vec::new();
    while followed.next_at().is_some() && followed.step().unwrap() {
        let watched = &followed.watched;
        told.push((watched.status.domains[0].plan, watched.status.domains[0].refused.is_some()));
    }
    let plans = [0, 2, 2, 2, 2, 5, 5].map(Some);
    let is_refused = [false, false, true, true, true, false, false];
    assert_eq!(told, plans.into_iter().zip(is_refused).collect::<Vec<_>>());
    let totals = &followed.watched.totals;
    assert_eq!((totals.planned, totals.refused), (3, 3));
    // What is wrong behind it is told when it is come to.
    let text = std::fs::read_to_string(&path).unwrap();
    let place = text.find("{\"at\":1,\"event\":{\"refused\"").unwrap();
    std::fs::write(&path, format!("{}no line\n", &text[..place])).unwrap();
    let mut followed = Followed::open(&path).unwrap();
    assert!(followed.step().unwrap());
    let why = followed.step().unwrap_err().to_string();
    assert!(why.contains("journal:8:"), "{why}");
}
