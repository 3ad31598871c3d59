//! `fairways trial` on a host.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::common::{Machine, can, end, eventually, this};

fn command(machine: &Machine, duration: &str) -> Command {
    let mut command = command_of("trial", machine, &["--policy", "equal"]);
    command.args(["--learn", "1s", "--block", "300ms", "--duration", duration]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A command that manages all programs of the machine, by its counters and its clock.
fn command_of(verb: &str, machine: &Machine, flags: &[&str]) -> Command {
    let mut command = Command::new(this());
    command.arg(verb).args(machine.places("run")).args(flags).arg("--json");
    command.args(["--counters", "emulator", "--clock", "emulator", "--log-level", "warn"]);
    for (program, pid) in &machine.pids {
        command.arg("--program").arg(format!("{}=pid:{pid}", program.replace(':', "-")));
    }
    command.stdin(Stdio::null());
    command
}

/// It measures all programs with and without the policy, reports the result, and puts everything
/// back.
#[test]
fn a_trial_compares_every_program_and_puts_all_back() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M,lookbusy");
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let output = command(&machine, "3s").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["pairs"].as_u64(), report["others"].as_u64()), (Some(5), Some(0)));
    let programs = report["programs"].as_array().unwrap();
    let mut names: Vec<&str> = programs.iter().map(|of| of["program"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["lookbusy", "mload-60M", "mlr-500K"]);
    for program in programs {
        let ipc = &program["measures"][0];
        assert_eq!(ipc["measure"], "IPC", "{program}");
        let value = |name: &str| ipc[name].as_f64().unwrap();
        assert!(value("with") > 0.0 && value("without") > 0.0);
        assert!(value("low") <= value("by") && value("by") <= value("high"), "{program}");
    }
    // With four of ten ways, the program that reads half a megabyte is far better off than beside
    // one that streams.
    let reads = programs.iter().find(|of| of["program"] == "mlr-500K").unwrap();
    assert_eq!(reads["measures"][0]["verdict"], "helped", "{reads}");
    assert_eq!(report["verdict"], "helped");
    // The plan that helped: each program has ways of its own.
    let clusters = report["plan"][0]["clusters"].as_array().unwrap();
    let mut of: Vec<&str> =
        clusters.iter().map(|cluster| cluster["programs"][0].as_str().unwrap()).collect();
    of.sort_unstable();
    assert_eq!(of, names, "{report}");
    assert_eq!(machine.snapshot(&tasks), before);
}

/// Several policies in one trial, on programs that ran before the daemon and its monitoring groups
/// were there. With ways of its own a program is better off beside one that streams; beside one
/// that uses no cache it goes on hitting its lines wherever they are. Each verdict names its plan,
/// and nothing is tried without limits.
#[test]
fn a_trial_compares_policies_on_programs_that_ran_before() {
    if !can(&[]) {
        return;
    }
    for (programs, verdict, worse_off) in [
        ("mlr:500K,mload:60M,lookbusy", "helped", json!([])),
        ("mlr:500K,lookbusy", "did_not", json!([])),
    ] {
        let machine = Machine::start(programs);
        let tasks: Vec<i32> = machine.pids.values().copied().collect();
        let before = machine.snapshot(&tasks);
        let mut observes = command_of("run", &machine, &["--observe", "--policy", "stock"]);
        let observed = observes.args(["--duration", "2s"]).output().unwrap();
        assert_eq!(observed.status.code(), Some(0), "{observed:?}");

        let mut tries = command_of("trial", &machine, &["--policies", "equal,stock"]);
        tries.args(["--learn", "1s", "--block", "300ms", "--duration", "5s"]);
        let tried = tries.output().unwrap();
        assert_eq!(tried.status.code(), Some(0), "{tried:?}");
        let found: Value = serde_json::from_slice(&tried.stdout).unwrap();
        let [equal, stock] = [0, 1].map(|policy| &found["policies"][policy]);
        assert_eq!(
            (&equal["verdict"], &equal["worse_off"]),
            (&json!(verdict), &worse_off),
            "{found}"
        );
        assert_eq!(found["best"]["policy"].is_string(), verdict == "helped", "{found}");
        let clusters = equal["plan"][0]["clusters"].as_array().unwrap();
        assert_eq!(clusters.len(), tasks.len(), "{found}");
        let is_limited = clusters.iter().all(|of| of["ways"].as_u64() < Some(7));
        assert!(is_limited && equal["plan"][0]["untried"].is_null(), "{found}");
        let since = "it lets every program fill every way";
        assert_eq!(
            (&stock["verdict"], &stock["since"]),
            (&json!("nothing_was_tried"), &json!(since)),
            "{found}"
        );
        assert_eq!(machine.snapshot(&tasks), before);

        let mut nothing = command_of("trial", &machine, &["--policy", "stock"]);
        let output = nothing.args(["--learn", "100ms"]).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &found["since"]), (Some(1), &json!(since)), "{found}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

/// When it is ended early, by a user or by `timeout`, it puts everything back, and reports what it
/// knows.
#[test]
fn a_trial_that_is_ended_early_puts_all_back() {
    if !can(&[]) {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let machine = Machine::start("mlr:500K,lookbusy");
        let tasks: Vec<i32> = machine.pids.values().copied().collect();
        let before = machine.snapshot(&tasks);
        let mut child = command(&machine, "1000s").spawn().unwrap();
        eventually("it partitions", || partitions(&machine, &tasks));
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(end(&mut child).code(), Some(130), "{signal:?}");
        let report: Value = serde_json::from_reader(child.stdout.take().unwrap()).unwrap();
        assert_eq!(report["interrupted"], true, "{signal:?}");
        assert_eq!(machine.snapshot(&tasks), before);
    }
}

/// A program that ends meanwhile keeps its name.
#[test]
fn a_program_that_ends_meanwhile_is_named() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,lookbusy");
    let pid = machine.pids["lookbusy"];
    let mut child = command(&machine, "12s").spawn().unwrap();
    // After two pairs of blocks or more: two blocks in a row may be alike, three are not.
    let (mut last, mut changes) = (masks(&machine, pid), 0);
    eventually("it switches its plan on and off", || {
        // While it moves between classes it may be in none.
        if let now @ Some(_) = masks(&machine, pid)
            && now != last
        {
            (last, changes) = (now, changes + 1);
        }
        changes > 6
    });
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(end(&mut child).code(), Some(0));
    let report: Value = serde_json::from_reader(child.stdout.take().unwrap()).unwrap();
    let programs = report["programs"].as_array().unwrap().iter();
    let mut names: Vec<&str> = programs.map(|of| of["program"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!((names, &report["others"]), (vec!["lookbusy", "mlr-500K"], &json!(1)), "{report}");
}

/// The masks of the class that a task is in.
fn masks(machine: &Machine, task: i32) -> Option<String> {
    let found = machine.snapshot(&[task]);
    let is_in_it = |tasks: &str| tasks.lines().any(|line| line == task.to_string());
    let class = found.iter().find_map(|(path, text)| {
        let class = path.strip_suffix("/tasks")?;
        (!class.contains("mon_groups") && is_in_it(text)).then_some(class)
    });
    found.get(&format!("{}/schemata", class?)).cloned()
}

fn partitions(machine: &Machine, tasks: &[i32]) -> bool {
    machine.snapshot(tasks).keys().any(|path| path.starts_with("fairways."))
}

#[test]
fn requests_that_a_trial_cannot_fulfil_are_refused() {
    for (flags, why) in [
        (&["--dry-run"][..], "expected none of --dry-run, --observe and --counters-only"),
        (&["--counters-only", "--policy", "stock"], "--observe and --counters-only"),
        (
            &["--duration", "20s"],
            "--duration: expected from 6 to 86400 times --block, found 2 times",
        ),
        (&["--learn", "soon"], "--learn: "),
        (&["--journal", "/nonexistent/journal"], "unexpected argument '--journal' found"),
        (&["--policy", "casc"], "expected one that gives out ways"),
        (&["--policies", "lfoc,casc"], "expected policies that give out ways, found casc"),
        (&["--policies", "lfoc,lfoc"], "--policies: expected each policy once, found lfoc twice"),
        (&["--policies", "lfoc,exec:./mine"], "found exec:./mine; --policy takes one"),
        (&["--policies", "lfoc,lfok"], "did you mean"),
        (
            &["--policies", "lfoc,dcat", "--duration", "80s"],
            "--duration: expected from 9 to 86400 times --block, found 8 times",
        ),
        (&["--policies", "lfoc,equal", "--set", "color=1"], "expected a parameter of lfoc, equal"),
    ] {
        let mut command = Command::new(this());
        command.args(["trial", "--program", "a=pid:1", "--state", "/nonexistent"]).args(flags);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(why), "{flags:?}: {said}");
    }
}
