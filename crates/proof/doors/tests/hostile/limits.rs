//! Limits that others set stay in force, and the plan takes account of what the kernel keeps for
//! itself.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: [&str; 3] = ["mlr:500K", "mload:60M", "lookbusy"];

fn configured(machine: &Machine, keys: &str) {
    let selects = PROGRAMS.map(|program| format!("select = \"pid:{}\"", machine.pids[program]));
    let programs = [("reads", &*selects[0]), ("streams", &*selects[1]), ("works", &*selects[2])];
    configure(machine, keys, &programs);
}

/// The class of a process; empty for the root's.
fn class_of(machine: &Machine, pid: i32) -> String {
    let entries = fs::read_dir(&machine.root).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let is_in = |name: &String| {
        let tasks = fs::read_to_string(machine.root.join(name).join("tasks")).unwrap_or_default();
        tasks.lines().any(|line| line == pid.to_string())
    };
    names.filter(|name| !name.starts_with("mon_")).find(is_in).unwrap_or_default()
}

/// `mkdir` answers ENOSPC for the third class: every program gets one of two, and the daemon
/// reports it.
#[test]
fn fewer_classes_than_the_kernel_counts_are_planned_for() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(&PROGRAMS.join(","));
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let fault = |asked: &[&str]| {
        printed(
            Command::new(fairways_doors::fairways_lab())
                .arg("emulated")
                .arg(&machine.root)
                .args(asked),
        );
    };
    fault(&["fault", "mkdir:/fairways.2=ENOSPC"]);
    configured(&machine, "policy = \"equal\"");
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("two classes are given out", || {
        daemon.status()["domains"][0]["clos"].as_u64() == Some(2)
    });
    eventually("every program is in one of two classes", || {
        let is_in = |pid: &i32| ["fairways.0", "fairways.1"].contains(&&*class_of(&machine, *pid));
        tasks.iter().all(is_in)
    });
    eventually("it says so", || {
        let degraded = daemon.status()["degraded"].clone();
        degraded[0].as_str().is_some_and(|line| line.contains("classes of service are available"))
    });
    let text = printed(&mut daemon.ask(&[]));
    assert!(text.contains("\ndegraded: only 2 of "), "{text}");
    let explain = |flags: &[&str]| {
        let mut command = Command::new(this());
        command.args(["explain", "--control"]).arg(machine.at("control"));
        printed(command.args(flags))
    };
    assert!(explain(&[]).contains("\ndegraded now: only 2 of "));
    let json: serde_json::Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    assert_eq!(json["degraded"], daemon.status()["degraded"]);
    eventually("the plan is in force", || daemon.status()["domains"][0]["refused"].is_null());

    // Another manager makes a group and removes it; then the missing classes come back.
    fs::create_dir(machine.root.join("COS1")).unwrap();
    machine.write("COS1/schemata", "L3:0=3\n");
    eventually("the group is planned around", || {
        daemon.status()["domains"][0]["ways"].as_u64() == Some(8)
    });
    fault(&["clear"]);
    fs::remove_dir(machine.root.join("COS1")).unwrap();
    eventually("the classes have come back", || {
        let status = daemon.status();
        status["degraded"].as_array().is_some_and(Vec::is_empty)
            && status["domains"][0]["clos"].as_u64().is_some_and(|clos| clos > 2)
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
}

/// Programs of other managers' classes with limits of their own, and of the root group, whose limit
/// changes.
#[test]
fn limits_of_others_hold_in_the_daemons_classes() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::with(&PROGRAMS.join(","), &["--platform", "ice-lake"]);
    let tasks = PROGRAMS.map(|program| machine.pids[program]);
    let limits = |class: &str| {
        let text = fs::read_to_string(machine.root.join(class).join("schemata")).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        lines.retain(|line| !line.starts_with("L3"));
        lines
    };
    for (class, task, lines) in
        [("COS1", tasks[0], "MB:0=30\nL2:0=c\n"), ("COS2", tasks[1], "MB:0=50\nL2:0=30\n")]
    {
        fs::create_dir(machine.root.join(class)).unwrap();
        machine.write(&format!("{class}/schemata"), lines);
        machine.write(&format!("{class}/tasks"), &task.to_string());
    }
    let before = machine.snapshot(&tasks);
    configured(&machine, "policy = \"equal\"");
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let config = config.replace("[resctrl]\n", "[resctrl]\ntake_over = true\n");
    fs::write(machine.at("fairways.toml"), config).unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("all have classes", || {
        tasks.iter().all(|pid| class_of(&machine, *pid).starts_with("fairways."))
    });
    let of = |at: usize| limits(&class_of(&machine, tasks[at]));
    eventually("each has its limits", || {
        of(0) == limits("COS1") && of(1) == limits("COS2") && of(2) == limits("")
    });
    machine.write("schemata", "MB:0=20\n");
    eventually("the root's is followed", || {
        of(2).contains(&"MB:0=20".to_owned()) && of(0) == limits("COS1")
    });
    machine.write("schemata", "MB:0=100\n");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
}
