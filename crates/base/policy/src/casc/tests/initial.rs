//! The initial measurement (§4.2, §4.2.2.1; decisions CASC 9 to 11).

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Q32, Time};

use super::bench::{Asked, Bench, thread};
use crate::casc::{Measurement, Parameters};

const LIMIT: Duration = Duration::from_secs(30);

fn restless() -> Parameters {
    Parameters { delay: Duration::ZERO, ..Parameters::default() }
}

#[test]
fn nine_rows_on_eight_contexts() {
    let truth: Vec<i64> = (0..18).map(|app| [60, 10, 2][app % 3]).collect();
    let mut bench = Bench::with(8, &truth, restless());
    let first: Vec<u32> = (0..9).collect();
    let asked = bench.asked();
    assert_eq!(asked[0], Asked::Watch(Duration::from_micros(200)));
    // "Only the first n + 1 threads that entered the system participate", "their priorities are
    // elevated".
    assert!(asked.contains(&Asked::Raise(first.clone())), "{asked:?}");
    assert!(bench.casc.taking_part().eq(first.iter().map(|&app| thread(app))));
    // Eight of the nine rows do not do.
    for out in 1..9 {
        let row: Vec<u32> = (0..9).filter(|&app| app != out).collect();
        bench.ran(&row, 2000);
    }
    assert_eq!(bench.asked(), []);
    // MIN_RUNLENGTH is the sum of intervals.
    bench.ran(&first[1..], 1999);
    assert_eq!(bench.asked(), []);
    let before = bench.now;
    bench.ran(&first[1..], 200);
    let asked = bench.asked();
    assert!((0..9).all(|app| bench.knows(app)), "{asked:?}");
    assert!((9..18).all(|app| bench.pcmr(app).is_none()));
    assert!(asked.contains(&Asked::Lower(first)));
    assert_eq!(bench.casc.measured_by(thread(0)), Some(Measurement::Initial));
    let (since, until) = bench.casc.initial_measurement().unwrap();
    assert_eq!(since, Time::ZERO);
    assert!(until.unwrap() > before);
    // The others have their secondary measurements on CPU 0.
    assert!((9..18).all(|app| bench.allowed(app) == [0]));
    // Three of 60 and six frugal ones: the greedy ones have lost CPUs, and the class says so.
    assert!(bench.allowed(0).len() < 8 && bench.allowed(2).len() == 8);
    assert!(asked.contains(&Asked::Class(0, "cache-greedy")));
    assert!(asked.contains(&Asked::Class(2, "cache-frugal")));
    assert!(
        bench.casc.estimate(&[thread(0), thread(2)]).unwrap().raw().abs_diff(31 << 32) < 1 << 20
    );
    assert_eq!(bench.casc.estimate(&[thread(0), thread(9)]), None);
}

#[test]
fn short_intervals_and_cold_threads_are_not_measured() {
    let mut bench = Bench::with(1, &[40, 20], Parameters::default());
    // §5.3.2: 0.5 ms first; intervals under 200 us never, and they do not count for the delay.
    for app in [0, 1] {
        bench.ran_with(&[app], 199, 99_000_000);
        bench.ran_with(&[app], 500, 99_000_000);
    }
    for _ in 0..20 {
        bench.ran_with(&[0], 199, 99_000_000);
    }
    bench.ran(&[0], 2000);
    assert_eq!(bench.pcmr(0), None);
    bench.ran(&[1], 2000);
    assert!(bench.knows(0) && bench.knows(1));
}

#[test]
fn what_was_not_counted_is_not_nothing() {
    use fairways_core::{CoRun, Counters, Event, ThreadCounters};
    let mut bench = Bench::with(1, &[40, 20], restless());
    fn counted(llc_misses: Option<u64>, llc_references: Option<u64>) -> Counters {
        Counters { llc_misses, llc_references, ..Counters::default() }
    }
    let window = Duration::from_millis(5);
    let none = Counters::default();
    let groups = [
        (0, none),
        (0, counted(Some(4), None)),
        (0, counted(Some(0), Some(0))),
        (1, counted(Some(2), Some(10))),
    ];
    for (app, group) in groups {
        let threads = [ThreadCounters { thread: thread(app), counters: none }].to_vec();
        bench.report(&Event::RanTogether(CoRun { threads, group, window }));
    }
    assert!(bench.pcmr(1).is_none());
    // The sum of the threads replaces the group's counters.
    let threads =
        [ThreadCounters { thread: thread(0), counters: counted(Some(4), Some(10)) }].to_vec();
    bench.report(&Event::RanTogether(CoRun { threads, group: none, window }));
    assert!(bench.knows(0) && bench.knows(1));
}

#[test]
fn intervals_count_by_their_length() {
    let mut bench = Bench::with(1, &[0, 0], restless());
    bench.ran_with(&[0], 3000, 10_000_000);
    bench.ran_with(&[0], 1000, 50_000_000);
    bench.ran_with(&[1], 3000, 10_000_000);
    // (3 x 10 + 50) / 4.
    assert_eq!(bench.pcmr(0), Some(Q32::from_int(20)));
}

#[test]
fn a_score_is_held_to_0_to_100_and_the_raw_value_published() {
    let mut bench = Bench::with(2, &[0, 0, 0], restless());
    // x1 + x2 = 160, x0 + x2 = 20, x0 + x1 = 20: x0 = -60, x1 = x2 = 80.
    bench.ran_with(&[1, 2], 2000, 80_000_000);
    bench.ran_with(&[0, 2], 2000, 10_000_000);
    bench.ran_with(&[0, 1], 2000, 10_000_000);
    assert_eq!(bench.pcmr(0), Some(Q32::default()));
    assert_eq!(bench.casc.raw_pcmr(thread(0)), Some(-60 << 32));
    assert!(bench.asked().contains(&Asked::Estimated(0, Q32::default(), -60 << 32)));
    // x0 = 120.
    let mut bench = Bench::with(2, &[0, 0, 0], restless());
    bench.ran_with(&[1, 2], 2000, 0);
    bench.ran_with(&[0, 2], 2000, 60_000_000);
    bench.ran_with(&[0, 1], 2000, 60_000_000);
    assert_eq!(bench.pcmr(0), Some(Q32::from_int(100)));
    assert_eq!(bench.casc.raw_pcmr(thread(0)), Some(120 << 32));
}

#[test]
fn a_sleeper_is_replaced_and_the_row_without_it_stands() {
    let mut bench = Bench::with(2, &[30, 20, 10, 40, 5], restless());
    // Thread 1 sleeps.
    bench.ran(&[0, 2], 5000);
    bench.asked();
    bench.wake_after(LIMIT);
    let asked = bench.asked();
    assert!(asked.contains(&Asked::Lower([1].to_vec())), "{asked:?}");
    assert!(asked.contains(&Asked::Raise([3].to_vec())), "{asked:?}");
    bench.ran(&[0, 3], 5000);
    bench.ran(&[2, 3], 5000);
    assert!([0, 2, 3].into_iter().all(|app| bench.knows(app)));
    assert_eq!(bench.pcmr(1), None);
    // It is measured once it wakes up.
    assert_eq!(bench.allowed(1), [0]);
    bench.ran(&[1, 2], 2000);
    assert!(bench.knows(1));
}

#[test]
fn if_no_thread_can_replace_a_sleeper_the_rows_that_ran_suffice() {
    let mut bench = Bench::with(2, &[30, 20, 10], restless());
    bench.ran(&[0, 2], 5000);
    assert_eq!(bench.pcmr(0), None);
    bench.wake_after(LIMIT);
    // Least change: both the mean.
    assert_eq!([bench.pcmr(0), bench.pcmr(2)], [Some(Q32::from_int(20)); 2]);
    assert_eq!(bench.pcmr(1), None);
    bench.ran(&[1, 2], 2000);
    // 2 x 15 - 20.
    assert_eq!(bench.pcmr(1), Some(Q32::from_int(10)));
}

#[test]
fn fewer_than_n_plus_1_are_measured_by_the_groups_that_occur() {
    let mut bench = Bench::with(4, &[30, 20, 10], restless());
    // No thread needs to be raised.
    assert!(!bench.asked().iter().any(|asked| matches!(asked, Asked::Raise(_))));
    bench.ran(&[0, 1, 2], 5000);
    bench.ran(&[0, 1], 5000);
    bench.ran(&[1], 5000);
    bench.ran(&[2], 100);
    assert_eq!(bench.pcmr(0), None);
    bench.wake_after(LIMIT);
    assert!((0..3).all(|app| bench.knows(app)));
}

#[test]
fn no_row_at_all_means_to_wait() {
    let mut bench = Bench::with(2, &[30, 20, 10], restless());
    bench.asked();
    bench.wake_after(LIMIT);
    // Threads that are not raised must not wait for ever.
    fn wake(limits: u32) -> Asked {
        Asked::Wake(Time::ZERO.after(limits * LIMIT))
    }
    assert_eq!(bench.asked(), [Asked::Lower([0, 1, 2].to_vec()), wake(2)]);
    bench.wake_after(LIMIT);
    assert_eq!(bench.asked(), [Asked::Raise([0, 1, 2].to_vec()), wake(3)]);
    bench.rows(&[0, 1, 2]);
    assert!((0..3).all(|app| bench.knows(app)));
}

#[test]
fn threads_that_exit_are_replaced() {
    let mut bench = Bench::with(2, &[30, 20, 10, 40], restless());
    bench.ran(&[0, 2], 5000);
    bench.ran(&[0, 1], 5000);
    bench.asked();
    bench.exit(1);
    let asked = bench.asked();
    assert_eq!(asked, [Asked::Raise([3].to_vec())], "the dead are not asked for");
    // {0, 2} leaves 3 out, as it did 1.
    bench.ran(&[0, 3], 5000);
    bench.ran(&[2, 3], 5000);
    assert!([0, 2, 3].into_iter().all(|app| bench.knows(app)));
}

#[test]
fn unknown_threads_make_an_interval_unusable() {
    let mut bench = Bench::with(1, &[30, 20], restless());
    bench.ran(&[1], 5000);
    bench.ran_with(&[0, 77], 5000, 0);
    assert_eq!(bench.pcmr(0), None);
    bench.ran(&[0], 5000);
    assert!(bench.knows(0) && bench.knows(1));
}

#[test]
fn once_there_are_n_plus_1_what_fewer_have_shown_is_replaced() {
    let mut bench = Bench::with(2, &[30, 10], restless());
    bench.ran(&[0, 1], 5000);
    bench.wake_after(LIMIT);
    assert_eq!([bench.pcmr(0), bench.pcmr(1)], [Some(Q32::from_int(20)); 2]);
    bench.start(50);
    bench.rows(&[0, 1, 2]);
    assert!((0..3).all(|app| bench.knows(app)));
    assert_eq!(bench.casc.measured_by(thread(0)), Some(Measurement::Initial));
    // Now it stands.
    bench.start(1);
    assert_eq!(bench.allowed(3), [0]);
}

#[test]
fn smaller_groups_are_no_rows_of_the_matrix() {
    let mut bench = Bench::with(2, &[30, 20, 10], restless());
    // Alone, each has the whole cache to itself.
    for app in 0..3 {
        bench.ran_with(&[app], 5000, 1_000_000);
    }
    assert_eq!(bench.pcmr(0), None);
    bench.rows(&[0, 1, 2]);
    assert!((0..3).all(|app| bench.knows(app)));
}

#[test]
fn sleepers_that_were_given_up_do_not_bring_the_matrix_back() {
    let mut bench = Bench::with(4, &[30, 20, 10, 40, 5], restless());
    bench.ran(&[0, 1], 5000);
    bench.ran(&[0], 5000);
    bench.wake_after(LIMIT);
    assert!(bench.knows(0) && bench.knows(1));
    // 2 known PCMRs are fewer than n - 1.
    assert!(bench.casc.taking_part().next().is_none());
    assert!((2..5).all(|app| bench.allowed(app) == [0]));
    for app in 2..5 {
        bench.ran(&[0, 1, app], 5000);
        assert!(bench.knows(app));
    }
    // Awake, they count as others do.
    bench.exit(0);
    bench.exit(1);
    bench.exit(2);
    bench.start(7);
    bench.start(8);
    bench.start(9);
    assert_eq!(bench.casc.taking_part().count(), 5);
}
