//! Sampling mode: what is measured.

use alloc::vec;
use alloc::vec::Vec;

use fairways_core::{Event, Q32, Sample};

use super::bench::{Behaviour, Bench, LLC, light, sensitive, streaming};
use crate::lfoc::{Class, Parameters};

/// The sizes that a program was measured at, up to the end of sampling mode.
pub(super) fn sizes(bench: &mut Bench, app: u32) -> Vec<u32> {
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
pub(super) fn about_to(parameters: Parameters, does: Behaviour) -> Bench {
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
        bench.report(&Event::Sampled(sample));
    }
    assert_eq!(bench.ways(0), 2);
}

/// Decision 17: it may hit lines elsewhere that its monitoring group does not count.
#[test]
fn decision_17_windows_are_discarded_while_lines_are_not_counted() {
    for counted_from in 0..6 {
        let mut bench = about_to(Parameters::default(), sensitive);
        let mut discarded = 0;
        while bench.ways(0) == 1 {
            let (all, some) = (Some(Q32::from_int(1)), None);
            let (occupancy, occupancy_at_least) =
                if discarded >= counted_from { (all, some) } else { (some, all) };
            let sample = Sample { occupancy, occupancy_at_least, ..bench.sample(0) };
            bench.report(&Event::Sampled(sample));
            discarded += 1;
        }
        // The last one counts.
        assert_eq!(discarded - 1, counted_from.clamp(1, 4));
    }
}

#[test]
fn several_windows_a_size_are_added_up() {
    let three = Parameters { windows_per_size: 3, ..Parameters::default() };
    let mut bench = about_to(three, streaming);
    bench.windows(0, 2);
    // Lines that move later are not those of the change.
    let sample = fairways_core::Sample { occupancy: Some(Q32::default()), ..bench.sample(0) };
    bench.report(&Event::Sampled(sample));
    assert_eq!(bench.ways(0), 1);
    bench.window(0);
    assert_eq!(bench.ways(0), 2);
    bench.windows(0, 4);
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Streaming)));
}

fn four(count: Option<u64>) -> Option<u64> {
    count.map(|count| 4 * count)
}

/// A real host can't stop after 10 M instructions.
#[test]
fn windows_that_are_longer_than_asked_for_count() {
    let mut bench = about_to(Parameters::default(), streaming);
    while bench.sampled().is_some() {
        let sample = bench.sample(0);
        let counters = fairways_core::Counters {
            instructions: four(sample.counters.instructions),
            cycles: four(sample.counters.cycles),
            llc_misses: four(sample.counters.llc_misses),
            stalls_l2_miss: four(sample.counters.stalls_l2_miss),
            ..sample.counters
        };
        bench.report(&Event::Sampled(fairways_core::Sample { counters, ..sample }));
    }
    assert_eq!(bench.class(0), Some(Class::Streaming));
}

#[test]
fn a_program_that_comes_excuses_one_window_that_saw_two_plans() {
    let two = Parameters { windows_per_size: 2, ..Parameters::default() };
    let mut bench = about_to(two, sensitive);
    bench.window(0);
    bench.start(2, light);
    for _ in 0..9 {
        let sample = fairways_core::Sample { straddled: true, ..bench.sample(0) };
        bench.report(&Event::Sampled(sample));
        assert_eq!(bench.ways(0), 1);
    }
    bench.window(0);
    assert_eq!(bench.ways(0), 2);
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
            bench.report(&Event::Sampled(sample));
            assert_eq!(bench.ways(0), 1);
        }
    }
    bench.window(0);
    assert_eq!(bench.ways(0), 2);
}
