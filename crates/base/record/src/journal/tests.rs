//! Tests of what is on the disk while a journal is written.

use fairways_core::{Action, AppId, Event, Partition, PartitionError, PlanId, Time, WayMask, Wish};
use serde_json::json;

use super::{Follower, Line, Start, Writer};

#[test]
fn an_event_stands_on_the_disk_with_its_actions_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = (u64::MAX, None);
    let mut writer =
        Writer::create(&path, "stock", json!({}), json!({}), limits, Start::New).unwrap();
    let size = || path.metadata().unwrap().len();
    // The header is on the disk from the beginning.
    let mut before = size();
    assert!(before > 0);
    let mut seen = 0;
    for app in 0..4000 {
        let at = Time::from_nanos(app.into());
        writer.write_event(at, &Event::Exited { app: AppId(app) }, None).unwrap();
        for nanos in [1, 2, u64::MAX] {
            writer.write_action(at, &Action::Wake { at: Time::from_nanos(nanos) }).unwrap();
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
    writer.write_event(Time::ZERO, &Event::Woke, None).unwrap();
    drop(writer);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("{\"at\":0,\"event\":\"woke\"}\n"), "{text}");
}

/// A machine refuses a plan right after it; a reader never sees that plan in force.
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
    let mut write = |at: u64, event: &Event, plans: &[u32]| {
        let at = Time::from_nanos(at);
        writer.write_event(at, event, Some("web")).unwrap();
        for &plan in plans {
            let (plan, partition) = (PlanId(plan), (&partition).into());
            writer
                .write_action(at, &Action::Partition { plan, partition, reason: "a test".into() })
                .unwrap();
        }
    };
    let started = Event::Started { app: AppId(0), wish: Wish::default(), profile: None };
    let why = PartitionError::NotPlaced { app: AppId(0) };
    let refused = |plan| Event::Refused { plan: PlanId(plan), why };
    let actual = partition.clone();
    let applied = |plan| Event::Applied { plan: PlanId(plan), actual: actual.clone() };
    write(0, &started, &[0]);
    write(0, &applied(0), &[]);
    write(1, &Event::Woke, &[1, 2, 3]);
    write(1, &refused(1), &[4]);
    write(1, &applied(2), &[]);
    write(1, &refused(3), &[]);
    write(1, &refused(4), &[]);
    write(2, &Event::Woke, &[5]);
    write(2, &applied(5), &[]);
    write(3, &Event::Woke, &[]);
    writer.finish().unwrap();
    let mut follower = Follower::open(&path).unwrap();
    let mut steps = Vec::new();
    while follower.next_at().is_some() && follower.step().unwrap().is_some() {
        let watched = &follower.record;
        let domain = watched.status.domains.first();
        steps
            .push(domain.map(|domain| (domain.plan, domain.refused.is_some())).unwrap_or_default());
    }
    let plans =
        [None, Some(0), Some(0), Some(0), Some(2), Some(2), Some(2), Some(2), Some(5), Some(5)];
    let is_refused = [3, 5, 6, 7].map(|step| steps[step].1);
    assert_eq!(steps.iter().map(|step| step.0).collect::<Vec<_>>(), plans);
    assert_eq!((is_refused, steps[4].1, steps[8].1), ([true; 4], false, false));
    let totals = &follower.record.totals;
    assert_eq!((totals.planned, totals.refused), (3, 3));
    // An invalid line is reported when it is read.
    let text = std::fs::read_to_string(&path).unwrap();
    let place = text.find("{\"at\":1,\"event\":{\"refused\"").unwrap();
    std::fs::write(&path, format!("{}no line\n", &text[..place])).unwrap();
    let mut followed = Follower::open(&path).unwrap();
    for _ in 0..2 {
        assert!(followed.step().unwrap().is_some());
    }
    let why = followed.step().map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("journal:9:"), "{why}");
}

/// Where the schema of a line is committed.
const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/journal.schema.json");

/// A journal of a run.
const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run.journal");

/// `cargo xtask pages` writes it again.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    let schema = schemars::schema_for!(Line<'static>);
    let now = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var("TRYCMD").is_ok_and(|how| how == "overwrite") {
        std::fs::write(SCHEMA_FILE, &now).unwrap();
    }
    let committed = std::fs::read_to_string(SCHEMA_FILE).unwrap_or_default();
    assert!(
        committed == now,
        "docs/journal.schema.json does not match the types: `cargo xtask pages` writes it"
    );
}

/// What is written fits the schema, and an invalid line does not.
#[test]
fn every_line_of_a_journal_fits_the_schema() {
    let schema = serde_json::from_str(&std::fs::read_to_string(SCHEMA_FILE).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let text = std::fs::read_to_string(RUN).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for line in text.lines().skip(1) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(schema.is_valid(&value), "{line}: {:?}", schema.iter_errors(&value).next());
        let item = value.get("event").or(value.get("action")).unwrap();
        kinds.insert(
            item.as_object()
                .map_or_else(|| item.to_string(), |fields| fields.keys().next().unwrap().clone()),
        );
    }
    assert!(kinds.len() >= 7, "{kinds:?}");
    for wrong in [
        json!({"event": "woke"}),
        json!({"at": -1, "event": "woke"}),
        json!({"at": 0, "event": "slept"}),
        json!({"at": 0, "event": "woke", "more": 1}),
        json!({"at": 0, "action": {"wake": {}}}),
        json!({"at": 0, "action": {"partition": {"plan": 0, "reason": "", "partition": [{"mask": "7f", "apps": []}]}}}),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
        assert!(serde_json::from_value::<Line<'static>>(wrong.clone()).is_err(), "{wrong}");
    }
}

/// The oldest part may be gone when it is due to be deleted: somebody deleted it, or fewer were
/// kept before.
#[test]
fn a_part_that_is_gone_already_ends_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut writer =
        Writer::create(&path, "stock", json!({}), json!({}), (1, Some(2)), Start::New).unwrap();
    for number in 0..6 {
        let _ = std::fs::remove_file(path.with_extension("0"));
        let event = Event::Exited { app: AppId(number) };
        writer.write_event(Time::from_nanos(number.into()), &event, None).unwrap();
    }
    writer.finish().unwrap();
    let parts = super::parts(&path).count();
    assert!((1..=2).contains(&parts), "{parts}");
}

/// An empty file that a full disk left must not become a part: it would take a part's place.
#[test]
fn an_empty_file_becomes_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for start in 0..3 {
        Writer::create(&path, "stock", json!({}), json!({}), (1 << 20, Some(2)), Start::GoOn)
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(super::parts(&path).count(), start);
    }
    for _ in 0..3 {
        std::fs::write(&path, "").unwrap();
        Writer::create(&path, "stock", json!({}), json!({}), (1 << 20, Some(2)), Start::GoOn)
            .unwrap()
            .finish()
            .unwrap();
    }
    let parts: Vec<_> = super::parts(&path).collect();
    assert_eq!(parts, ["0", "1"].map(|part| path.with_extension(part)));
}

/// A finished part whose header names billions of parts before it, none of which is there.
#[test]
fn parts_that_a_header_names_are_looked_for_among_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = (u64::MAX, None);
    let writer = Writer::create(&path, "stock", json!({}), json!({}), limits, Start::New).unwrap();
    writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for (part, first) in [(u32::MAX, 0), (u32::MAX, u32::MAX), (u32::MAX - 1, 7)] {
        let finished = folder.path().join(format!("journal.{part}"));
        let header = format!("\"part\":{part},\"first\":{first}");
        std::fs::write(&finished, text.replacen("\"part\":0", &header, 1)).unwrap();
        let began = std::time::Instant::now();
        let reader = super::Reader::open_kept(&finished).unwrap();
        assert_eq!(reader.header.part, part);
        assert!(began.elapsed().as_secs() < 5, "{part}");
        std::fs::remove_file(&finished).unwrap();
    }
}
