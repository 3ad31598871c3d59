//! Windows that end in the kernel, for real threads, on this machine's kernel and on the kernel
//! lab's.

#![allow(clippy::unwrap_used)]

mod common;
mod in_lab;

use std::io::Write as _;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

use common::{APP, Outcome, Worker, begin, descriptors, perf, process_ran, ran, stall, switches};
use fairways_core::AppId;
use fairways_perf::Source as _;
use fairways_sched_ext::sampling::{Sampler, Span};
use fairways_testing::needs::{stolen, stolen_since};

const MILLI: u64 = 1_000_000;

/// How much longer windows were than requested, printed on the terminal: half of them, 19 of 20,
/// and all.
fn excess(what: &str, window: u64, each: &[u64]) -> [u64; 3] {
    let mut over: Vec<u64> = each.iter().map(|ran| ran.checked_sub(window).unwrap()).collect();
    over.sort_unstable();
    let at = |of: usize| over[(over.len() * of / 100).min(over.len() - 1)];
    let all = [at(50), at(95), at(100)];
    let [half, most, worst] = all.map(|nanos| nanos / 1000);
    let _ = writeln!(
        std::io::stderr(),
        "{what}: {} windows of {} us, longer by {half} us in half of them, {most} in 19 of 20, {worst} at most",
        each.len(),
        window / 1000,
    );
    all
}

/// The threads' CPU time, and how often they were switched out, by the scheduler's figures.
struct Since {
    ran: u64,
    switched: u64,
    stolen: Duration,
}

/// For perf's clock a thread already runs while it is switched to: on a guest of a busy machine
/// some 20 us that the scheduler does not count for the thread.
const SWITCH: u64 = 60_000;

/// How much later a window's last interrupt may be than that of the window before: one that falls
/// short by a microsecond takes a step more.
const LATE: u64 = 60_000;

/// The time that a host may have taken since, in nanoseconds: perf's clock went on, and the
/// scheduler's did not.
fn lost(since: Duration) -> u64 {
    u64::try_from(stolen_since(since).as_nanos()).unwrap()
}

/// Checks that windows end soon after they should. They are measured again if a host took the CPUs
/// from this machine meanwhile.
fn end_soon(what: &str, window: u64, mut measure: impl FnMut() -> Vec<u64>) {
    for attempt in 1.. {
        let before = stolen();
        let each = measure();
        let [half, most, _] = excess(what, window, &each);
        if half <= window / 16 + LATE + stall() && most <= window / 12 + stall() {
            return;
        }
        assert!(attempt < 5 && stolen() > before, "{each:?}");
    }
}

impl Since {
    fn now(threads: &[i32]) -> Self {
        let sum = |of: fn(i32) -> u64| threads.iter().map(|&thread| of(thread)).sum();
        Self { ran: sum(ran), switched: sum(switches), stolen: stolen() }
    }

    /// Checks that windows covered everything, except the last, unfinished one and a step.
    fn holds(&self, threads: &[i32], sum: u64, window: u64) {
        let now = Self::now(threads);
        let (had, switched) = (now.ran - self.ran, now.switched - self.switched);
        let more = switched * SWITCH + lost(self.stolen) + stall();
        let less = window + window / 16 + stall();
        assert!(sum < had + had / 100 + more, "{sum} of {had}, {switched} switches");
        assert!(had < sum + had / 100 + less, "{sum} of {had}");
    }
}

#[test]
fn a_threads_windows_add_up_to_its_cpu_time() {
    let Some((_alone, mut perf)) = perf("a_thread_s_windows_are_as_many_as_its_cpu_time_says", 1)
    else {
        return;
    };
    let worker = Worker::start();
    begin(&mut perf, APP, &[worker.thread]);
    let window = 20 * MILLI;
    end_soon("one thread", window, || {
        let before = Since::now(&[worker.thread]);
        assert!(perf.report_windows(APP, 0, Some(window)) && perf.reports_windows(APP, 0));
        let mut outcome = Outcome::default();
        worker.work(Duration::from_millis(1500));
        outcome.while_they_work(&mut perf, &[&worker]);
        let (sum, each) = outcome.ran();
        before.holds(&[worker.thread], sum, window);
        assert!(outcome.wakes <= each.len() + 1, "{} for {} windows", outcome.wakes, each.len());
        // Lengths by the clock and ends one after another: all windows lie between the beginning
        // and now.
        let clock: Duration = outcome.windows.iter().map(|of| of.length).sum();
        assert!(clock.as_nanos() >= u128::from(sum), "a thread runs no longer than the clock");
        each
    });
    worker.exit();
}

#[test]
fn other_events_are_counted_in_the_same_windows() {
    let Some((_alone, mut perf)) = perf("what_is_counted_beside_is_of_the_same_windows", 2) else {
        return;
    };
    let worker = Worker::start();
    begin(&mut perf, APP, &[worker.thread]);
    let switched = switches(worker.thread);
    assert!(perf.report_windows(APP, 0, Some(10 * MILLI)));
    let mut outcome = Outcome::default();
    worker.work(Duration::from_millis(500));
    outcome.while_they_work(&mut perf, &[&worker]);
    assert!(outcome.windows.len() > if stall() > 0 { 15 } else { 30 });
    // The same clock once more, and turns on a CPU, which the worker counts for itself. A machine
    // that stands still between the readings of both makes one window longer and the next shorter.
    let mut sums = [0; 2];
    for of in &outcome.windows {
        let (one, other) = (of.counters.instructions.unwrap(), of.counters.cycles.unwrap());
        assert!(one.abs_diff(other) < one / 2, "{one} {other}");
        sums = [sums[0] + one, sums[1] + other];
        assert!(of.counters.stalls_llc_miss.is_none() && of.counters.memory_bytes.is_none());
    }
    assert!(sums[0].abs_diff(sums[1]) < sums[0] / 50, "{sums:?}");
    let turns: u64 = outcome.windows.iter().map(|of| of.counters.llc_references.unwrap()).sum();
    let switched = switches(worker.thread) - switched;
    assert!(turns <= switched, "{turns} {switched}");
    worker.exit();
}

#[test]
fn the_windows_of_three_threads_cover_all_of_them() {
    let Some((_alone, mut perf)) = perf("the_windows_of_three_threads_are_of_all_of_them", 1)
    else {
        return;
    };
    let workers = [Worker::start(), Worker::start(), Worker::start()];
    let threads = workers.each_ref().map(|worker| worker.thread);
    begin(&mut perf, APP, &threads);
    let window = 40 * MILLI;
    end_soon("three threads", window, || {
        let before = Since::now(&threads);
        assert!(perf.report_windows(APP, 0, Some(window)));
        let mut outcome = Outcome::default();
        // One works much, and the others less.
        for (worker, millis) in workers.iter().zip([1200, 600, 300]) {
            worker.work(Duration::from_millis(millis));
        }
        outcome.while_they_work(&mut perf, &workers.each_ref());
        let (sum, each) = outcome.ran();
        before.holds(&threads, sum, window);
        each
    });
    workers.into_iter().for_each(Worker::exit);
}

#[test]
fn threads_that_end_before_they_overflow_count() {
    let Some((_alone, mut perf)) = perf("threads_that_end_before_they_overflow_count", 1) else {
        return;
    };
    let window = 5 * MILLI;
    begin(&mut perf, APP, &[]);
    assert!(perf.report_windows(APP, 0, Some(window)));
    let (mut had, before, taken) = (0, process_ran(), stolen());
    let mut outcome = Outcome::default();
    // Hundreds of threads, none of which lives for a step.
    for _ in 0..300 {
        let worker = Worker::start();
        perf.threads(APP, &[worker.thread]);
        let begun = ran(worker.thread);
        worker.work(Duration::from_micros(60));
        worker.wait();
        had += ran(worker.thread) - begun;
        worker.exit();
        perf.threads(APP, &[]);
        outcome.wait(&mut perf, Duration::ZERO);
    }
    let (sum, each) = outcome.ran();
    excess("threads that end", window, &each);
    assert!(had > 3 * window && had < sum + had / 10 + window, "{sum} of {had}");
    // The work of threads at their very end counts, too, and is the smaller part of this process's
    // work.
    let more = 300 * 3 * SWITCH + lost(taken) + stall();
    assert!(sum < process_ran() - before + more, "{sum}");
}

#[test]
fn windows_that_are_requested_again_begin_then() {
    let Some((_alone, mut perf)) = perf("windows_that_are_requested_again_begin_then", 1) else {
        return;
    };
    let other = AppId(8);
    let (one, two) = (Worker::start(), Worker::start());
    begin(&mut perf, APP, &[one.thread]);
    begin(&mut perf, other, &[two.thread]);
    assert!(!perf.reports_windows(APP, 0));
    // Long, because perf's clock goes on where a host takes the CPU.
    let long = 2000 * MILLI;
    assert!(
        perf.report_windows(APP, 0, Some(10 * MILLI)) && perf.report_windows(other, 0, Some(long))
    );
    for round in 0..3 {
        // Less than half of the second's window, so that a window not begun again would end in the
        // third round.
        assert!(perf.report_windows(other, 0, Some(long)));
        one.work(Duration::from_millis(105));
        two.work(Duration::from_millis(800));
        let mut outcome = Outcome::default();
        outcome.while_they_work(&mut perf, &[&one, &two]);
        assert!(outcome.windows.iter().all(|of| of.app == APP), "{round}: {:?}", outcome.windows);
        let least = if stall() > 0 { 2 } else { 8 };
        assert!((least..=20).contains(&outcome.windows.len()), "{round}: {:?}", outcome.windows);
    }
    // Longer ones, and none.
    assert!(perf.report_windows(APP, 0, Some(40 * MILLI)));
    one.work(Duration::from_millis(105));
    let mut outcome = Outcome::default();
    outcome.while_they_work(&mut perf, &[&one]);
    assert!(outcome.ran().1.iter().all(|&ran| ran >= 40 * MILLI));
    assert!((1..=5).contains(&outcome.windows.len()), "{:?}", outcome.windows);
    assert!(!perf.report_windows(APP, 0, None) && !perf.reports_windows(APP, 0));
    one.work(Duration::from_millis(105));
    let mut outcome = Outcome::default();
    outcome.while_they_work(&mut perf, &[&one]);
    assert_eq!((outcome.windows.len(), outcome.wakes), (0, 0));
    one.exit();
    two.exit();
}

#[test]
fn windows_that_are_not_fetched_become_longer_and_lose_nothing() {
    let Some((_alone, mut perf)) =
        perf("windows_that_are_not_fetched_become_longer_and_lose_nothing", 1)
    else {
        return;
    };
    let worker = Worker::start();
    begin(&mut perf, APP, &[worker.thread]);
    // Windows of a tenth of a millisecond; there is room for some six hundred.
    let window = MILLI / 10;
    let before = Since::now(&[worker.thread]);
    assert!(perf.report_windows(APP, 0, Some(window)));
    worker.work(Duration::from_millis(400));
    worker.wait();
    let mut outcome = Outcome::default();
    perf.take_ended(&mut outcome.windows);
    let stored = outcome.windows.len();
    // Where interrupts are late, windows are longer and fewer.
    let is_full = stored > 600;
    assert!(is_full || stall() > 0, "{stored}");
    assert!(stored < 800, "{stored}");
    worker.work(Duration::from_millis(10));
    worker.wait();
    perf.take_ended(&mut outcome.windows);
    let (sum, each) = outcome.ran();
    before.holds(&[worker.thread], sum, 2 * MILLI);
    // Relative to the 400 ms that it worked; how much of that found room depends on how late
    // interrupts are.
    let with_next: u64 = each.iter().take(stored + 1).sum();
    assert!(
        !is_full || with_next > 390 * MILLI,
        "what found no room is in the next reported window: {with_next}"
    );
    assert!(each.iter().all(|&ran| ran >= window));
    worker.exit();
}

#[test]
fn a_program_that_is_killed_reports_no_more_and_leaves_nothing_open() {
    let Some((_alone, mut perf)) =
        perf("a_program_that_is_killed_reports_no_more_and_leaves_nothing_open", 1)
    else {
        return;
    };
    let before = (descriptors(), perf.descriptors());
    let mut busy = std::process::Command::new("sh");
    let mut child = busy.args(["-c", "while :; do :; done"]).spawn().unwrap();
    begin(&mut perf, APP, &[child.id().try_into().unwrap()]);
    assert!(perf.report_windows(APP, 0, Some(10 * MILLI)));
    let mut outcome = Outcome::default();
    while outcome.windows.len() < 5 {
        outcome.wait(&mut perf, Duration::from_secs(60));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut after = Outcome::default();
    after.wait(&mut perf, Duration::ZERO);
    after.windows.clear();
    after.wait(&mut perf, Duration::from_millis(200));
    assert!(after.windows.is_empty() && perf.reports_windows(APP, 0));
    perf.threads(APP, &[]);
    assert_eq!(perf.descriptors(), before.1);
    perf.end(APP);
    assert!(!perf.reports_windows(APP, 0));
    assert_eq!((descriptors(), perf.descriptors()), before);
    // Another program has its place.
    let worker = Worker::start();
    begin(&mut perf, APP, &[worker.thread]);
    assert!(perf.report_windows(APP, 0, Some(10 * MILLI)));
    worker.work(Duration::from_millis(55));
    let mut outcome = Outcome::default();
    outcome.while_they_work(&mut perf, &[&worker]);
    let least = if stall() > 0 { 2 } else { 4 };
    assert!((least..=10).contains(&outcome.windows.len()), "{:?}", outcome.windows);
    worker.exit();
    drop(perf);
    assert!(descriptors() < before.0);
}

/// An event that another part has and this one lacks would look like a count of zero.
#[test]
fn parts_of_a_series_have_the_same_events() {
    let Some((_alone, _)) = perf("parts_of_a_series_have_the_same_events", 1) else { return };
    let mut sampler = Sampler::load(4).unwrap();
    let series = sampler.open(1000 * MILLI).unwrap();
    let clocks = [clock(), clock(), clock(), clock(), clock()];
    let events: Vec<_> = clocks.iter().map(|clock| (clock.as_fd(), Span::default())).collect();
    let first = sampler.join(series, &events[..2]).unwrap();
    let why = sampler.join(series, &events[2..3]).unwrap_err().to_string();
    assert_eq!(why, format!("the other parts of series {series} have 2 events, not 1"));
    let second = sampler.join(series, &events[2..4]).unwrap();
    let other = sampler.open(1000 * MILLI).unwrap();
    let third = sampler.join(other, &events[4..]).unwrap();
    for part in [first, second, third] {
        sampler.leave(part, &[]);
    }
}

/// The time that this thread runs, each second of it.
fn clock() -> OwnedFd {
    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_TASK_CLOCK` and the first published size of `struct
    /// perf_event_attr` (linux/perf_event.h).
    const SOFTWARE: u64 = 1;
    const TASK_CLOCK: u64 = 1;
    let attributes = [SOFTWARE | 64 << 32, TASK_CLOCK, 1000 * MILLI, 0, 0, 0, 0, 0];
    // SAFETY: the attributes live across the call, and are as long as they state.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) };
    let fd = i32::try_from(fd).unwrap();
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: it is new, and has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
