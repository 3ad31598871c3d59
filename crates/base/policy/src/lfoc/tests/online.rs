//! Between normal operation and sampling mode.

use fairways_core::{Event, Llc};

use super::bench::{Behaviour, Bench, LLC, light, sensitive, streaming};
use crate::lfoc::{Class, Parameters};

#[test]
fn every_program_is_classified_and_placed() {
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
    // To ask again changes nothing.
    bench.windows(3, 3);
    for app in [2, 0, 3, 1] {
        assert_eq!(bench.sampled(), Some(app));
        bench.windows(app, 20);
    }
    assert_eq!(bench.sampled(), None);
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
            bench.report(&Event::Sampled(sample));
        }
        bench.exit(guest);
    }
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Sensitive)));
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
    bench.wake();
    assert_eq!(bench.plans, plans + 1);
    assert_eq!(bench.mask(2), bench.mask(1));
}

#[test]
fn a_program_that_is_as_its_profile_says_is_never_sampled() {
    let mut bench = Bench::settled(&[sensitive]);
    bench.start_known(1, streaming);
    assert_eq!(bench.class(1), Some(Class::Streaming));
    assert_eq!((bench.ways(1), bench.ways(0)), (1, 10));
    bench.quiet(1, 50);
    assert_eq!(bench.class(1), Some(Class::Streaming));
}

/// Decision 24: five windows in a row, of another phase or input.
#[test]
fn decision_24_a_program_that_its_profile_does_not_describe_is_sampled() {
    let changes: [(Behaviour, Behaviour); 3] =
        [(streaming, light), (light, streaming), (light, sensitive)];
    for (said, is) in changes {
        let mut bench = Bench::new(Parameters::default(), LLC);
        bench.start_known(0, said);
        bench.start_known(1, sensitive);
        bench.quiet(0, 20);
        bench.becomes(0, is);
        bench.quiet(0, 4);
        bench.window(0);
        assert_eq!((bench.sampled(), bench.class(0)), (Some(0), None));
        bench.sample_all();
        assert_eq!(bench.class(0), Bench::settled(&[is]).class(0));
    }
}

/// What a program does while another one is sampled says nothing about its profile, and neither
/// does a single window.
#[test]
fn a_profile_is_not_given_up_for_what_passes() {
    let mut bench = Bench::with(&[sensitive]);
    bench.start_known(1, light);
    for _ in 0..10 {
        bench.windows(1, 4);
        bench.becomes(1, streaming);
        bench.windows(1, 4);
        bench.becomes(1, light);
    }
    assert_eq!(bench.class(1), Some(Class::Light));
    bench.windows(0, 3);
    assert_eq!(bench.sampled(), Some(0));
    bench.becomes(1, streaming);
    bench.windows(1, 40);
    assert_eq!((bench.sampled(), bench.class(1)), (Some(0), Some(Class::Light)));
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

/// When a program was found out leaves no trace.
#[test]
fn the_order_in_which_programs_are_sampled_does_not_matter() {
    let programs = [light, sensitive, streaming, sensitive, light];
    let first = Bench::settled(&programs);
    let mut last = Bench::with(&programs);
    for app in [3, 4, 0, 2, 1] {
        last.windows(app, 3);
        last.sample_all();
    }
    assert_eq!(last.partition, first.partition);
}

/// Sampled tables and profiles serve the same algorithm: also where sensitive programs must share.
#[test]
fn known_and_sampled_programs_mix() {
    let mut bench = Bench::new(Parameters::default(), Llc { clos: 3, ..LLC });
    for app in [0, 2] {
        bench.start(app, sensitive);
        bench.start_known(app + 1, sensitive);
    }
    for app in [0, 2] {
        bench.windows(app, 3);
        bench.sample_all();
    }
    for app in 0..4 {
        assert_eq!(bench.class(app), Some(Class::Sensitive));
    }
    assert_eq!(bench.partition.clusters().len(), 3);
}

/// A machine whose classes of service have run out refuses the plan after sampling, too.
#[test]
fn no_program_is_left_with_the_rest_of_a_sampling_partition() {
    let mut bench = Bench::settled(&[streaming, sensitive]);
    bench.start(2, sensitive);
    bench.windows(2, 3);
    while bench.ways(2) < 10 {
        bench.window(2);
    }
    bench.refuses = true;
    while bench.sampled().is_some() {
        bench.window(2);
    }
    assert_eq!([0, 1, 2].map(|app| bench.ways(app)), [11, 11, 11]);
    // The plan that was refused is tried again, and nothing else is done meanwhile.
    let plans = bench.plans;
    bench.wake();
    assert_eq!(bench.plans, plans);
    bench.refuses = false;
    bench.wake();
    assert_eq!((bench.ways(0), bench.ways(1) + bench.ways(2)), (1, 10));
}
