//! Between normal operation and sampling mode.

use alloc::sync::Arc;

use fairways_core::{AppId, Curve, Event, Llc, Profile, Q32, Ways, Wish};

use super::bench::{Bench, LLC, light, sensitive, streaming};
use crate::lfoc::{Class, Parameters};

#[test]
fn everybody_is_found_out_and_placed() {
    let bench = Bench::settled(&[streaming, sensitive, light]);
    let classes = [0, 1, 2].map(|app| bench.class(app).unwrap());
    assert_eq!(classes, [Class::Streaming, Class::Sensitive, Class::Light]);
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [1, 10, 1]);
    assert_eq!(bench.mask(0), bench.mask(2));
}

/// Decision 8: outside sampling, an unknown program joins the largest cluster that does not stream.
#[test]
fn decision_8_an_unknown_program_owns_no_cluster() {
    let mut bench = Bench::settled(&[streaming, sensitive]);
    bench.start(2, streaming);
    assert_eq!(bench.class(2), None);
    assert_eq!(bench.mask(2), bench.mask(1));
}

/// Decision 9: "one at a time, first come first served".
#[test]
fn decision_9_programs_are_sampled_in_the_order_in_which_they_ask() {
    let mut bench = Bench::with(&[sensitive, sensitive, sensitive, sensitive]);
    for app in [2, 0, 3, 1] {
        bench.windows(app, 3);
    }
    for app in [2, 0, 3, 1] {
        assert_eq!(bench.sampled(), Some(app));
        bench.windows(app, 20);
    }
    assert_eq!(bench.sampled(), None);
}

/// Decision 9: "a program that exits frees the mode at once".
#[test]
fn decision_9_a_program_that_exits_frees_the_mode() {
    let mut bench = Bench::with(&[sensitive, sensitive, sensitive]);
    for app in 0..3 {
        bench.windows(app, 3);
    }
    bench.windows(0, 5);
    // One that waits leaves the queue.
    bench.exit(1);
    assert_eq!(bench.sampled(), Some(0));
    bench.exit(0);
    assert_eq!(bench.sampled(), Some(2));
    bench.exit(2);
    assert_eq!(bench.sampled(), None);
    bench.start(3, light);
    bench.windows(3, 3);
    assert_eq!(bench.sampled(), Some(3));
}

#[test]
fn programs_that_come_and_go_do_not_disturb_the_one_that_is_sampled() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.windows(0, 3);
    for guest in 2..12 {
        let ways = bench.ways(0);
        bench.start(guest, streaming);
        // It shares the complement at once, and the window goes on though it saw a new plan.
        assert_eq!((bench.ways(0), bench.mask(guest)), (ways, bench.mask(1)));
        for _ in 0..2 {
            let sample = fairways_core::Sample { straddled: true, ..bench.sample(0) };
            bench.exit(guest);
            bench.start(guest, streaming);
            bench.tell(&Event::Sampled(sample));
        }
        bench.exit(guest);
    }
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Sensitive)));
}

/// Alone, a program is sampled with the whole cache last; another that comes then needs some.
#[test]
fn one_that_comes_when_the_sampled_one_has_every_way_ends_it() {
    let mut bench = Bench::with(&[sensitive]);
    bench.windows(0, 3);
    bench.windows(0, 20);
    assert_eq!((bench.sampled(), bench.ways(0)), (Some(0), 11));
    bench.start(1, light);
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Sensitive)));
}

/// Decision 18: a machine that refuses the plan; tried again later, and later each time.
#[test]
fn decision_18_a_refused_sampling_is_tried_again_later_each_time() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.refuses = true;
    bench.windows(0, 3);
    assert_eq!((bench.sampled(), bench.class(0)), (None, None));
    // Put off for 3, 6 and 12 windows; each try is a plan refused, and one that joins all again.
    for windows in [3, 6, 12] {
        let plans = bench.plans;
        bench.windows(0, windows - 1);
        assert_eq!(bench.plans, plans);
        bench.window(0);
        assert_eq!(bench.plans, plans + 1);
    }
    bench.refuses = false;
    bench.windows(0, 24);
    assert_eq!(bench.sampled(), Some(0));
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// Decision 18: no usable window for `sampling_patience` decisions.
#[test]
fn decision_18_sampling_that_sees_nothing_is_given_up() {
    let mut bench = Bench::with(&[sensitive, sensitive]);
    bench.windows(0, 3);
    bench.windows(1, 3);
    let blind = |bench: &Bench, app| {
        let counters = fairways_core::Counters::default();
        Event::Sampled(fairways_core::Sample { counters, ..bench.sample(app) })
    };
    for _ in 0..4 {
        let event = blind(&bench, 0);
        bench.tell(&event);
        bench.wake();
        assert_eq!(bench.sampled(), Some(0));
    }
    bench.wake();
    // It is the next one's turn.
    assert_eq!(bench.sampled(), Some(1));
    bench.sample_all();
    assert_eq!((bench.class(0), bench.class(1)), (None, Some(Class::Sensitive)));
    // And its own, after another warm-up.
    bench.windows(0, 3);
    assert_eq!(bench.sampled(), Some(0));
}

/// §5.2: "the partitioning algorithm ... is executed every 500ms".
#[test]
fn decisions_fall_due_every_500_ms_and_change_nothing_that_has_not_changed() {
    let mut bench = Bench::settled(&[streaming, sensitive]);
    for period in 1..5 {
        let plans = bench.plans;
        assert_eq!(bench.alarm.unwrap().nanos(), period * 500_000_000);
        bench.wake();
        assert_eq!(bench.plans, plans);
    }
    // A plan that was refused is tried again.
    bench.refuses = true;
    bench.start(2, sensitive);
    let plans = bench.plans;
    bench.wake();
    assert_eq!(bench.plans, plans);
    bench.refuses = false;
    bench.wake();
    assert_eq!(bench.plans, plans + 1);
    assert_eq!(bench.mask(2), bench.mask(1));
}

#[test]
fn a_cache_that_cannot_be_cut_in_two_is_not_sampled_until_it_can() {
    let mut bench = Bench::new(Parameters::default(), Llc { clos: 1, ..LLC });
    bench.start(0, sensitive);
    bench.start(1, light);
    bench.windows(0, 30);
    assert_eq!((bench.sampled(), bench.class(0)), (None, None));
    bench.machine(LLC);
    assert_eq!(bench.sampled(), Some(0));
}

#[test]
fn sampling_begins_afresh_on_another_machine() {
    let mut bench = Bench::settled(&[sensitive, streaming]);
    bench.start(2, sensitive);
    bench.windows(2, 3);
    bench.windows(2, 6);
    assert_eq!((bench.sampled(), bench.ways(2)), (Some(2), 4));
    // Other rules: what was sampled still holds.
    bench.machine(Llc { min_bits: 2, ..LLC });
    assert_eq!((bench.sampled(), bench.ways(2)), (Some(2), 2));
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Sensitive));
    // Other ways: it does not.
    bench.machine(Llc::with_ways(Ways::new(20).unwrap()));
    assert_eq!(bench.class(0), None);
    for app in 0..3 {
        bench.window(app);
    }
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

#[test]
fn a_program_with_a_profile_is_never_watched() {
    let mut bench = Bench::settled(&[sensitive]);
    let flat = Curve::new([Q32::ONE]).unwrap();
    let llcmpkc = Curve::new([Q32::from_int(30)]).unwrap();
    let profile = Profile { ipc: flat, llcmpki: flat, llcmpkc, bandwidth_mbps: flat };
    bench.becomes(1, streaming);
    let profile = Some(Arc::new(profile));
    bench.tell(&Event::Started { app: AppId(1), wish: Wish::default(), profile });
    assert_eq!(bench.class(1), Some(Class::Streaming));
    assert!(!bench.watched.contains_key(&1));
    assert_eq!((bench.ways(1), bench.ways(0)), (1, 10));
}

/// "A program that never leaves one class" is sampled once.
#[test]
fn a_program_that_never_leaves_its_class_is_sampled_once() {
    let mut bench = Bench::settled(&[streaming, light]);
    let plans = bench.plans;
    for _ in 0..100 {
        bench.windows(0, 5);
        bench.windows(1, 5);
        bench.wake();
    }
    assert_eq!(bench.plans, plans);
}
