//! §4.2: "a class change is signaled ...".

use fairways_core::{Counters, Event, Q32, Sample};

use super::bench::{Behaviour, Bench, Does, light, sensitive, streaming};
use crate::lfoc::Class;

/// How many windows it takes until program 0 is sampled, which has become this; `None`: for ever.
fn noticed(bench: &mut Bench, does: Behaviour) -> Option<u32> {
    bench.becomes(0, does);
    (1..400).find(|_| {
        bench.window(0);
        bench.sampled() == Some(0)
    })
}

/// Program 0 settled beside a sensitive one.
fn settled(does: Behaviour) -> Bench {
    let mut bench = Bench::settled(&[does, sensitive]);
    // What is discarded after a change of masks is over.
    bench.quiet(0, 10);
    bench
}

/// "the average LLCMPKC measured over the last five monitoring periods exceeds a high_threshold ...
/// or the average fraction of long-latency memory-access stalls is greater than 25%".
#[test]
fn a_light_program_in_a_memory_intensive_phase_is_sampled() {
    assert_eq!(
        noticed(&mut settled(light), |_| Does { ipc: 1000, llcmpkc: 60, stalls: 0 }),
        Some(1)
    );
    // Five windows of 11 are needed for an average above 10, after four of 1.
    assert_eq!(
        noticed(&mut settled(light), |_| Does { ipc: 1000, llcmpkc: 11, stalls: 0 }),
        Some(5)
    );
    assert_eq!(noticed(&mut settled(light), |_| Does { ipc: 1000, llcmpkc: 10, stalls: 0 }), None);
    assert_eq!(
        noticed(&mut settled(light), |_| Does { ipc: 500, llcmpkc: 1, stalls: 260 }),
        Some(5)
    );
    assert_eq!(noticed(&mut settled(light), |_| Does { ipc: 500, llcmpkc: 1, stalls: 250 }), None);
}

/// "This approach filters out spikes."
#[test]
fn a_spike_is_not_a_phase() {
    let mut bench = settled(light);
    for _ in 0..20 {
        bench.becomes(0, |_| Does { ipc: 1000, llcmpkc: 40, stalls: 0 });
        bench.window(0);
        assert_eq!(bench.sampled(), None);
        bench.becomes(0, light);
        bench.quiet(0, 4);
    }
}

/// "for streaming programs ... if its average LLCMPKC falls below a low_threshold".
#[test]
fn a_streaming_program_that_falls_quiet_is_sampled() {
    assert_eq!(
        noticed(&mut settled(streaming), |_| Does { ipc: 1000, llcmpkc: 2, stalls: 0 }),
        Some(5)
    );
    assert_eq!(
        noticed(&mut settled(streaming), |_| Does { ipc: 1000, llcmpkc: 3, stalls: 0 }),
        None
    );
}

/// "when they enter a stable non-memory intensive phase ... for effective cache allocations smaller
/// than the critical size".
#[test]
fn a_sensitive_program_that_needs_less_than_its_critical_size_is_sampled() {
    fn quiet(_: u32) -> Does {
        Does { ipc: 1500, llcmpkc: 1, stalls: 20 }
    }
    // Two that want six ways each have five or six of eleven.
    let mut bench = settled(sensitive);
    let small = if bench.ways(0) < 6 { 0 } else { 1 };
    assert_eq!((bench.ways(small), bench.ways(1 - small)), (5, 6));
    bench.windows(1, 10);
    bench.becomes(small, quiet);
    // Stalls of 35 % fall below 25 % in the average over five with the second window of 2 %.
    bench.quiet(small, 1);
    bench.window(small);
    assert_eq!(bench.sampled(), Some(small));
    bench.sample_all();
    assert_eq!(bench.class(small), Some(Class::Light));
    // With its critical size it is not: nothing is asked of it.
    let mut bench = settled(sensitive);
    bench.windows(1, 10);
    bench.becomes(1 - small, quiet);
    bench.quiet(1 - small, 50);
}

/// "or when the average LLCMPKC is higher than high_threshold for an amount of cache space bigger
/// than the critical size".
#[test]
fn a_sensitive_program_that_misses_much_beyond_its_critical_size_is_sampled() {
    let mut bench = Bench::settled(&[sensitive, light]);
    bench.windows(0, 10);
    assert_eq!(bench.ways(0), 11);
    assert_eq!(noticed(&mut bench, |_| Does { ipc: 900, llcmpkc: 30, stalls: 100 }), Some(2));
    bench.sample_all();
    assert_eq!(bench.class(0), Some(Class::Streaming));
    // With its critical size and no more, it is not.
    let mut bench = settled(sensitive);
    bench.windows(1, 10);
    let large = if bench.ways(0) == 6 { 0 } else { 1 };
    bench.becomes(large, |_| Does { ipc: 900, llcmpkc: 30, stalls: 100 });
    bench.quiet(large, 50);
}

/// The footnote of §4.2 reads occupancy from CMT; without it, a program occupies at most the ways
/// of its cluster.
#[test]
fn without_an_occupancy_the_ways_of_the_cluster_count() {
    let mut bench = Bench::settled(&[sensitive, light]);
    bench.windows(0, 10);
    bench.becomes(0, |_| Does { ipc: 900, llcmpkc: 30, stalls: 100 });
    for _ in 0..2 {
        let sample = Sample { occupancy: None, ..bench.sample(0) };
        bench.report(&Event::Sampled(sample));
    }
    assert_eq!(bench.sampled(), Some(0));
}

/// It ran before it was monitored: what it holds lies between what is counted and the ways of its
/// cluster.
#[test]
fn a_lower_bound_of_its_occupancy_is_used_as_one() {
    for (held, is_sampled) in [(5, false), (8, true)] {
        let mut bench = Bench::settled(&[sensitive, light]);
        bench.windows(0, 10);
        for window in 0..7 {
            // The average over five windows is of these alone.
            if window == 5 {
                bench.becomes(0, |_| Does { ipc: 900, llcmpkc: 30, stalls: 100 });
            }
            let (occupancy, occupancy_at_least) = (None, Some(Q32::from_int(held)));
            let sample = Sample { occupancy, occupancy_at_least, ..bench.sample(0) };
            bench.report(&Event::Sampled(sample));
        }
        assert_eq!(bench.sampled() == Some(0), is_sampled, "{held}");
    }
    // Nor is one that may have all that it needs taken for one that has less.
    let mut bench = settled(sensitive);
    let large = if bench.ways(0) == 6 { 0 } else { 1 };
    bench.windows(large, 10);
    bench.becomes(large, |_| Does { ipc: 1500, llcmpkc: 1, stalls: 20 });
    for _ in 0..50 {
        let (occupancy, occupancy_at_least) = (None, Some(Q32::ONE));
        let sample = Sample { occupancy, occupancy_at_least, ..bench.sample(large) };
        bench.report(&Event::Sampled(sample));
    }
    assert_eq!(bench.sampled(), None);
}

#[test]
fn a_window_without_counters_says_nothing() {
    let mut bench = settled(streaming);
    for _ in 0..20 {
        let sample = Sample { counters: Counters::default(), ..bench.sample(0) };
        bench.report(&Event::Sampled(sample));
        assert_eq!(bench.sampled(), None);
    }
    // Stalls that can't be read count neither as none nor as many: LLCMPKC decides.
    let mut bench = settled(light);
    bench.becomes(0, |_| Does { ipc: 1000, llcmpkc: 60, stalls: 900 });
    fn unread(bench: &Bench) -> Event {
        let sample = bench.sample(0);
        let counters = Counters { stalls_l2_miss: None, ..sample.counters };
        Event::Sampled(Sample { counters, ..sample })
    }
    bench.report(&unread(&bench));
    assert_eq!(bench.sampled(), Some(0));
    // They are averaged over the windows in which they were read.
    let mut bench = settled(light);
    bench.becomes(0, |_| Does { ipc: 500, llcmpkc: 1, stalls: 260 });
    for _ in 0..4 {
        bench.report(&unread(&bench));
        assert_eq!(bench.sampled(), None);
    }
    bench.window(0);
    assert_eq!(bench.sampled(), Some(0));
}

/// Decision 19: a light program that always waits for memory signals for ever, and sampling finds
/// each time that it is light.
#[test]
fn decision_19_a_signal_that_was_found_false_must_last_longer_each_time() {
    fn waits(_: u32) -> Does {
        Does { ipc: 500, llcmpkc: 1, stalls: 400 }
    }
    let mut bench = Bench::settled(&[waits, sensitive]);
    assert_eq!(bench.class(0), Some(Class::Light));
    let mut next = || {
        let windows = noticed(&mut bench, waits);
        bench.sample_all();
        assert_eq!(bench.class(0), Some(Class::Light));
        windows.unwrap()
    };
    // Two windows are passed over after sampling, and five make an average.
    let first = next();
    assert!(first <= 7, "{first}");
    assert_eq!([next(), next(), next()], [6 + 11, 6 + 21, 6 + 41]);
    assert_eq!([next(), next(), next(), next()], [6 + 81, 6 + 161, 6 + 321, 6 + 321]);
    // Once the signal has lapsed for five windows, it counts at once when it comes again: after two
    // that are passed over and four that begin an average, it is not there in five.
    bench.becomes(0, light);
    bench.quiet(0, 2 + 4 + 5);
    assert_eq!(noticed(&mut bench, waits), Some(4));
}

/// What is known of how it fares with other ways does not count.
#[test]
fn averages_start_afresh_when_its_ways_change() {
    let mut bench = Bench::settled(&[sensitive, light]);
    bench.windows(0, 10);
    // 11 ways, three windows of much: one more would do; then another sensitive program comes.
    bench.becomes(0, |_| Does { ipc: 900, llcmpkc: 14, stalls: 100 });
    bench.quiet(0, 3);
    bench.start_known(2, sensitive);
    assert!(bench.ways(0) < 11);
    bench.quiet(0, 20);
}

/// Decision 17: the window that saw the change, and as many as are discarded.
#[test]
fn decision_17_windows_after_a_change_of_its_masks_are_passed_over() {
    fn quiet(_: u32) -> Does {
        Does { ipc: 1500, llcmpkc: 1, stalls: 20 }
    }
    let mut bench = settled(sensitive);
    let small = if bench.ways(0) < 6 { 0 } else { 1 };
    bench.windows(small, 10);
    bench.start_known(2, sensitive);
    bench.becomes(small, quiet);
    bench.quiet(small, 2 + 4);
    bench.window(small);
    assert_eq!(bench.sampled(), Some(small));
    // Another plan that leaves its mask as it was costs no window.
    let mut bench = settled(light);
    let mask = bench.mask(0);
    bench.start_known(2, light);
    assert_eq!(bench.mask(0), mask);
    assert_eq!(noticed(&mut bench, |_| Does { ipc: 1000, llcmpkc: 60, stalls: 0 }), Some(1));
}
