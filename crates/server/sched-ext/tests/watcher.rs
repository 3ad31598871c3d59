//! The watcher needs no sched_ext: tests on the kernel that runs here.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fairways_sched_ext::{Occupant, Records, Scheduler, Settings};
use fairways_testing::needs::{Need, has, stolen, stolen_since, withheld};

#[test]
fn turns_are_reported_without_sched_ext() {
    const TEST: &str = "turns_are_reported_without_sched_ext";
    if !has(TEST, &[Need::Root]) {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return withheld(TEST, "this kernel does not publish its types");
    }
    let mut watcher = Scheduler::watcher(&Settings::default()).unwrap();
    let nothing = watcher.allow(1, &[1]).unwrap_err().to_string();
    assert_eq!(nothing, "a watcher can't order anything");
    let (tid, stop) = (AtomicI32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: it takes nothing, and always works.
            tid.store(unsafe { libc::gettid() }, Ordering::Release);
            while !stop.load(Ordering::Relaxed) {
                // Half a millisecond of work, and a little sleep.
                let since = Instant::now();
                while since.elapsed() < Duration::from_micros(500) {
                    std::hint::spin_loop();
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        while tid.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let thread = tid.load(Ordering::Acquire);
        watcher.add(thread, 7).unwrap();
        watcher.watch(None).unwrap();
        let (before, since, mut records) = (cpu_time(thread), Instant::now(), Records::default());
        let lost = stolen();
        let is_enough =
            |turns: usize, took: Duration| turns > 100 || took > Duration::from_secs(60);
        while since.elapsed() < Duration::from_secs(1)
            || !is_enough(records.turns.len(), since.elapsed())
        {
            watcher.turns(&mut records).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
        watcher.turns(&mut records).unwrap();
        let kernel = (cpu_time(thread) - before).as_secs_f64();
        let lost = stolen_since(lost).as_secs_f64();
        // While it runs.
        let removed = watcher.remove(thread);
        stop.store(true, Ordering::Relaxed);
        removed.unwrap();
        // Nothing was requested for others.
        assert!(
            records
                .turns
                .iter()
                .all(|turn| turn.occupant == Occupant::Thread(7) && turn.thread == thread)
        );
        assert!(records.turns.iter().all(|turn| turn.counters.iter().all(Option::is_none)));
        let sum: u64 = records.turns.iter().map(|turn| turn.span.1 - turn.span.0).sum();
        let sum = Duration::from_nanos(sum).as_secs_f64();
        // Spans go on while a host has taken the CPU.
        let slack = 0.05 + 0.1 * kernel;
        assert!(
            sum < kernel + slack + lost && kernel < sum + slack,
            "{sum} s reported, {kernel} s by the kernel, {lost} s taken"
        );
        assert!(records.turns.len() > 100, "{} turns", records.turns.len());
        assert_eq!((records.lost, records.finished.len()), (0, 0));
        // A thread that has ended, or never existed.
        let none = watcher.add(i32::MAX, 8).unwrap_err().to_string();
        assert!(none.contains("No such process"), "{none}");
    });
}

fn refusal(settings: Settings) -> String {
    Scheduler::watcher(&settings).map(drop).unwrap_err().to_string()
}

#[test]
fn settings_out_of_bounds_are_refused() {
    if !has("what_is_out_of_bounds_is_refused", &[Need::Root]) {
        return;
    }
    let quantum = Settings { quantum: Duration::ZERO, ..Settings::default() };
    assert!(refusal(quantum).contains("the quantum"));
    let stall = Settings { stall: Duration::from_secs(31), ..Settings::default() };
    assert!(refusal(stall).contains("30 s at most"));
}

fn cpu_time(tid: i32) -> Duration {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}
