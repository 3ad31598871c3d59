//! Real programs on the simulated chip (`live:`). Needs qemu-user; without it a test prints that
//! and does nothing, unless `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

mod traced;

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;
use traced::{errors, folder, run, there_is_qemu};

const CHIP: &str = "chip:xeon-d:sets=1024:l2=32/8";

/// Reads and writes a table at random, without sleep.
const COUNTS: &str = "live:awk 'BEGIN { for (;;) a[n++ * 7919 % 5003]++ }'";

#[test]
fn real_programs_run_on_the_chip() {
    if !there_is_qemu() {
        return;
    }
    let folder = folder();
    let programs = format!("{COUNTS},live:sh -c 'gzip -9 -c text > /dev/null',mload:4M");
    let words =
        ["simulate", "--machine", CHIP, "--programs", &programs, "--policies", "stock,dcat"];
    let more = ["--baselines", "live:awk=3,mload:4M=3", "--duration", "2s", "--warm-up", "2s"];
    let last = ["--time-scale", "0.01", "--json"];
    let out = run(folder.path(), &[&words[..], &more, &last].concat());
    assert!(out.status.success(), "{}", errors(&out));
    let said =
        "fairways-lab: warning: live:sh: forked once and executed gzip, which is not simulated";
    assert!(errors(&out).contains(&said.replace("live:", "")), "{}", errors(&out));
    let found: Value = serde_json::from_slice(&out.stdout).unwrap();
    let alone = &found["programs"][0];
    assert_eq!(alone["program"], "live:awk");
    let stock = &found["policies"][0];
    // Where QEMU is too slow, time passes without instructions; cycles do not.
    let ipc = |of: &Value| of["ipc"].as_f64().unwrap();
    assert!(ipc(alone) > 1.05 * ipc(&stock["programs"][0]), "{alone} {stock}");
    assert!(ipc(&stock["programs"][0]) > 0.2, "{stock}");
    assert!(stock["slowdowns"][2].as_f64().unwrap() > 0.9, "{stock}");
}

#[test]
fn a_program_that_sleeps_lets_time_pass_as_it_does_outside() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let words = ["run", "--machine", CHIP, "--programs", "live:sleep 1000", "--policy", "lfoc"];
    let since = Instant::now();
    let out = run(folder.path(), &[&words[..], &["--duration", "1s"]].concat());
    assert!(out.status.success(), "{}", errors(&out));
    let took = since.elapsed();
    // With the policy, and without.
    assert!((Duration::from_secs(1)..Duration::from_secs(20)).contains(&took), "{took:?}");
}

#[test]
fn a_program_that_fails_ends_the_run_in_a_line() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = ["simulate", "--machine", CHIP, "--policies", "stock", "--duration", "100ms"];
    for (program, code, said) in [
        ("live:sh -c 'exit 3'", 1, "sh: ended with exit code 3"),
        ("live:nonesuch", 2, "nonesuch: expected a program"),
        ("live:sleep 9 -- nonesuch", 2, "nonesuch: expected a program"),
        ("live:sleep 9 -- a -- b -- c", 2, "expected live:COMMAND"),
        ("live:sleep '9", 2, "expected closed quotes"),
    ] {
        let out = run(folder.path(), &[&base[..], &["--programs", program]].concat());
        assert_eq!(out.status.code(), Some(code), "{program}: {}", errors(&out));
        assert!(errors(&out).contains(said), "{program}: {}", errors(&out));
        assert_eq!(errors(&out).lines().count(), 1, "{program}: {}", errors(&out));
    }
}

/// Its runs alone and under stock, which slowdowns are compared with, count as much as the first.
#[test]
fn a_program_that_fails_later_ends_the_run_too() {
    if !there_is_qemu() {
        return;
    }
    for (runs, said) in [(1, "the run alone: after"), (2, "the run under stock: after")] {
        let folder = tempfile::tempdir().unwrap();
        let count = "n=0; [ -e ran ] && read n < ran; echo $((n + 1)) > ran";
        // It waits for ever: time passes then as it does outside, also while it is started, which
        // takes long on a busy machine. A run that was over before it failed is made longer.
        let script = format!("{count}; [ $n -lt {runs} ] || exit 3; read nothing <> pipe");
        std::fs::write(folder.path().join("script"), script).unwrap();
        assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
        let words = ["run", "--machine", CHIP, "--programs", "live:sh script", "--policy", "equal"];
        let mut out = None;
        for duration in ["100s", "1000s", "10000s"] {
            let more = ["--duration", duration, "--time-scale", "0.01", "--json"];
            let _ = std::fs::remove_file(folder.path().join("ran"));
            let done = run(folder.path(), &[&words[..], &more].concat());
            let is_over = done.status.code() != Some(0);
            out = Some(done);
            if is_over {
                break;
            }
        }
        let out = out.unwrap();
        assert_eq!(out.status.code(), Some(1), "{}", errors(&out));
        assert!(errors(&out).contains(said), "{}", errors(&out));
        assert!(errors(&out).contains("sh: ended with exit code 3"), "{}", errors(&out));
        assert!(out.stdout.is_empty(), "{}", errors(&out));
    }
}

/// A comparison on a chip, at a hundredth of the time.
fn compared(folder: &Path, chip: &str, programs: &str, more: &[&str]) -> Value {
    let words = ["simulate", "--machine", chip, "--programs", programs, "--duration", "1s"];
    let last = ["--warm-up", "1s", "--time-scale", "0.01", "--json"];
    let out = run(folder, &[&words[..], &last, more].concat());
    assert!(out.status.success(), "{}", errors(&out));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Four of them on two CPUs: each waits for half of the time, and its slowdown has that in it.
#[test]
fn real_programs_take_turns() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = format!("{COUNTS},{COUNTS},{COUNTS},mload:4M");
    let chip = format!("{CHIP}:cores=2");
    let found = compared(folder.path(), &chip, &programs, &["--policies", "stock,casc,cache-fair"]);
    for policy in found["policies"].as_array().unwrap() {
        for (job, slowdown) in policy["slowdowns"].as_array().unwrap().iter().enumerate() {
            assert!((1.5..3.5).contains(&slowdown.as_f64().unwrap()), "{policy}");
            let not_comparable = &policy["programs"][job]["not_comparable"];
            assert_eq!(not_comparable, &Value::Null, "{policy}");
        }
    }
}

/// It leaves its CPU meanwhile: the other one hardly waits.
#[test]
fn a_program_that_sleeps_gives_its_turn_away() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let chip = format!("{CHIP}:cores=1");
    let programs = "live:sleep 1000,mload:4M";
    let found = compared(folder.path(), &chip, programs, &["--policies", "stock"]);
    let stock = &found["policies"][0];
    assert!(stock["slowdowns"][1].as_f64().unwrap() < 1.1, "{stock}");
    assert_eq!(stock["programs"][0]["not_comparable"], true, "{stock}");
}

/// Its first run, alone, looks up entries of a table that hardly fits; the next ones add.
#[test]
fn a_program_that_did_not_get_that_far_alone_is_not_comparable() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let first = "{ print > \"ran\"; close(\"ran\"); for (;;) a[n++ * 7919 % 5003]++ }";
    let script = format!("BEGIN {{ if ((getline < \"ran\") < 0) {first}; for (;;) s += 1 }}");
    let words = ["simulate", "--machine", CHIP, "--duration", "1s", "--warm-up", "1s"];
    let programs = format!("live:overlap=1:awk '{script}',mload:4M");
    let more = ["--time-scale", "0.01", "--policies", "stock", "--programs", &programs];
    let out = run(folder.path(), &[&words[..], &more].concat());
    assert!(out.status.success(), "{}", errors(&out));
    let table = String::from_utf8(out.stdout).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.contains(", not comparable")).collect();
    assert!(matches!(rows[..], [row] if row.contains("live:awk")), "{table}");
    assert!(table.contains("not comparable   it did not get that far alone"), "{table}");
}

/// Thirty thousand table lookups, then additions, whose instructions are more than five times as
/// fast: alone it gets to them, and does six times as many instructions in the same time.
#[test]
fn a_run_compares_the_same_instructions() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "BEGIN { while (n < 30000) a[n++ * 7919 % 5003]++; for (;;) s += 1 }";
    let programs = format!("live:cpi=0.2:overlap=1:awk '{script}',mload:4M,live:sleep 1000");
    let words = ["run", "--machine", CHIP, "--programs", &programs, "--policy", "stock"];
    let more = ["--duration", "2s", "--time-scale", "0.01"];
    let json = run(folder.path(), &[&words[..], &more, &["--json"]].concat());
    assert!(json.status.success(), "{}", errors(&json));
    let found: Value = serde_json::from_slice(&json.stdout).unwrap();
    let programs = &found["programs"];
    assert_eq!(programs[0]["not_comparable"], Value::Null, "{found}");
    assert_eq!(programs[2]["not_comparable"], true, "{found}");
    let slowdown = programs[0]["slowdown"].as_f64().unwrap();
    assert!((1.5..3.5).contains(&slowdown), "{found}");
}

/// A process that does not outlive the test.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The slowdown of a program that computes, beside a stream.
fn slowdown(folder: &Path) -> f64 {
    let programs = format!("{COUNTS},mload:4M");
    let found = compared(folder, CHIP, &programs, &["--policies", "stock"]);
    let stock = &found["policies"][0];
    assert_eq!(stock["programs"][0]["not_comparable"], Value::Null, "{stock}");
    stock["slowdowns"][0].as_f64().unwrap()
}

/// QEMU's start and its waits for a CPU take none of the chip's time.
#[test]
fn a_busy_machine_changes_no_slowdown() {
    if !there_is_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let idle = slowdown(folder.path());
    let mut spin = Command::new("sh");
    spin.args(["-c", "while :; do :; done"]);
    let busy: Vec<Busy> = (0..4).map(|_| Busy(spin.spawn().unwrap())).collect();
    let beside = slowdown(folder.path());
    drop(busy);
    assert!((beside - idle).abs() < 0.03 * idle, "{idle} {beside}");
}
