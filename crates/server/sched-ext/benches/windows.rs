//! The cost of a window by instructions, ended in the kernel or by polling: CPU time of the waiting
//! thread, its wake-ups, the sampling program's runs and their time, and how late an end is found.
//! A thread's clock stands in for its instructions.
//!
//! `cargo bench -p fairways-sched-ext --features sched-ext --bench windows`, as root.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/sampling/common.rs"]
#[allow(dead_code, reason = "tests use it")]
mod common;
/// As the host polls.
#[path = "../../host/src/machine/windows.rs"]
#[allow(dead_code, reason = "the host uses it")]
mod windows;

use std::fs;
use std::time::{Duration, Instant};

use common::{APP, Outcome, Worker, begin, perf};
use fairways_core::{Time, WindowLength};
use fairways_perf::{Perf, Source as _};
use rustix::time::{ClockId, clock_gettime};
use windows::{Rate, Window};

/// CPU time of all threads together.
const WORK: Duration = Duration::from_secs(4);

/// The cost of a number of windows.
struct WindowCost {
    windows: usize,
    wakes: usize,
    cpu: Duration,
    /// The sum of nanoseconds by which windows were too long.
    late: u64,
}

fn main() {
    // The kernel measures the time of programs from now on; this is reset at the end.
    let statistics = "/proc/sys/kernel/bpf_stats_enabled";
    let before = fs::read_to_string(statistics).unwrap();
    fs::write(statistics, "1").unwrap();
    println!("way,threads,window_ms,windows,wakes,waiter_us,runs,program_us,late_us");
    for threads in [1, 4, 16] {
        for millis in [10, 100] {
            let window = millis * 1_000_000;
            for (way, of) in [("kernel", in_kernel as fn(_, &mut _, &_) -> _), ("polled", polled)] {
                let (_alone, mut perf) = perf("windows", 1).unwrap();
                let workers: Vec<Worker> = (0..threads).map(|_| Worker::start()).collect();
                let ids: Vec<i32> = workers.iter().map(|worker| worker.thread).collect();
                begin(&mut perf, APP, &ids);
                workers.iter().for_each(|worker| worker.work(WORK / threads));
                let cost = of(window, &mut perf, &workers);
                let (runs, time) = program();
                let each = |whole: f64| whole / cost.windows as f64;
                println!(
                    "{way},{threads},{millis},{},{:.2},{:.1},{:.1},{:.1},{:.0}",
                    cost.windows,
                    each(cost.wakes as f64),
                    each(cost.cpu.as_nanos() as f64 / 1e3),
                    each(runs as f64),
                    each(time as f64 / 1e3),
                    each(cost.late as f64 / 1e3),
                );
                workers.into_iter().for_each(Worker::exit);
            }
        }
    }
    fs::write(statistics, before).unwrap();
}

fn in_kernel(window: u64, perf: &mut Perf, workers: &[Worker]) -> WindowCost {
    assert!(perf.report_windows(APP, 0, Some(window)));
    let from = cpu();
    let mut outcome = Outcome::default();
    outcome.while_they_work(perf, &workers.iter().collect::<Vec<_>>());
    let late = outcome.ran().1.iter().map(|ran| ran - window).sum();
    WindowCost { windows: outcome.windows.len(), wakes: outcome.wakes, cpu: cpu() - from, late }
}

fn polled(window: u64, perf: &mut Perf, workers: &[Worker]) -> WindowCost {
    let (began, from) = (Instant::now(), cpu());
    let now = || Time::ZERO.after(began.elapsed());
    let counted = perf.read(APP, 0);
    let mut under_way =
        Window::new(WindowLength::Instructions(window), now(), counted, Rate::default());
    let mut cost = WindowCost { windows: 0, wakes: 0, cpu: Duration::ZERO, late: 0 };
    let mut working: Vec<&Worker> = workers.iter().collect();
    while !working.is_empty() {
        std::thread::sleep(under_way.poll_by.since(now()));
        cost.wakes += 1;
        let counted = perf.read(APP, 0);
        let over = counted.instructions.unwrap().checked_sub(under_way.ends_at().unwrap());
        if let Some(late) = over {
            cost.windows += 1;
            cost.late += late;
            under_way = under_way.next(now(), counted);
        } else {
            under_way.go_on(now(), &counted);
        }
        working.retain(|worker| !worker.is_done());
    }
    WindowCost { cpu: cpu() - from, ..cost }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// How often the loaded sampling program ran, and for how many nanoseconds.
fn program() -> (u64, u64) {
    /// `BPF_PROG_TYPE_PERF_EVENT`.
    const TYPE: u64 = 7;
    let infos = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let texts = infos.filter_map(|of| fs::read_to_string(of.path()).ok());
    let mut programs = texts.filter(|text| value(text, "prog_type:") == Some(TYPE));
    programs
        .find_map(|text| Some((value(&text, "run_cnt:")?, value(&text, "run_time_ns:")?)))
        .unwrap_or_default()
}

/// The number behind a key in a file of `fdinfo`.
fn value(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}
