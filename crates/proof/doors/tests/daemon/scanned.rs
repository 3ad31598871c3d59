//! `fairways scan` on the emulator, and on a host without resctrl.

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::common::{Machine, can, end, eventually, printed, this};

fn scan(machine: &Machine) -> Command {
    let mut command = Command::new(this());
    command.args(["scan", "--emulator", "--duration", "2s", "--resctrl-root"]);
    command.arg(machine.at("resctrl")).arg("--state").arg(machine.at("state"));
    command
}

#[test]
fn users_of_the_cache_are_listed_with_a_configuration_and_nothing_stays() {
    if !can(&[]) {
        return;
    }
    // What is listed is what is counted: a platform that counts nothing has another list.
    let programs = "mlr:500K,mload:60M,lookbusy";
    let machine = Machine::with(programs, &["--platform", "broadwell"]);
    let pids: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&pids);
    let report: Value = serde_json::from_str(&printed(scan(&machine).arg("--json"))).unwrap();
    let programs = report["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 3, "{report}");
    let number = |place: usize, key: &str| programs[place][key].as_f64().unwrap();
    // The program that streams occupies most and moves most; the one that spins needs no cache.
    let selects = |place: usize, name: &str| {
        let select = programs[place]["select"].as_str().unwrap();
        assert!(selectors(&machine, name).iter().any(|of| of == select), "{select}: {name}");
    };
    selects(0, "mload:60M");
    selects(2, "lookbusy");
    assert!(number(0, "memory_bytes_per_second") > number(1, "memory_bytes_per_second"));
    assert!(number(0, "occupancy_bytes") > number(1, "occupancy_bytes"), "{report}");
    let held: f64 = (0..3).map(|place| number(place, "occupancy_bytes")).sum();
    assert!(held <= report["cache_bytes"].as_f64().unwrap() * 1.001, "{report}");
    let proposed = [&programs[0], &programs[1], &programs[2]].map(|of| of["proposed"] == true);
    assert_eq!(proposed, [true, true, false]);
    assert_eq!(report["without"], Value::Null);

    // A program without time to be measured is not reported as out of reach.
    let mut short = Command::new(this());
    short.args(["scan", "--emulator", "--duration", "100ms", "--json", "--resctrl-root"]);
    short.arg(machine.at("resctrl")).arg("--state").arg(machine.at("state"));
    let report: Value = serde_json::from_str(&printed(&mut short)).unwrap();
    assert!(report["without"].as_str().unwrap().contains("--duration"), "{report}");

    // The configuration is valid.
    let file = machine.at("scanned.toml");
    fs::write(&file, printed(scan(&machine).arg("--toml"))).unwrap();
    let mut check = Command::new(this());
    assert_eq!(printed(check.args(["config", "check"]).arg(&file)), "ok\n");
    let text = printed(&mut scan(&machine));
    assert!(text.contains("A configuration to begin with"), "{text}");
    assert_eq!(machine.snapshot(&pids), before);
}

/// Selects by command, or by process id where other processes of this machine have the same
/// command: tests that run beside this one start and end such processes.
fn selectors(machine: &Machine, name: &str) -> [String; 2] {
    let pid = machine.pids[name];
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    [format!("process:{}", comm.trim_end()), format!("pid:{pid}")]
}

/// Whether a process has a handler for the signal (`SigCgt` of proc_pid_status(5)).
fn catches(child: &Child, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn without_resctrl_it_says_what_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("fwtest-busy");
    std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
    let spins = ["-c", "while :; do :; done"];
    let _busy = Busy(Command::new(&link).args(spins).stdin(Stdio::null()).spawn().unwrap());
    let mut command = Command::new(this());
    command.args(["scan", "--duration", "200ms", "--most", "200", "--json", "--resctrl-root"]);
    let report: Value = serde_json::from_str(&printed(command.arg(folder.path()))).unwrap();
    let programs = report["programs"].as_array().unwrap();
    let busy = programs.iter().find(|of| of["select"] == "process:fwtest-busy");
    let busy = busy.unwrap_or_else(|| panic!("{report}"));
    assert!(busy["cpus"].as_f64().unwrap() > 0.0, "{busy}");
    assert!(busy["occupancy_bytes"].is_null() && busy["memory_bytes_per_second"].is_null());
    let without = report["without"].as_str().unwrap();
    assert!(without.starts_with("no resctrl at "), "{without}");
    assert_eq!(report["cache_bytes"], Value::Null);

    // Ended early, it prints what is known by then.
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(this());
        command.args(["scan", "--duration", "1000s", "--json", "--resctrl-root"]);
        command.arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        eventually("it waits for signals", || catches(&child, signal));
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(end(&mut child).code(), Some(130), "{signal:?}");
        let report: Value = serde_json::from_reader(child.stdout.take().unwrap()).unwrap();
        assert!(report["programs"].is_array(), "{report}");
    }

    for wrong in [&["--most", "0"][..], &["--duration", "soon"], &["--toml", "--json"]] {
        let Output { status, stderr, .. } =
            Command::new(this()).arg("scan").args(wrong).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), said.lines().count()), (Some(2), 1), "{said}");
    }
}
