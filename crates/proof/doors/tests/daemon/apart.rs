//! Commands in namespaces of their own, as in a container that does not share the host's.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::common::{Machine, Sleeper, can, eventually, this};
use super::running::{Daemon, command, configure};

/// A PID namespace of its own, with its /proc.
const OWN_PIDS: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];

/// What helps.
const REMEDIES: [&str; 3] = ["PID namespace", "--pid=host", "hostPID: true"];

/// Whether this test runs on the host itself, and in no container.
fn is_of_host() -> bool {
    fs::read_link("/proc/self/ns/pid").unwrap().to_str() == Some("pid:[4026531836]")
}

/// The processes of this command name, by the numbers of this namespace.
fn named(name: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names.collect();
    found.retain(|entry| {
        fs::read_to_string(format!("/proc/{entry}/comm")).is_ok_and(|of| of.trim() == name)
    });
    found
}

/// The threads in the daemon's groups.
fn in_groups(machine: &Machine) -> Vec<String> {
    let mut threads = Vec::new();
    for folder in [machine.root.clone(), machine.root.join("mon_groups")] {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("fairways.") {
                let tasks = fs::read_to_string(entry.path().join("tasks")).unwrap_or_default();
                threads.extend(tasks.lines().map(str::to_owned));
            }
        }
    }
    threads
}

/// The command in namespaces of its own.
fn apart(namespaces: &[&str], of: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(namespaces).arg(of.get_program()).args(of.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// The process that unshare(1) started.
fn inside(unshare: u32) -> Pid {
    let children = format!("/proc/{unshare}/task/{unshare}/children");
    let first = fs::read_to_string(children).unwrap().trim().parse().unwrap();
    Pid::from_raw(first).unwrap()
}

/// Ends a daemon in a PID namespace of its own: unshare(1) passes no signal on.
fn end(daemon: Daemon<'_>) -> Option<i32> {
    kill_process(inside(daemon.pid()), Signal::TERM).unwrap();
    daemon.end(Signal::CONT)
}

#[test]
fn doctor_and_scan_say_that_the_host_s_processes_are_not_seen() {
    if !can(&["unshare"]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let mut doctor = Command::new(this());
    doctor.args(["doctor", "--resctrl-root"]).arg(&machine.root);
    let mut scan = Command::new(this());
    scan.args(["scan", "--duration", "1s"]).args(machine.places("scan"));
    for of in [&doctor, &scan] {
        let output = apart(&OWN_PIDS, of).stdout(Stdio::piped()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        // Lines are folded.
        let said = String::from_utf8(said).unwrap();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for remedy in REMEDIES {
            assert!(said.contains(remedy), "{of:?}: {remedy}: {said}");
        }
        if !is_of_host() {
            continue;
        }
        let shared = Command::new(of.get_program()).args(of.get_args()).output().unwrap();
        let said = String::from_utf8(shared.stderr).unwrap();
        assert!(!said.contains("namespace"), "{said}");
    }
}

/// It says so once, and in `degraded` as long as it runs; what it sees it manages by the numbers of
/// its namespace, and no other process.
#[test]
fn a_daemon_manages_what_is_in_its_namespace() {
    if !can(&["unshare"]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let outside = Sleeper::start();
    let program = machine.at("fwtest-inside");
    fs::copy("/bin/sleep", &program).unwrap();
    let selectors = ["select = \"process:fwtest-inside\"", "select = \"process:mlr*\""];
    configure(
        &machine,
        "policy = \"equal\"",
        &[("inside", selectors[0]), ("outside", selectors[1])],
    );
    let run = command(&machine);
    let line = format!("{} 3600 & exec \"$0\" \"$@\"", program.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).arg(run.get_program()).args(run.get_args());
    let before = machine.snapshot(&[outside.id()]);
    let daemon = Daemon::start(&machine, apart(&OWN_PIDS, &shell));
    eventually("it is managed", || daemon.programs() == ["inside"]);
    let status = daemon.status();
    let degraded = status["degraded"].to_string();
    for remedy in REMEDIES {
        assert!(degraded.contains(remedy), "{remedy}: {degraded}");
        assert_eq!(daemon.said().matches(remedy).count(), 1, "{remedy}: {}", daemon.said());
    }
    // By the numbers of this namespace, too, that process is in the daemon's groups, and no other.
    let processes = named("fwtest-inside");
    assert_eq!(processes.len(), 1);
    eventually("its process is in a group", || in_groups(&machine) == processes);
    assert_eq!(end(daemon), Some(0));
    assert_eq!(machine.snapshot(&[outside.id()]), before);
}

/// In another namespace's /proc, processes have other numbers than resctrl takes: of those, others
/// would be moved.
#[test]
fn nothing_is_managed_by_the_numbers_of_another_namespace() {
    if !can(&["unshare"]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("mlr", &select)]);
    let before = machine.snapshot(&[]);
    let mut scan = Command::new(this());
    scan.args(["scan", "--duration", "1s"]).args(machine.places("scan"));
    for of in [&command(&machine), &scan] {
        let output = apart(&OWN_PIDS[..3], of).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("/proc shows another PID namespace"), "{said}");
        assert!(said.contains("--pid=host") && said.contains("hostPID"), "{said}");
    }
    let mut doctor = Command::new(this());
    doctor.args(["doctor", "--json", "--resctrl-root"]).arg(&machine.root);
    let output = apart(&OWN_PIDS[..3], &doctor).stdout(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["partition"]["why"].as_str().unwrap().contains("see pid-namespace"));
    assert_eq!(machine.snapshot(&[]), before);
}

/// With the host's cgroups mounted, nothing is degraded.
#[test]
fn a_cgroup_namespace_with_the_host_s_cgroups_is_said_and_does_no_harm() {
    if !can(&["unshare"]) {
        return;
    }
    if !is_of_host() {
        fairways_testing::needs::withheld("cgroups", "this is a container");
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("mlr", &select)]);
    let daemon = Daemon::start(&machine, apart(&["--cgroup"], &command(&machine)));
    eventually("it is managed", || daemon.programs() == ["mlr"]);
    assert_eq!(daemon.status()["degraded"], serde_json::json!([]));
    assert!(
        daemon.said().contains("Fairways runs in a cgroup namespace of its own"),
        "{}",
        daemon.said()
    );
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
