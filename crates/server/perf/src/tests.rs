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
    let mut perf = Perf::new(Settings {
        events,
        counters: fields.to_vec(),
        domains: vec![],
        descriptors: None,
    });
    if perf.fitted.layout.is_empty() {
        return fairways_testing::needs::withheld(test, "no software event may be counted");
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

/// As many software events as a processor has events, of which none is ever off a counter.
fn software() -> ProcessorEvents {
    let encoding = Encoding { kind: 1, config: 1 };
    ProcessorEvents {
        name: "software",
        source: "perf_event_open(2)",
        events: BY_PROCESSOR.map(|field| Event { field, name: "test", encoding }).to_vec(),
        lost: Vec::new(),
        alone: Vec::new(),
    }
}

/// Those of a program on this thread; `None` where nothing may be counted.
fn counting(counters: &[Counter]) -> Option<(Perf, AppId)> {
    let counters = counters.to_vec();
    let settings = Settings { events: software(), counters, domains: vec![], descriptors: None };
    let mut perf = Perf::new(settings);
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let (app, name) = (AppId(0), "program".to_owned());
    perf.begin(&Target { app, name, cgroup: None, threads: vec![thread] });
    (!perf.fitted.layout.is_empty()).then_some((perf, app))
}

fn known(counters: &Counters) -> Vec<Counter> {
    BY_PROCESSOR.into_iter().filter(|&counter| counters.get(counter).is_some()).collect()
}

#[test]
fn what_nothing_reads_is_not_opened_and_is_missing() {
    let test = "what_nothing_reads_is_not_opened_and_is_missing";
    let lfoc = [Counter::LlcMisses, Counter::StallsL2Miss];
    let Some((mut perf, app)) = counting(&lfoc) else {
        return fairways_testing::needs::withheld(test, "no software event may be counted");
    };
    assert_eq!((perf.fitted.layout.len(), perf.descriptors().0), (1, 4));
    let read = [Counter::Instructions, Counter::Cycles, lfoc[0], lfoc[1]];
    assert_eq!(known(&perf.read(app, 0)), read);
    let unread: Vec<Counter> = perf.uncounted().into_iter().map(|(counter, _)| counter).collect();
    assert_eq!([&read[..], &unread].concat().len(), BY_PROCESSOR.len());
    assert!(perf.uncounted().iter().all(|(counter, why)| why.is_none() && !read.contains(counter)));
    assert_eq!(perf.lost(), []);
}

#[test]
fn others_are_counted_later_as_far_as_one_group_holds_them_or_in_turns() {
    let test = "others_are_counted_later_as_far_as_one_group_holds_them_or_in_turns";
    let lfoc = [Counter::LlcMisses, Counter::StallsL2Miss];
    let Some((mut perf, app)) = counting(&lfoc) else {
        return fairways_testing::needs::withheld(test, "no software event may be counted");
    };
    let before = perf.read(app, 0);
    let more = [Counter::LlcReferences, Counter::L1References, Counter::StallsStoreBuffer];
    perf.count_also(&more, false);
    assert_eq!(perf.fitted.layout.len(), 1, "nothing takes turns");
    assert_eq!(perf.read(app, 0), Counters::default(), "what was in between is missing");
    let after = perf.read(app, 0);
    assert!(after.llc_references.is_some() && after.stalls_store_buffer.is_none(), "{after:?}");
    assert!(after.llc_misses > before.llc_misses, "{before:?} {after:?}");
    let used = perf.descriptors().0;
    perf.count_also(&more[..1], false);
    assert!(perf.read(app, 0).llc_misses.is_some(), "nothing changes, and nothing is missing");
    perf.count_also(&more, true);
    assert_eq!(perf.fitted.layout.len(), 2);
    assert!(perf.descriptors().0 > used);
    perf.read(app, 0);
    assert_eq!(known(&perf.read(app, 0)).len(), 7);
}
