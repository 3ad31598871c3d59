//! A cache that becomes another one while programs run.

use fairways_core::{Llc, Ways};

use super::bench::{Bench, LLC, light, sensitive, streaming};
use crate::lfoc::{Class, Parameters};

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

/// Until then it is watched as in normal operation.
#[test]
fn a_cache_that_can_no_longer_be_cut_in_two_puts_sampling_off() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.windows(0, 5);
    assert_eq!((bench.sampled(), bench.watched[&0]), (Some(0), 10_000_000));
    bench.machine(Llc { clos: 1, ..LLC });
    assert_eq!((bench.sampled(), bench.watched[&0]), (None, 100_000_000));
    bench.windows(0, 30);
    bench.machine(LLC);
    assert_eq!((bench.sampled(), bench.ways(0), bench.watched[&0]), (Some(0), 1, 10_000_000));
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// A program that signals while sampling is impossible is queued once.
#[test]
fn a_program_that_waits_for_another_cache_is_sampled_once() {
    let mut bench = Bench::settled(&[light, sensitive]);
    bench.machine(Llc { clos: 1, ..LLC });
    bench.becomes(0, streaming);
    bench.quiet(0, 30);
    bench.machine(LLC);
    while bench.class(0) == Some(Class::Light) {
        assert_eq!(bench.sampled(), Some(0));
        bench.window(0);
    }
    assert_eq!(bench.sampled(), None);
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

/// A machine that says again what it is may have lost its masks.
#[test]
fn the_same_machine_again_begins_sampling_afresh_and_forgets_no_class() {
    let mut bench = Bench::settled(&[light, sensitive]);
    bench.start(2, sensitive);
    bench.start(3, light);
    bench.windows(2, 3);
    bench.windows(3, 3);
    bench.windows(2, 6);
    assert_eq!((bench.sampled(), bench.ways(2)), (Some(2), 4));
    bench.machine(LLC);
    assert_eq!((bench.sampled(), bench.ways(2)), (Some(2), 1));
    bench.sample_all();
    let classes = [0, 1, 2].map(|app| bench.class(app).unwrap());
    assert_eq!(classes, [Class::Light, Class::Sensitive, Class::Sensitive]);
}
