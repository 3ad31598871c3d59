//! `fairways blame` of a running daemon.

use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: &str = "mlr:700K,mlr:600K,lookbusy";

/// A daemon of a machine whose programs have hostile names, by the emulator's counters and clock.
fn daemon<'a>(machine: &'a Machine, keys: &str, counters: &str) -> Daemon<'a> {
    let [reads, scans, works] = ["mlr:700K", "mlr:600K", "lookbusy"]
        .map(|program| format!("select = \"pid:{}\"", machine.pids[program]));
    let programs = [("reads", &*reads), ("a \\\"scan\\\"", &*scans), ("works", &*works)];
    configure(machine, keys, &programs);
    let path = machine.at("fairways.toml");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"none\"", counters);
    // Who scrapes metrics wants to know of losses from the start.
    let clock = "[clock]\nsource = \"emulator\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(&path, text + clock).unwrap();
    Daemon::start(machine, command(machine))
}

fn blame(machine: &Machine, flags: &[&str]) -> Output {
    let mut command = Command::new(this());
    command.args(["blame", "--control"]).arg(machine.at("control")).args(flags);
    command.env("COLUMNS", "200").output().unwrap()
}

/// The policy requests no window, and sees none.
#[test]
fn losses_are_known_whatever_policy_runs() {
    if !can(&[]) {
        return;
    }
    for keys in ["policy = \"stock\"\nobserve = true", "policy = \"stock\"", "policy = \"lfoc\""] {
        let machine = Machine::start(PROGRAMS);
        let daemon = daemon(&machine, keys, "\"emulator\"");
        let mut found = Value::Null;
        eventually("a culprit is named", || {
            let output = blame(&machine, &["--json"]);
            found = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() || said.contains("no window with"), "{said}");
            let windows = found["to_seconds"].as_f64().unwrap_or_default() > 3.0;
            windows && found["programs"].as_array().is_some_and(|all| all.len() == 3)
        });
        assert_eq!((&found["schema"], &found["domain"]), (&1.into(), &0.into()), "{found}");
        if keys.contains("stock") {
            // Each uses all its lines alike, and half of the cache is too little for either.
            let blames: Vec<_> = found["programs"].as_array().unwrap()[..2]
                .iter()
                .map(|of| [&of["program"], &of["worst"]].map(|name| name.as_str().unwrap()))
                .collect();
            let [scan, reads] = ["a \"scan\"", "reads"];
            assert_eq!(blames, [[scan, reads], [reads, scan]], "{found}");
            assert_eq!(found["programs"][0]["ways"], 0.0);
            let mut top = Command::new(this());
            let top = top.args(["top", "--once", "--width", "140", "--control"]);
            let top = printed(top.arg(machine.at("control")));
            assert!(top.contains(" culprit ") && top.contains(" reads "), "{top}");
            let status = daemon.status();
            assert!(status["programs"].as_array().unwrap().iter().all(|of| of["ipc"].is_null()));
        }
        let text = String::from_utf8(blame(&machine, &[]).stdout).unwrap();
        assert!(text.starts_with("In domain 0, from "), "{text}");
        assert_eq!(daemon.end(Signal::TERM), Some(0));
    }
}

#[test]
fn a_daemon_without_counters_says_so_in_a_line() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(PROGRAMS);
    let daemon = daemon(&machine, "policy = \"lfoc\"", "\"none\"");
    let output = blame(&machine, &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("no window with cycles, LLC references"), "{said}");
    printed(&mut daemon.ask(&[]));
}
