use fairways_core::{Counter, Counters};

use super::events::{Encoding, Event};
use super::*;

#[test]
fn smaller_groups_go_on_counting_what_was_counted() {
    let test = "smaller_groups_go_on_counting_what_was_counted";
    let fields = [Counter::Instructions, Counter::LlcReferences, Counter::LlcMisses];
    // The time that a thread ran, which needs no hardware counter.
    let encoding = Encoding { kind: 1, config: 1 };
    let events = ProcessorEvents {
        name: "software",
        source: "perf_event_open(2)",
        events: fields.map(|field| Event { field, name: "test", encoding }).to_vec(),
        lost: Vec::new(),
        alone: Vec::new(),
    };
    let mut perf = Perf::new(Settings { events, domains: vec![], descriptors: None });
    if perf.fitted.layout.is_empty() {
        return fairways_needs::withheld(test, "no software event may be counted");
    }
    let app = AppId(3);
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let name = "program".to_owned();
    perf.begin(&Target { app, name, cgroup: None, threads: vec![thread] });
    let before = perf.read(app, 0);
    assert!(before.instructions.is_some() && perf.descriptors().0 == 3, "{before:?}");
    for descriptors in [4, 3] {
        perf.regroup(Counter::LlcMisses);
        assert_eq!(perf.descriptors().0, descriptors);
        assert_eq!(perf.read(app, 0), Counters::default(), "what was in between is missing");
        let after = perf.read(app, 0);
        assert!(after.llc_misses > before.llc_misses, "{before:?} {after:?}");
    }
    perf.regroup(Counter::LlcMisses);
    assert_eq!(perf.descriptors().0, 3, "no group is smaller than one event");
    assert!(perf.read(app, 0).instructions > before.instructions);
}
