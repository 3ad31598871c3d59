//! What a process costs: CPU time, memory, system calls.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Nanoseconds that a process's threads were on CPUs (Documentation/scheduler/sched-stats.rst).
pub(crate) fn nanos(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_task = |task: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
        text.split_whitespace().next().map_or(0, |nanos| nanos.parse::<u64>().unwrap())
    };
    tasks.map(of_task).sum()
}

/// KiB of memory that a process has in use.
pub(crate) fn rss_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// System calls of a process while something is done: how many of each kind.
pub(crate) fn calls(pid: u32, folder: &Path, what: impl FnOnce()) -> Vec<(String, f64)> {
    let report = folder.join("strace");
    let mut strace = Command::new("strace")
        .args(["-f", "-q", "-c", "-U", "calls,name", "-p", &pid.to_string(), "-o"])
        .arg(&report)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let traced = || {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        text.lines()
            .any(|line| line.strip_prefix("TracerPid:").is_some_and(|tracer| tracer.trim() != "0"))
    };
    while !traced() {
        assert!(strace.try_wait().unwrap().is_none(), "strace ended");
        sleep(Duration::from_millis(5));
    }
    // Its other threads are attached to after the first.
    sleep(Duration::from_millis(100));
    what();
    let id = rustix::process::Pid::from_raw(i32::try_from(strace.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    strace.wait().unwrap();
    let text = fs::read_to_string(&report).unwrap();
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let kinds = words.filter_map(|words| match words[..] {
        [count, name] if name != "total" => Some((name.to_owned(), count.parse().ok()?)),
        _ => None,
    });
    let kinds: Vec<(String, f64)> = kinds.collect();
    assert!(!kinds.is_empty(), "strace said:\n{text}");
    kinds
}

/// Records what a process spends its time in, for `perf report`, while something is done. The
/// machine may have no PMU: a clock samples.
pub(crate) fn record(pid: u32, file: &Path, what: impl FnOnce()) {
    let mut perf = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock", "-F", "4999", "--call-graph", "dwarf,16384"])
        .args(["-p", &pid.to_string(), "-o"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(300));
    what();
    let id = rustix::process::Pid::from_raw(i32::try_from(perf.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    perf.wait().unwrap();
}
