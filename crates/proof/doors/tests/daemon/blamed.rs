//! `fairways blame` of a running daemon.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Value, json};

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: &str = "mlr:700K,mlr:600K,lookbusy";

/// A cache that programs share as a whole, and whose lines are counted: what is expected follows
/// from both, whatever platform the other tests run on.
const WHOLE_AND_COUNTED: [&str; 2] = ["--platform", "broadwell"];

/// A daemon of a machine whose programs have hostile names, by the emulator's counters and clock.
pub(crate) fn daemon<'a>(machine: &'a Machine, keys: &str, counters: &str) -> Daemon<'a> {
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

pub(crate) fn blame(machine: &Machine, flags: &[&str]) -> Output {
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
        let machine = Machine::with(PROGRAMS, &WHOLE_AND_COUNTED);
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
        assert_eq!((&found["schema"], &found["domain"]), (&2.into(), &0.into()), "{found}");
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

/// A daemon that watches a machine's programs for some seconds, and its journal.
fn observer(machine: &Machine, name: &str) -> (Command, PathBuf) {
    let journal = machine.at(name);
    let mut command = Command::new(this());
    command.arg("run").args(machine.places("run")).args(["--counters", "emulator"]);
    command.args(["--clock", "emulator", "--policy", "fairways", "--observe"]);
    command.args(["--duration", "8s"]);
    for (program, pid) in &machine.pids {
        command.arg("--program").arg(format!("{}=pid:{pid}", program.replace(':', "-")));
    }
    command.arg("--journal").arg(&journal);
    (command, journal)
}

/// What each program loses, by such a journal.
fn observed(machine: &Machine, name: &str) -> Vec<Value> {
    let (mut command, journal) = observer(machine, name);
    printed(&mut command);
    let found = printed(Command::new(this()).args(["blame", "--json", "--journal"]).arg(journal));
    let found: Value = serde_json::from_str(&found).unwrap();
    found["programs"].as_array().unwrap().clone()
}

/// What happens to a machine before a daemon comes, besides that its programs run.
fn prepare(machine: &Machine, name: &str) {
    match name {
        // Its groups are still there, and count the programs' lines.
        "after a killed one" => {
            let (mut command, journal) = observer(machine, "killed");
            let mut child = command.spawn().unwrap();
            eventually("windows have ended", || {
                std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("sampled"))
            });
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // As another manager has it, with every way.
        "in a group of others" => {
            std::fs::create_dir(machine.root.join("theirs")).unwrap();
            machine.pids.values().for_each(|pid| machine.write("theirs/tasks", &pid.to_string()));
        }
        _ => {}
    }
}

/// On a server the programs are there first. The daemon's groups count none of their lines then,
/// which must not look as if they missed as much with few of them; nor when it starts again, after
/// one that was killed, or where the programs are in a group of others.
#[test]
fn programs_that_ran_before_lose_as_much_as_those_that_start_with_the_daemon() {
    if !can(&[]) {
        return;
    }
    for programs in ["mlr:700K,mload:60M,mload:60M,lookbusy", "mlr:1M,mlr:900K,mload:60M"] {
        let machine = Machine::with(programs, &WHOLE_AND_COUNTED);
        let cold = observed(&machine, "cold");
        for name in ["warm", "again", "after a killed one", "in a group of others"] {
            prepare(&machine, name);
            let warm = observed(&machine, name);
            for of in &cold {
                let program = &of["program"];
                let same = warm.iter().find(|other| other["program"] == *program).unwrap();
                // What is said of it may differ by 15 %, and so may what it loses at most.
                let are_alike = ["slowdown", "most"].into_iter().all(|field| {
                    let [then, now] = [of, same].map(|of| of[field].as_f64());
                    then.zip(now).is_none_or(|(then, now)| (now - then).abs() <= 0.15 * then)
                });
                assert!(are_alike, "{name} {program}: {cold:?} {warm:?}");
            }
            // Who loses to the scan is never said to lose next to nothing.
            let victim = warm.iter().find(|of| of["program"].as_str().unwrap().starts_with("mlr"));
            let victim = victim.unwrap();
            assert!(victim["slowdown"].as_f64().is_none_or(|of| of > 1.1), "{name}: {warm:?}");
        }
    }
}

/// Resctrl is not touched: no group is made, and none would be needed.
#[test]
fn by_counters_alone_losses_are_known_without_resctrl() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::with(PROGRAMS, &WHOLE_AND_COUNTED);
    let keys = "policy = \"stock\"\ncounters_only = true";
    let daemon = daemon(&machine, keys, "\"emulator\"");
    let mut found = Value::Null;
    eventually("losses are known", || {
        let output = blame(&machine, &["--json"]);
        found = serde_json::from_slice(&output.stdout).unwrap_or_default();
        found["programs"].as_array().is_some_and(|all| all.len() == 3)
    });
    assert_eq!(found["estimates_occupancies"], true, "{found}");
    let text = String::from_utf8(blame(&machine, &[]).stdout).unwrap();
    assert!(text.contains("Occupancies can't be read here, and are estimated"), "{text}");
    let status = daemon.status();
    assert_eq!(status["mode"], "counters-only");
    let domain = &status["domains"][0];
    assert_eq!((&domain["refused"], &domain["clusters"]), (&Value::Null, &json!([])), "{status}");
    assert!(status["programs"].as_array().unwrap().iter().all(|of| of["occupancy"].is_null()));
    assert!(std::fs::read_dir(machine.at("resctrl/mon_groups")).unwrap().next().is_none());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// Programs that another manager keeps to ways of their own take none of each other's lines. By
/// counters alone, the cache is the one that they run on, not this test's.
#[test]
fn where_nothing_is_partitioned_the_masks_of_others_count() {
    if !can(&[]) {
        return;
    }
    for mode in ["counters_only = true", "observe = true"] {
        masks_of_others_count(mode);
    }
}

fn masks_of_others_count(mode: &str) {
    let machine = Machine::with(PROGRAMS, &WHOLE_AND_COUNTED);
    let classes =
        [("COS1", "3", "mlr:700K"), ("COS2", "c", "mlr:600K"), ("COS3", "ff0", "lookbusy")];
    for (group, mask, program) in classes {
        std::fs::create_dir(machine.root.join(group)).unwrap();
        machine.write(&format!("{group}/schemata"), &format!("L3:0={mask}\n"));
        machine.write(&format!("{group}/tasks"), &machine.pids[program].to_string());
    }
    let before = machine.snapshot(&[]);
    let keys = format!("policy = \"stock\"\n{mode}");
    let daemon = daemon(&machine, &keys, "\"emulator\"");
    let mut found = Value::Null;
    eventually("losses are known", || {
        let output = blame(&machine, &["--json"]);
        found = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let windows = found["to_seconds"].as_f64().unwrap_or_default() > 3.0;
        windows && found["programs"].as_array().is_some_and(|all| all.len() == 3)
    });
    let programs = found["programs"].as_array().unwrap();
    assert!(programs.iter().all(|of| of["lines"] == 0.0), "{found}");
    let status = daemon.status();
    if mode == "observe = true" {
        assert_eq!(daemon.end(Signal::TERM), Some(0));
        assert_eq!(machine.snapshot(&[]), before);
        return;
    }
    assert_eq!(status["domains"][0]["ways"], 12, "the emulated cache: {status}");
    let mut programs = status["programs"].as_array().unwrap().iter();
    let reads = programs.find(|of| of["name"] == "reads").unwrap();
    let why = "another manager lets it fill 0x3 of domain 0 only";
    assert_eq!(reads["not_managed"], why, "{status}");
    let text = printed(&mut daemon.ask(&[]));
    assert!(text.contains("domain 0: 12 ways, which programs share as others let them"), "{text}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&[]), before);
}

#[test]
fn a_daemon_without_counters_says_so_in_a_line() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::with(PROGRAMS, &WHOLE_AND_COUNTED);
    let daemon = daemon(&machine, "policy = \"lfoc\"", "\"none\"");
    let output = blame(&machine, &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("no window with cycles, LLC references"), "{said}");
    printed(&mut daemon.ask(&[]));
}

/// A process that runs all the time on one CPU.
struct BusyLoop(Child);

impl BusyLoop {
    fn start(cpu: usize, nice: i32) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        let busy = Self(command.spawn().unwrap());
        let (pid, mut cpus) = (Some(Pid::from_child(&busy.0)), CpuSet::new());
        cpus.set(cpu);
        sched_setaffinity(pid, &cpus).unwrap();
        setpriority_process(pid, nice).unwrap();
        busy
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cpu_waits(found: &Value) -> Option<[f64; 3]> {
    let programs = found["programs"].as_array()?;
    let waits = ["column-scan", "hash-join", "chess"].map(|name| {
        programs.iter().find(|of| of["program"] == name).and_then(|of| of["cpu_wait"].as_f64())
    });
    let [one, other, alone] = waits;
    Some([one?, other?, alone?])
}

/// Counters are from profiles of these names. Other processes may use the CPUs, too: for them the
/// third program waits as well, but the pair, which is nice, waits longer.
#[test]
fn programs_that_share_a_cpu_wait_as_long_as_they_run() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("lookbusy");
    let allowed = sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let (first, last) = (cpus[0], *cpus.last().unwrap());
    let busy = [(first, 10), (first, 10), (last, 0)].map(|(cpu, nice)| BusyLoop::start(cpu, nice));
    let selects = busy.each_ref().map(|of| format!("select = \"pid:{}\"", of.0.id()));
    let names = ["column-scan", "hash-join", "chess"];
    let programs = [0, 1, 2].map(|which| (names[which], &*selects[which]));
    configure(&machine, "policy = \"stock\"", &programs);
    let path = machine.at("fairways.toml");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"none\"", "\"profiles\"");
    std::fs::write(&path, text).unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    let (mut began, mut found) = (None, Value::Null);
    eventually("waits are known for two seconds", || {
        let output = blame(&machine, &["--json"]);
        found = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let Some(now) = found["to_seconds"].as_f64() else { return false };
        cpu_waits(&found).is_some() && now > *began.get_or_insert(now) + 2.0
    });
    let [one, other, alone] = cpu_waits(&found).unwrap();
    assert!(one > 0.7 && other > 0.7, "{found}");
    assert!(alone < one.min(other) / 2.0, "{found}");
    assert!(found["stolen"].as_f64().is_some_and(|part| (0.0..=1.0).contains(&part)), "{found}");
    let text = String::from_utf8(blame(&machine, &[]).stdout).unwrap();
    assert!(text.contains(" waits for CPU ") && text.contains("\nwaits for CPU: "), "{text}");
    assert!(text.contains("column-scan: it waits for a CPU more than for cache"), "{text}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
