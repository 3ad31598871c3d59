//! What ends sampling mode before it is complete.

use fairways_core::{Event, PartitionError, PlanId};

use super::bench::{Bench, Does, light, sensitive, streaming};
use crate::lfoc::Class;

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

/// Decision 18: a machine that refuses the plan; tried again later, and later each time.
#[test]
fn decision_18_a_refused_sampling_is_tried_again_later_each_time() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.refuses = true;
    bench.windows(0, 3);
    assert_eq!((bench.sampled(), bench.class(0)), (None, None));
    // Put off for 3, 6 and 12 windows; each try is a plan refused, and one that joins all again.
    for windows in [3, 6, 12, 24, 48, 96, 96] {
        let plans = bench.plans;
        bench.windows(0, windows - 1);
        assert_eq!(bench.plans, plans);
        bench.window(0);
        assert_eq!(bench.plans, plans + 1);
    }
    bench.refuses = false;
    bench.windows(0, 96);
    assert_eq!(bench.sampled(), Some(0));
    // A report about an old plan means nothing.
    bench.report(&Event::Refused { plan: PlanId(1), why: PartitionError::NoMember { cluster: 0 } });
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
    for _ in 0..4 {
        let counters = fairways_core::Counters::default();
        let sample = fairways_core::Sample { counters, ..bench.sample(0) };
        bench.report(&Event::Sampled(sample));
        bench.wake();
        assert_eq!(bench.sampled(), Some(0));
    }
    bench.wake();
    // It is the next program's turn.
    assert_eq!(bench.sampled(), Some(1));
    bench.sample_all();
    assert_eq!((bench.class(0), bench.class(1)), (None, Some(Class::Sensitive)));
    // And its own, after another warm-up.
    bench.windows(0, 3);
    assert_eq!(bench.sampled(), Some(0));
}

/// Alone, a program is sampled with the whole cache last; another that comes then needs some.
#[test]
fn one_that_comes_when_the_sampled_one_has_every_way_ends_it() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.windows(0, 3 + 2 * 9);
    // There is still a way for one more.
    bench.start(2, light);
    assert_eq!((bench.sampled(), bench.ways(0)), (Some(0), 10));
    let mut bench = Bench::with(&[sensitive]);
    bench.windows(0, 3);
    bench.windows(0, 20);
    assert_eq!((bench.sampled(), bench.ways(0)), (Some(0), 11));
    bench.start(1, light);
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Sensitive)));
}

/// Decision 9: "while another is sampled, and until the masks have settled, no class change is
/// signalled", though the mode ends because a program exits.
#[test]
fn decision_9_what_was_seen_in_the_complement_is_no_signal() {
    fn suffers(ways: u32) -> Does {
        Does { ipc: 1000, llcmpkc: if ways < 11 { 900 } else { 1 }, stalls: 0 }
    }
    let mut bench = Bench::settled(&[light, light]);
    bench.windows(0, 10);
    bench.start(2, sensitive);
    bench.windows(2, 3);
    bench.becomes(0, suffers);
    bench.windows(0, 10);
    let under_way = bench.sample(0);
    bench.exit(2);
    assert_eq!((bench.sampled(), bench.ways(0)), (None, 11));
    // The window that saw the exit, and one more that is discarded.
    for _ in 0..2 {
        bench.report(&Event::Sampled(under_way));
        assert_eq!(bench.sampled(), None);
    }
    bench.quiet(0, 20);
}

/// Decision 18: a program that was classified before keeps its class, and is tried again.
#[test]
fn decision_18_a_program_stays_what_it_was() {
    let mut bench = Bench::with(&[light, sensitive]);
    bench.refuses = true;
    bench.windows(0, 3);
    bench.refuses = false;
    bench.windows(0, 3);
    bench.sample_all();
    bench.windows(1, 3);
    bench.sample_all();
    bench.quiet(0, 10);
    bench.becomes(0, streaming);
    bench.refuses = true;
    // Two of five windows are much enough for a signal; its plan is refused, for the first time
    // since sampling went well; then comes a warm-up.
    bench.windows(0, 4);
    bench.refuses = false;
    assert_eq!((bench.sampled(), bench.class(0)), (None, Some(Class::Light)));
    bench.window(0);
    assert_eq!(bench.sampled(), Some(0));
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Streaming));
}

/// Decision 18: "no usable window came for four decision periods", not in all.
#[test]
fn decision_18_slow_windows_are_waited_for() {
    let mut bench = Bench::with(&[sensitive, light]);
    bench.windows(0, 3);
    for ways in 1..=10 {
        assert_eq!((bench.sampled(), bench.ways(0)), (Some(0), ways));
        (0..3).for_each(|_| bench.wake());
        bench.windows(0, 2);
    }
    assert_eq!(bench.class(0), Some(Class::Sensitive));
}
