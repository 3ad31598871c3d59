//! Traced programs, and all their descendants, end with the program that traces them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use fairways_testing::needs::{Need, has};
use rustix::process::{Pid, Signal, kill_process};

use super::common::{end, eventually};

/// The processes that sleep for this duration, a number that only this test uses.
fn asleep(seconds: u32) -> Vec<u32> {
    let word = seconds.to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_asleep = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let state = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let words = String::from_utf8_lossy(&line);
        words.trim_end_matches('\0').ends_with(&format!("sleep\0{word}")) && !state.contains(") Z ")
    };
    ids.filter(is_asleep).collect()
}

/// Starts three processes: in the program's own session, in another session, and one whose parent
/// has ended.
fn script(seconds: u32) -> String {
    format!("sleep {seconds} & setsid sleep {seconds} & (sleep {seconds} &); touch up; wait")
}

/// Starts fairways so that it receives SIGHUP, even where nohup(1) started these tests, which
/// ignores it.
fn start(folder: &Path, words: &[&str]) -> Child {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(fairways_doors::fairways_lab());
    command.current_dir(folder).args(words).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts the tracing command, waits until three processes sleep, ends it by a signal, and waits
/// until no process is left.
fn all_end(what: &str, words: &[&str], seconds: u32, signal: Signal) {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path(), words);
    eventually(&format!("{what}: three processes sleep"), || asleep(seconds).len() == 3);
    kill_process(Pid::from_child(&child), signal).unwrap();
    end(&mut child);
    let mut left = Vec::new();
    let began = std::time::Instant::now();
    while began.elapsed() < std::time::Duration::from_secs(20) {
        left = asleep(seconds);
        if left.is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for &id in &left {
        let process = Pid::from_raw(id.cast_signed()).unwrap();
        let _ = kill_process(process, Signal::KILL);
    }
    panic!("{what}, {signal:?}: {} are left", left.len());
}

fn can_trace(test: &str) -> bool {
    has(test, &[Need::Program(fairways_tracer::QEMU), Need::Program("setsid")])
}

#[test]
fn nothing_is_left_of_a_profiled_program() {
    if !can_trace("nothing_is_left_of_a_profiled_program") {
        return;
    }
    let signals = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    for (seconds, signal) in (71_301..).zip(signals) {
        let script = script(seconds);
        let words = ["profile", "-q", "-o", "p.csv", "--", "sh", "-c", &script];
        all_end("a program", &words, seconds, signal);
    }
    // The children are themselves traced.
    for (seconds, signal) in (71_311..).zip([Signal::KILL, Signal::TERM]) {
        let script = script(seconds);
        let words = ["profile", "-q", "--children", "-o", "p.csv", "--", "sh", "-c", &script];
        all_end("its children", &words, seconds, signal);
    }
}

#[test]
fn nothing_is_left_of_live_programs() {
    if !can_trace("nothing_is_left_of_live_programs") {
        return;
    }
    for (seconds, signal) in (71_321..).zip([Signal::KILL, Signal::TERM]) {
        let program = format!("live:sh -c '{}'", script(seconds));
        let machine = ["--machine", "chip:xeon-d", "--policy", "equal", "--programs"];
        let words = [&["run"], &machine[..], &[program.as_str()]].concat();
        all_end("a live program", &words, seconds, signal);
    }
}

/// The program ends by itself, or a program beside it fails: the processes that it left behind end,
/// too.
#[test]
fn nothing_is_left_after_the_end_and_after_an_error() {
    if !can_trace("nothing_is_left_after_the_end_and_after_an_error") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let left = "setsid sleep 71331 & exit 3";
    let mut child = start(folder.path(), &["profile", "-q", "-o", "p.csv", "--", "sh", "-c", left]);
    assert_eq!(end(&mut child).code(), Some(3));
    eventually("nothing is left after the end", || asleep(71_331).is_empty());
    let program = "live:sh -c 'setsid sleep 71332 & exit 3'";
    let machine = ["run", "--machine", "chip:xeon-d", "--policy", "equal", "--programs"];
    let mut child = start(folder.path(), &[&machine[..], &[program]].concat());
    assert_ne!(end(&mut child).code(), Some(0));
    eventually("nothing is left after an error", || asleep(71_332).is_empty());
}
