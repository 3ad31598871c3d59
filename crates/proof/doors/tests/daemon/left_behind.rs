//! What a killed daemon left and the next one could not remove at once.

use std::process::{Command, Output};

use rustix::process::Signal;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: [&str; 3] = ["mlr:500K", "mload:60M", "lookbusy"];

/// A machine with enough classes, and a configuration that gives each program one.
fn machine() -> Machine {
    let machine = Machine::with(&PROGRAMS.join(","), &["--platform", "broadwell"]);
    let selects = PROGRAMS.map(|name| format!("select = \"pid:{}\"", machine.pids[name]));
    let programs: Vec<(&str, &str)> =
        ["a", "b", "c"].into_iter().zip(selects.iter().map(String::as_str)).collect();
    configure(&machine, "policy = \"equal\"", &programs);
    machine
}

/// A daemon that has given each program its class.
fn managing(machine: &Machine) -> Daemon<'_> {
    let daemon = Daemon::start(machine, command(machine));
    eventually("each has its class", || {
        let status = daemon.status();
        status["domains"][0]["clusters"].as_array().is_some_and(|of| of.len() == 3)
    });
    daemon
}

fn emulated(machine: &Machine, asked: &[&str]) {
    printed(
        Command::new(fairways_doors::fairways_lab()).arg("emulated").arg(&machine.root).args(asked),
    );
}

fn restore(machine: &Machine) -> (Option<i32>, String) {
    let mut command = Command::new(this());
    let Output { status, stdout, .. } =
        command.arg("restore").args(machine.places("restore")).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

#[test]
fn what_stays_once_goes_with_the_next_daemon() {
    if !can(&[]) {
        return;
    }
    for fault in [
        "rmdir:*mon_groups*=EIO@1",
        "rmdir:/fairways.0=EBUSY@1",
        "rmdir:/fairways.1=ENOENT@1",
        "list:/fairways.2/mon_groups=EIO@2",
    ] {
        let machine = machine();
        let tasks: Vec<i32> = machine.pids.values().copied().collect();
        let before = machine.snapshot(&tasks);
        assert_eq!(managing(&machine).end(Signal::KILL), None);
        emulated(&machine, &["fault", fault]);
        let daemon = managing(&machine);
        assert!(daemon.said().contains("not restored"), "{fault}: {}", daemon.said());
        assert_eq!(daemon.end(Signal::TERM), Some(0), "{fault}");
        assert_eq!(machine.snapshot(&tasks), before, "{fault}");
        assert_eq!(restore(&machine), (Some(0), "nothing to restore\n".to_owned()), "{fault}");
    }
}

#[test]
fn what_stays_is_reported_by_exit_codes_until_it_goes() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    assert_eq!(managing(&machine).end(Signal::KILL), None);
    emulated(&machine, &["fault", "rmdir:*mon_groups*=EIO"]);
    assert_eq!(managing(&machine).end(Signal::TERM), Some(1));
    let (code, said) = restore(&machine);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not restored group ") && !said.contains("others"), "{said}");
    emulated(&machine, &["clear"]);
    let (code, said) = restore(&machine);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(machine.snapshot(&tasks), before);
}
