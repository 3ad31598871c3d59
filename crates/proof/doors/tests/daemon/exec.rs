//! Policies that are programs of their own: confined, and harmless when they fail.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use rustix::process::Signal;

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

const PROGRAMS: [&str; 2] = ["mlr:500K", "lookbusy"];

/// A policy in the shell that gives the second program one way once it has started, then watches
/// the first, and does `then` with every answer to a plan.
fn script(then: &str) -> String {
    let plan = r#"{"partition":{"plan":0,"partition":[{"mask":"0x3fe","apps":[0]},{"mask":"0x1","apps":[1]}],"reason":"a test"}}"#;
    let watch = r#"{"watch":{"app":0,"every":{"time":50000000}}}"#;
    format!(
        r#"while read -r line; do
             case "$line" in
               *describe*) echo '{{"describe":{{"summary":"a test"}}}}';;
               *'"started":{{"app":1'*) echo '{{"actions":[{plan},{watch}]}}';;
               *'"applied"'*) echo '{{"actions":[]}}'; {then};;
               *) echo '{{"actions":[]}}';;
             esac
           done"#
    )
}

/// Configures a policy in the shell for a machine's programs. The script is where everybody may
/// read it, for as long as the folder is kept.
fn configured(machine: &Machine, script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.sh");
    fs::write(&path, script).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let selects = PROGRAMS.map(|program| format!("select = \"pid:{}\"", machine.pids[program]));
    let path = path.display();
    let keys = format!("policy = \"exec:sh {path}\"\nparameters.answer_timeout = \"300ms\"");
    configure(machine, &keys, &[("reads", &*selects[0]), ("works", &*selects[1])]);
    folder
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    text.unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The processes whose parent's parent is this process: a keeper's programs.
fn confined_by(daemon: u32) -> Vec<u32> {
    children(daemon).into_iter().flat_map(children).collect()
}

fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn masks(machine: &Machine) -> String {
    let snapshot = machine.snapshot(&[]);
    let all = snapshot.iter().filter(|(path, _)| path.ends_with("/schemata"));
    all.map(|(path, text)| format!("{path}: {text}")).collect()
}

/// It decides about the ways, as nobody, with no capability and no call that reaches further, and
/// ends with the daemon, also with one that is killed.
#[test]
fn a_policy_that_is_a_program_has_no_rights() {
    if !can(&[]) {
        return;
    }
    for signal in [Signal::TERM, Signal::KILL] {
        let machine = Machine::start(&PROGRAMS.join(","));
        let before = masks(&machine);
        let _kept = configured(&machine, &script(":"));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it has planned", || masks(&machine).contains("=3fe"));
        let running = confined_by(daemon.pid());
        assert_eq!(running.len(), 1, "{running:?}");
        let status = fs::read_to_string(format!("/proc/{}/status", running[0])).unwrap();
        for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "{line}: {status}");
        }
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
        assert!(daemon.status()["policy"].to_string().contains("exec:sh"), "{}", daemon.status());
        daemon.end(signal);
        eventually("the program has ended", || !is_running(running[0]));
        if signal == Signal::TERM {
            assert_eq!(masks(&machine), before);
        }
    }
}

/// However it fails, its last plan stays in force, the daemon answers, and all is undone at the
/// end. The exit code says that the policy has failed.
#[test]
fn a_policy_that_fails_leaves_its_last_plan() {
    if !can(&[]) {
        return;
    }
    for (then, said) in [
        ("sleep 1000", "no answer within 300ms"),
        ("exit 3", "it ended"),
        ("echo hello", "more than one answer"),
        ("yes '{\"actions\":[]}'", "more than one answer"),
        ("read -r line; echo '{'", "expected {\"actions\": [...]}"),
        ("read -r line; head -c 100000000 /dev/zero | tr '\\0' x", "longer than 1024 KiB"),
        (
            r#"read -r line; echo '{"actions":[{"partition":{"plan":0,"partition":[],"reason":""}}]}'"#,
            "plans numbered from 0",
        ),
    ] {
        let machine = Machine::start(&PROGRAMS.join(","));
        let before = masks(&machine);
        let _kept = configured(&machine, &script(then));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it has failed", || daemon.said().contains(said));
        assert!(masks(&machine).contains("=3fe"), "{then}: {}", masks(&machine));
        let resident = daemon.resident();
        assert!(resident < 200 << 20, "{then}: {resident} bytes");
        // Longer than its first restart takes.
        std::thread::sleep(Duration::from_millis(1500));
        assert!(masks(&machine).contains("=3fe"), "{then}: {}", masks(&machine));
        assert_eq!(daemon.programs(), ["reads", "works"]);
        assert_eq!(daemon.end(Signal::TERM), Some(1), "{then}");
        assert_eq!(masks(&machine), before, "{then}");
    }
}

/// All processes that descend from these.
fn descendants(of: &[u32]) -> Vec<u32> {
    let below: Vec<u32> = of.iter().flat_map(|&pid| children(pid)).collect();
    if below.is_empty() { below } else { [&below[..], &descendants(&below)].concat() }
}

fn send(pid: u32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whatever ends the process that guards it, and whatever the policy has started: nothing of it is
/// left, the daemon says what happened, and the last plan stays in force.
#[test]
fn a_policy_whose_keeper_is_killed_leaves_nothing_behind() {
    if !can(&[]) {
        return;
    }
    // Children and their children, which no signal but SIGKILL ends.
    let leaves = r#"sh -c 'trap "" HUP INT TERM; sleep 600 & sleep 600' & :"#;
    for daemon_ends_by in [Signal::TERM, Signal::KILL] {
        let machine = Machine::start(&PROGRAMS.join(","));
        let before = masks(&machine);
        let _kept = configured(&machine, &script(leaves));
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it has planned", || masks(&machine).contains("=3fe"));
        eventually("its children run", || descendants(&confined_by(daemon.pid())).len() >= 3);
        let [keeper] = children(daemon.pid())[..] else { panic!("one keeper") };
        let programs = descendants(&[keeper]);
        assert!(programs.len() >= 4, "{programs:?}");
        send(keeper, Signal::KILL);
        if daemon_ends_by == Signal::TERM {
            eventually("it is said", || {
                let degraded = daemon.status()["degraded"].to_string();
                degraded.contains("the process that guards it has ended")
            });
            assert!(masks(&machine).contains("=3fe"), "{}", masks(&machine));
            assert_eq!(daemon.programs(), ["reads", "works"]);
            eventually("nothing is left", || programs.iter().all(|&pid| !is_running(pid)));
        }
        // Killed as well, there is nobody who could end anything.
        let code = daemon.end(daemon_ends_by);
        eventually("nothing is left", || programs.iter().all(|&pid| !is_running(pid)));
        if daemon_ends_by == Signal::TERM {
            assert_eq!((code, masks(&machine)), (Some(1), before));
        }
    }
}

/// A keeper that no longer answers ends with the daemon, and everything with it.
#[test]
fn a_policy_whose_keeper_is_stopped_ends_with_the_daemon() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(&PROGRAMS.join(","));
    let _kept = configured(&machine, &script("sleep 600 & :"));
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it has planned", || masks(&machine).contains("=3fe"));
    eventually("its child runs", || !descendants(&confined_by(daemon.pid())).is_empty());
    let [keeper] = children(daemon.pid())[..] else { panic!("one keeper") };
    let programs = descendants(&[keeper]);
    send(keeper, Signal::STOP);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    eventually("nothing is left", || programs.iter().all(|&pid| !is_running(pid)));
}

/// A program that can't be described, or that is not there, is refused before anything is changed.
#[test]
fn a_policy_that_does_not_start_is_refused_in_one_line() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(&PROGRAMS.join(","));
    for (script, said) in
        [("exit 0", "it ended"), ("read -r line; echo hello", "expected a description")]
    {
        let _kept = configured(&machine, script);
        let done = command(&machine).stderr(std::process::Stdio::piped()).output().unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{error}");
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
    }
}
