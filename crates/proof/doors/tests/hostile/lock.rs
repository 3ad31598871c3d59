//! A neighbor that holds the lock of resctrl can't end the daemon or keep it from restoring.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::common::{Machine, can, eventually, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: &str = "mlr:500K,lookbusy";

/// A process of this user that keeps the lock on resctrl's root until it is dropped.
struct Holder(Child);

impl Holder {
    fn start(machine: &Machine, user: u32) -> Self {
        let mut command = Command::new("sh");
        // The folder above is closed to other users: the process gets the lock through an open
        // descriptor.
        let root = std::fs::File::open(&machine.root).unwrap();
        let held =
            "import fcntl, time; fcntl.flock(3, 2); print('held', flush=True); time.sleep(3600)";
        let program = format!("exec 3<&0 < /dev/null; exec python3 -c \"{held}\"");
        command.args(["-c", &program]).uid(user).gid(user);
        command.stdin(Stdio::from(root)).stdout(Stdio::piped()).current_dir("/");
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn select(machine: &Machine, program: &str) -> String {
    format!("select = \"pid:{}\"", machine.pids[program])
}

#[test]
fn a_users_lock_is_waited_for_once_and_then_ignored() {
    if !can(&["python3"]) {
        return;
    }
    let machine = Machine::start(PROGRAMS);
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let [reads, works] = ["mlr:500K", "lookbusy"].map(|program| select(&machine, program));
    let equal = "policy = \"equal\"";
    let holder = Holder::start(&machine, 65_534);
    configure(&machine, equal, &[("reads", &reads)]);
    let daemon = Daemon::start(&machine, command(&machine));
    let ways = |daemon: &Daemon<'_>, name: &str| {
        let status = daemon.status();
        let programs = status["programs"].as_array().unwrap();
        programs.iter().find(|of| of["name"] == name).and_then(|of| of["ways"].as_u64())
    };
    eventually("it has its ways", || ways(&daemon, "reads").is_some());
    eventually("it is logged", || daemon.said().contains("going on without it"));
    assert!(daemon.said().contains("of user 65534"), "{}", daemon.said());
    // Another program also comes and goes.
    configure(&machine, equal, &[("reads", &reads), ("works", &works)]);
    daemon.signal(Signal::HUP);
    eventually("both have ways", || {
        ways(&daemon, "reads").is_some() && ways(&daemon, "works").is_some()
    });
    assert_eq!(daemon.said().matches("going on without it").count(), 1, "{}", daemon.said());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
    drop(holder);
}

#[test]
fn all_is_put_back_whatever_process_holds_the_lock() {
    if !can(&["python3"]) {
        return;
    }
    for user in [0, 65_534] {
        let machine = Machine::start(PROGRAMS);
        let tasks: Vec<i32> = machine.pids.values().copied().collect();
        let before = machine.snapshot(&tasks);
        let reads = select(&machine, "mlr:500K");
        configure(&machine, "policy = \"equal\"", &[("reads", &reads)]);
        let managed = || {
            let daemon = Daemon::start(&machine, command(&machine));
            let moved =
                || machine.snapshot(&tasks).keys().any(|path| path.starts_with("fairways."));
            eventually("it is managed", moved);
            daemon
        };
        // It is put back at the end of the daemon,
        let daemon = managed();
        let holder = Holder::start(&machine, user);
        assert_eq!(daemon.end(Signal::TERM), Some(0), "user {user}");
        assert_eq!(machine.snapshot(&tasks), before, "user {user}");
        drop(holder);
        // and by `restore` after a daemon was killed.
        let daemon = managed();
        assert_eq!(daemon.end(Signal::KILL), None);
        let _holder = Holder::start(&machine, user);
        let restore = Command::new(this()).arg("restore").args(machine.places("restore")).output();
        let restore = restore.unwrap();
        assert_eq!(restore.status.code(), Some(0), "user {user}: {restore:?}");
        assert_eq!(machine.snapshot(&tasks), before, "user {user}");
    }
}

#[test]
fn a_lock_of_root_delays_plans_and_ends_nothing() {
    if !can(&["python3"]) {
        return;
    }
    let machine = Machine::start(PROGRAMS);
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let [reads, works] = ["mlr:500K", "lookbusy"].map(|program| select(&machine, program));
    let equal = "policy = \"equal\"";
    configure(&machine, equal, &[("reads", &reads)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it has its ways", || daemon.status()["programs"][0]["ways"].as_u64().is_some());
    let managed = machine.snapshot(&tasks);
    let holder = Holder::start(&machine, 0);
    configure(&machine, equal, &[("reads", &reads), ("works", &works)]);
    daemon.signal(Signal::HUP);
    eventually("it is logged", || daemon.said().contains("locked for 5 s, by python3"));
    assert!(!daemon.said().contains("going on without it"), "{}", daemon.said());
    assert_eq!(machine.snapshot(&tasks), managed, "what was in force stays");
    // As readiness reports it.
    let degraded = |daemon: &Daemon<'_>| {
        let lines = daemon.status()["degraded"].as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| line.as_str().unwrap().to_owned()).collect::<String>()
    };
    eventually("it is shown", || degraded(&daemon).contains("locked for 5 s, by python3"));
    drop(holder);
    eventually("it is over", || degraded(&daemon).is_empty());
    eventually("both have ways", || {
        let status = daemon.status();
        let programs = status["programs"].as_array().unwrap();
        programs.len() == 2 && programs.iter().all(|of| of["ways"].as_u64().is_some())
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
}
