//! Decision LFOC 22: programs of several threads. The paper samples each thread's counters "every
//! 100M instructions" (§5.2), and "each thread has to go through a warm-up period" (§4.1).

use crate::lfoc::Class;

use super::bench::{Behaviour, Bench, Does, light, sensitive, streaming};

const THREADS: u64 = 16;

const NORMAL: u64 = 100_000_000;
const SAMPLING: u64 = 10_000_000;

fn of_threads(programs: &[Behaviour], threads: u64) -> Bench {
    let mut b = Bench::with(programs);
    for app in (0..).take(programs.len()) {
        b.runs_threads(app, threads);
    }
    b
}

/// Each thread fetches what it needs first, and misses as much as one that streams: that is no
/// warm-up of three windows if the windows are those of all threads together.
#[test]
fn every_thread_has_its_own_warm_up() {
    let mut b = of_threads(&[streaming, light], THREADS);
    let mut cold = 3 * NORMAL * THREADS;
    while cold > 0 {
        cold = cold.saturating_sub(b.watched[&0]);
        b.window(0);
        assert!(cold == 0 || b.sampled().is_none(), "{cold} instructions are left of the warm-up");
    }
    b.becomes(0, light);
    while b.class(0).is_none() {
        b.window(0);
    }
    assert_eq!(b.class(0), Some(Class::Light));
}

#[test]
fn a_window_is_as_long_for_each_of_many_threads_as_for_one() {
    let mut b = of_threads(&[sensitive, light], THREADS);
    assert_eq!(b.watched[&0], NORMAL, "how many threads it has is not known yet");
    b.window(0);
    assert_eq!(b.watched[&0], THREADS * NORMAL);
    // The first one was too short to count.
    b.quiet(0, 2);
    b.window(0);
    assert_eq!((b.sampled(), b.watched[&0]), (Some(0), THREADS * SAMPLING));
    b.sample_all();
    assert_eq!((b.class(0), b.watched[&0]), (Some(Class::Sensitive), THREADS * NORMAL));
}

/// Counters of a program are sums over its threads, cycles too: rates are means of the threads.
#[test]
fn threads_that_are_all_of_a_class_are_of_that_class() {
    for threads in [1, 2, THREADS] {
        let mut b = of_threads(&[streaming, sensitive, light], threads);
        for app in 0..3 {
            b.windows(app, 4);
            b.sample_all();
        }
        let classes = [0, 1, 2].map(|app| b.class(app));
        assert_eq!(classes, [Class::Streaming, Class::Sensitive, Class::Light].map(Some));
    }
}

#[test]
fn the_number_of_threads_may_change_while_a_program_runs() {
    fn busy(_: u32) -> Does {
        Does { ipc: 800, llcmpkc: 20, stalls: 300 }
    }
    let mut b = of_threads(&[sensitive, light], 1);
    b.windows(1, 3);
    b.sample_all();
    assert_eq!((b.class(1), b.watched[&1]), (Some(Class::Light), NORMAL));
    // More threads come: windows that were asked for a single one are passed over, whatever they
    // show.
    b.becomes(1, busy);
    for threads in [2, 4, 8, 16] {
        b.runs_threads(1, threads);
        b.quiet(1, 1);
        assert_eq!(b.watched[&1], threads * NORMAL);
    }
    b.becomes(1, light);
    b.quiet(1, 20);
    // They end: a window that was longer than it had to be counts.
    b.runs_threads(1, 1);
    b.becomes(1, busy);
    b.quiet(1, 1);
    assert_eq!(b.watched[&1], NORMAL);
    // 20, 20, 20, 1 and 1 are more than 10 in the mean.
    b.quiet(1, 1);
    b.window(1);
    assert_eq!(b.sampled(), Some(1));
}

/// A window is not given up for a thread more or less of many.
#[test]
fn a_few_threads_more_or_less_change_nothing() {
    let mut b = of_threads(&[light, light], THREADS);
    b.window(0);
    for threads in [18, 13, 20, 15] {
        b.runs_threads(0, threads);
        b.window(0);
        let asked = b.watched[&0];
        assert!([THREADS * NORMAL, THREADS * SAMPLING].contains(&asked), "{asked}");
    }
    b.runs_threads(0, 10);
    b.window(0);
    assert!([10 * NORMAL, 10 * SAMPLING].contains(&b.watched[&0]));
}
