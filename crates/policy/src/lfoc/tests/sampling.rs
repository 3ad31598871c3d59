//! Sampling mode: what is measured, and when it stops.

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::{Event, Q32};

use super::bench::{Bench, Does, LLC, light, sensitive, streaming};
use crate::lfoc::{Class, Parameters};

/// The sizes that a program was measured at, up to the end of sampling mode.
fn sizes(bench: &mut Bench, app: u32) -> Vec<u32> {
    let mut sizes = vec![bench.ways(app)];
    while bench.sampled() == Some(app) {
        if *sizes.last().unwrap() != bench.ways(app) {
            sizes.push(bench.ways(app));
        }
        bench.window(app);
    }
    sizes
}

/// Program 0 warmed up, and a light one beside it.
fn about_to(parameters: Parameters, does: super::bench::Behaviour) -> Bench {
    let mut bench = Bench::new(parameters, LLC);
    bench.start(0, does);
    bench.start(1, light);
    bench.windows(0, 3);
    assert_eq!(bench.sampled(), Some(0));
    bench
}

/// §4.1: three windows are not used; §4.2: then a partition of its own that grows from one way,
/// "the other one is devoted to the remaining applications", both "covering the entire LLC space".
#[test]
fn after_three_windows_a_program_is_sampled_from_one_way_up() {
    let mut bench = Bench::with(&[sensitive, streaming, light]);
    bench.windows(0, 2);
    assert_eq!(bench.sampled(), None);
    bench.window(0);
    assert_eq!(bench.sampled(), Some(0));
    for ways in 1..=10 {
        assert_eq!(bench.ways(0), ways);
        assert_eq!(bench.mask(1), bench.mask(2));
        assert!(!bench.mask(0).overlaps(bench.mask(1)));
        assert_eq!(bench.ways(0) + bench.ways(1), 11);
        // One window is discarded, and one counts.
        bench.windows(0, 2);
    }
    assert_eq!(bench.sampled(), None);
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// §5.2: "every 100M instructions during the normal operation mode and every 10M instructions
/// during the sampling mode".
#[test]
fn windows_are_short_in_sampling_mode_and_long_again_after_it() {
    let mut bench = Bench::with(&[light, light]);
    assert_eq!((bench.watched[&0], bench.watched[&1]), (100_000_000, 100_000_000));
    bench.windows(0, 3);
    assert_eq!((bench.watched[&0], bench.watched[&1]), (10_000_000, 100_000_000));
    bench.sample_all();
    assert_eq!(bench.watched[&0], 100_000_000);
}

/// §4.2, the first early stop; decision 10.
#[test]
fn decision_10_sampling_stops_where_little_is_missed_and_little_is_waited_for() {
    assert_eq!(sizes(&mut about_to(Parameters::default(), light), 0), [1]);
    // Below low_threshold, 3, from the fourth way on.
    fn falling(ways: u32) -> Does {
        let few = u64::from(4_u32.saturating_sub(ways));
        Does { ipc: 1000 - 10 * few, llcmpkc: 2 + 2 * few, stalls: 20 }
    }
    assert_eq!(sizes(&mut about_to(Parameters::default(), falling), 0), [1, 2, 3, 4]);
    // It misses little and waits for it, gains by every way, and is sensitive.
    fn waiting(ways: u32) -> Does {
        let few = u64::from(6_u32.saturating_sub(ways));
        Does { ipc: 1000 - 20 * few, llcmpkc: 2, stalls: 20 + 20 * few }
    }
    let mut bench = about_to(Parameters::default(), waiting);
    assert_eq!(sizes(&mut bench, 0), [1, 2, 3, 4, 5]);
    assert_eq!(bench.class(0), Some(Class::Sensitive));
    // Asked for the LLCMPKC alone, it stops at once, and takes the program for light.
    let plain = Parameters { early_stop_heeds_stalls: false, ..Parameters::default() };
    let mut bench = about_to(plain, waiting);
    assert_eq!(sizes(&mut bench, 0), [1]);
    assert_eq!(bench.class(0), Some(Class::Light));
}

/// §4.2, the second early stop; decision 11.
#[test]
fn decision_11_sampling_stops_for_streaming_after_two_sizes() {
    let mut bench = about_to(Parameters::default(), streaming);
    assert_eq!(sizes(&mut bench, 0), [1, 2]);
    assert_eq!(bench.class(0), Some(Class::Streaming));
    let four = Parameters { streaming_stop_sizes: 4, ..Parameters::default() };
    assert_eq!(sizes(&mut about_to(four, streaming), 0), [1, 2, 3, 4]);
    // 5 % faster with the second way: not "a very low increase".
    fn faster(ways: u32) -> Does {
        Does { ipc: 1000 + 50 * u64::from(ways.min(2)), llcmpkc: 30, stalls: 100 }
    }
    assert_eq!(sizes(&mut about_to(Parameters::default(), faster), 0).len(), 10);
}

/// Decision 12: "LFOC uses the last IPC sample gathered to approximate the performance with higher
/// way counts"; the last size that others leave stands for the whole cache.
#[test]
fn decision_12_sizes_beyond_the_last_are_taken_to_perform_as_that() {
    let bench = Bench::settled(&[sensitive, light]);
    let found = bench.policy.learners.0[0].sampled.as_ref().unwrap();
    let ipc: Vec<u64> = found.ipc.values().iter().map(|ipc| (1000 * ipc.raw()) >> 32).collect();
    // To within the rounding of counters.
    let expected = [500, 600, 700, 800, 900, 1000, 1000, 1000, 1000, 1000, 1000];
    assert!(ipc.iter().zip(expected).all(|(ipc, expected)| ipc.abs_diff(expected) <= 1), "{ipc:?}");
}

/// §4.2: "the amount of cache space where the slowdown falls below 5%".
#[test]
fn the_critical_size_is_where_slowdown_falls_below_5_percent() {
    let bench = Bench::settled(&[sensitive, light]);
    assert_eq!(bench.policy.learners.0[0].sampled.as_ref().unwrap().critical_ways, 6);
}

#[test]
fn a_program_alone_is_sampled_up_to_every_way() {
    let mut bench = Bench::with(&[sensitive]);
    bench.windows(0, 3);
    assert_eq!(sizes(&mut bench, 0), (1..=11).collect::<Vec<_>>());
}

#[test]
fn with_wide_masks_sizes_grow_by_the_least_mask() {
    let mut bench = Bench::new(Parameters::default(), fairways_core::Llc { min_bits: 2, ..LLC });
    bench.start(0, sensitive);
    bench.start(1, light);
    bench.windows(0, 3);
    assert_eq!(sizes(&mut bench, 0), [2, 4, 6, 8, 9]);
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}

/// Decision 17.
#[test]
fn decision_17_windows_are_discarded_while_lines_move() {
    for discarded in 0..4 {
        let parameters = Parameters { discarded_windows: discarded, ..Parameters::default() };
        let mut bench = about_to(parameters, sensitive);
        bench.windows(0, discarded);
        assert_eq!(bench.ways(0), 1);
        bench.window(0);
        assert_eq!(bench.ways(0), 2);
    }
    // Occupancy still rises: up to four are discarded.
    let mut bench = about_to(Parameters::default(), sensitive);
    for tenths in 1..=5 {
        assert_eq!(bench.ways(0), 1);
        let occupancy = Some(Q32::ratio(tenths, 10));
        let sample = fairways_core::Sample { occupancy, ..bench.sample(0) };
        bench.tell(&Event::Sampled(sample));
    }
    assert_eq!(bench.ways(0), 2);
}

#[test]
fn several_windows_a_size_are_added_up() {
    let three = Parameters { windows_per_size: 3, ..Parameters::default() };
    let mut bench = about_to(three, streaming);
    bench.windows(0, 3);
    assert_eq!(bench.ways(0), 1);
    bench.window(0);
    assert_eq!(bench.ways(0), 2);
    bench.windows(0, 4);
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Streaming)));
}

/// A real host can't stop after 10 M instructions.
#[test]
fn windows_that_are_longer_than_asked_for_count() {
    let mut bench = about_to(Parameters::default(), streaming);
    while bench.sampled().is_some() {
        let sample = bench.sample(0);
        let four = |count: Option<u64>| count.map(|count| 4 * count);
        let counters = fairways_core::Counters {
            instructions: four(sample.counters.instructions),
            cycles: four(sample.counters.cycles),
            llc_misses: four(sample.counters.llc_misses),
            stalls_l2_miss: four(sample.counters.stalls_l2_miss),
            ..sample.counters
        };
        bench.tell(&Event::Sampled(fairways_core::Sample { counters, ..sample }));
    }
    assert_eq!(bench.class(0), Some(Class::Streaming));
}

#[test]
fn windows_of_another_plan_or_of_two_do_not_count() {
    let mut bench = about_to(Parameters::default(), sensitive);
    bench.window(0);
    for _ in 0..9 {
        let sample = bench.sample(0);
        let straddled = fairways_core::Sample { straddled: true, ..sample };
        let before = fairways_core::Sample { plan: Some(fairways_core::PlanId(0)), ..sample };
        let lost = fairways_core::Sample { counters: Default::default(), ..sample };
        for sample in [straddled, before, lost] {
            bench.tell(&Event::Sampled(sample));
            assert_eq!(bench.ways(0), 1);
        }
    }
    bench.window(0);
    assert_eq!(bench.ways(0), 2);
}
