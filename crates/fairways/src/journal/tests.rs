//! What stands on the disk while a journal is written.

use fairways_core::{Action, AppId, Event, Time};
use serde_json::json;

use super::Writer;

#[test]
fn an_event_stands_on_the_disk_with_its_actions_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let limits = (u64::MAX, None);
    let mut writer = Writer::create(&path, "stock", json!({}), json!({}), limits).unwrap();
    let size = || path.metadata().unwrap().len();
    // The header is there from the beginning.
    let mut before = size();
    assert!(before > 0);
    let mut seen = 0;
    for app in 0..4000 {
        let at = Time::from_nanos(app.into());
        writer.event(at, &Event::Exited { app: AppId(app) }).unwrap();
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
    let mut writer = Writer::create(&path, "stock", json!({}), json!({}), (1 << 20, None)).unwrap();
    writer.event(Time::ZERO, &Event::Woke).unwrap();
    drop(writer);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("{\"at\":0,\"event\":\"woke\"}\n"), "{text}");
}
