//! Killed at any system call, the daemon leaves what others made unchanged, and `fairways restore`
//! or the next start puts the rest right.
//!
//! CI kills it at every call that changes something and at some of the rest; `FAIRWAYS_KILLED=all`
//! at every call. A call is identified by its name and its number among the calls of that name,
//! because strace(1) counts each name by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::common::{Machine, Sleeper, can, end, printed, text, this};

/// CI tries one in this many of the calls that change nothing.
const SOME: usize = 250;

/// System calls that change files: between two of them, nothing differs from the state after the
/// first.
const CHANGES: [&str; 17] = [
    "write",
    "pwrite64",
    "writev",
    "mkdir",
    "mkdirat",
    "rmdir",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "ftruncate",
    "fsync",
    "fdatasync",
    "chmod",
    "fchmodat",
    "bind",
];

/// How long the daemon manages the machine: every program has its ways long before.
const UNTIL: &str = "50ms";

/// How often a machine is used: monitoring ids are released only when no cache lines are counted
/// for them.
const USES: usize = 6;

/// The managed programs.
const MANAGED: [&str; 2] = ["mlr:500K", "mload:60M"];

type Snapshot = BTreeMap<String, String>;

/// A system call: its name, and its number among the calls of that name, from 1.
type Call = (String, usize);

/// The result at one point.
struct Killed {
    /// Whether the daemon was killed before its end; whether `restore` was, where it was to be.
    daemon: bool,
    restore: Option<bool>,
    /// The state that the daemon left.
    left: Snapshot,
}

/// The daemon's flags besides the programs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// `--confine-others 2`.
    Confine,
    /// `--take-over`, the programs being in another manager's groups.
    TakeOver,
    /// A policy that limits memory bandwidth, a step lower every 5 ms, with `--take-over`: the
    /// first program is in another manager's group.
    Limit,
}

/// A host that another manager uses as well.
struct Beside {
    machine: Machine,
    how: How,
    /// Processes whose groups are compared; the managed programs' first.
    tasks: Vec<i32>,
    _others: [Sleeper; 3],
    before: Snapshot,
}

impl Beside {
    fn new(how: How, kernel: &str) -> Self {
        let programs = format!("{},lookbusy", MANAGED.join(","));
        let machine = Machine::with(&programs, &["--kernel", kernel, "--platform", "ice-lake"]);
        let others = [(); 3].map(|()| Sleeper::start());
        let mut tasks: Vec<i32> = MANAGED.iter().map(|name| machine.pids[*name]).collect();
        tasks.extend(others.iter().map(Sleeper::id));
        for group in ["COS1", "COS1/mon_groups/m", "COS2", "mon_groups/theirs"] {
            fs::create_dir(machine.root.join(group)).unwrap();
        }
        // Each core has an L2.
        let l2 = |mask: &str| format!("L2:0={mask};1={mask};2={mask};3={mask}\n");
        machine.write("COS1/schemata", &format!("L3:0=3\nMB:0=30\n{}", l2("c")));
        machine.write("COS1/cpus_list", "3\n");
        machine.write("schemata", &format!("L3:0=ff0\n{}", l2("fc0")));
        machine.write("COS2/schemata", &format!("L3:0=c\nMB:0=50\n{}", l2("30")));
        machine.write("COS2/mode", "exclusive\n");
        machine.write("COS1/tasks", &tasks[2].to_string());
        machine.write("COS1/tasks", &tasks[3].to_string());
        machine.write("COS1/mon_groups/m/tasks", &tasks[3].to_string());
        machine.write("mon_groups/theirs/tasks", &tasks[4].to_string());
        if how != How::Confine {
            machine.write("COS1/tasks", &tasks[0].to_string());
        }
        if how == How::TakeOver {
            machine.write("COS1/tasks", &tasks[1].to_string());
            machine.write("COS1/mon_groups/m/tasks", &tasks[1].to_string());
        }
        let before = machine.snapshot(&tasks);
        Self { machine, how, tasks, _others: others, before }
    }

    /// The daemon's command, under strace or not.
    fn daemon(&self, strace: Option<&[&str]>, duration: &str) -> Command {
        let mut command = traced(strace);
        command.arg("run").args(self.machine.places("run"));
        command.args(["--counters", "emulator", "--clock", "emulator", "--log-level", "error"]);
        for (name, task) in ["reads", "streams"].iter().zip(&self.tasks) {
            command.arg("--program").arg(format!("{name}=pid:{task}"));
        }
        match self.how {
            How::Confine => command.args(["--policy", "equal", "--confine-others", "2"]),
            How::TakeOver => command.args(["--policy", "equal", "--take-over"]),
            How::Limit => {
                let set = ["--set", "period=5ms", "--set", "target_mbps=1"];
                command.args(["--policy", "mba-feedback", "--take-over"]).args(set)
            }
        };
        command.args(["--duration", duration]);
        command
    }

    fn restore(&self, strace: Option<&[&str]>) -> Command {
        let mut command = traced(strace);
        command.arg("restore").args(self.machine.places("restore")).arg("--json");
        command
    }

    fn snapshot(&self) -> Snapshot {
        self.machine.snapshot(&self.tasks)
    }

    fn ledger(&self) -> Option<Value> {
        // Between two renames the ledger before it counts.
        let names = ["state/resctrl.json", "state/resctrl.json.before"];
        let text = names.iter().find_map(|name| text(&self.machine.at(name)))?;
        let sealed: Value = serde_json::from_str(&text).unwrap();
        Some(sealed["ledger"].clone())
    }

    /// Checks that nothing of others differs, except as the ledger records, and that the ledger has
    /// every group that was made.
    fn check(&self, left: &Snapshot, at: &str) {
        let ledger = self.ledger().unwrap_or_default();
        let list = |name: &str| ledger[name].as_array().cloned().unwrap_or_default();
        let is_ours = |path: &str| path.split('/').any(|name| name.starts_with("fairways."));
        for path in left.keys().filter(|path| is_ours(path)) {
            let group = path.rsplit('/').nth(1).unwrap();
            let noted = list("groups").iter().any(|made| made["name"] == group);
            assert!(noted, "{at}: {path} is not in the ledger");
        }
        let paths = |of: &Snapshot| of.keys().filter(|path| !is_ours(path)).cloned().collect();
        let (there, were): (BTreeSet<String>, BTreeSet<String>) =
            (paths(left), paths(&self.before));
        assert_eq!(there, were, "{at}");
        for path in were.iter().filter(|path| left[*path] != self.before[*path]) {
            let (was, is) = (&self.before[path], &left[path]);
            let said = format!("{at}: {path} was {was:?} and is {is:?}, and the ledger {ledger}");
            let (group, file) = path.rsplit_once('/').unwrap();
            match file {
                "tasks" => {
                    let lines = |text: &str| text.lines().map(str::to_owned).collect();
                    let (was, is): (BTreeSet<String>, BTreeSet<String>) = (lines(was), lines(is));
                    let taken = |thread: &String| {
                        let mut taken = list("tasks").into_iter();
                        taken.any(|task| {
                            // A class lists its MON groups' threads, too.
                            let from = task["group"].as_str().unwrap();
                            let in_it = from.strip_prefix(group);
                            task["thread"].as_i64() == thread.parse().ok()
                                && in_it
                                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                        })
                    };
                    let managed = |thread: &String| {
                        self.tasks[..2].iter().any(|task| task.to_string() == *thread)
                    };
                    assert!(
                        was.difference(&is).all(|gone| group.is_empty() || taken(gone)),
                        "{said}"
                    );
                    // A thread that is half put back is in the class of its MON group.
                    assert!(was.symmetric_difference(&is).all(managed), "{said}");
                }
                "schemata" => {
                    assert!(group.is_empty() && self.how == How::Confine, "{said}");
                    let mask = |text: &str| {
                        let line = text.lines().find_map(|line| line.trim().strip_prefix("L3:0="));
                        u64::from_str_radix(line.unwrap(), 16).unwrap()
                    };
                    let values = list("values");
                    assert!(values.len() == 1 && values[0]["before"] == mask(was), "{said}");
                    let ours = values[0]["ours"].as_array().unwrap();
                    assert!(ours.iter().any(|value| *value == mask(is)), "{said}");
                }
                _ => panic!("{said}"),
            }
        }
    }

    /// Checks that programs from another manager's class keep that class's limits, whatever class
    /// they are in. A policy may limit their bandwidth further.
    fn check_limits(&self, left: &Snapshot, at: &str) {
        let taken = match self.how {
            How::Confine => 0,
            How::Limit => 1,
            How::TakeOver => 2,
        };
        for task in self.tasks[..taken].iter().map(ToString::to_string) {
            let holds = |text: &str| text.lines().any(|line| line == task);
            let mut groups =
                left.iter().filter(|(path, text)| path.ends_with("/tasks") && holds(text));
            let (path, _) = groups.next().unwrap_or_else(|| panic!("{at}: {task} is nowhere"));
            let class = path.split('/').next().filter(|name| *name != "mon_groups");
            let limits = |of: &Snapshot, class: &str| -> Vec<String> {
                let lines = of[&format!("{class}/schemata")].lines();
                let lines = lines.map(|line| line.trim().to_owned());
                lines.filter(|line| !line.starts_with("L3:")).collect()
            };
            let (mut is, was) =
                (limits(left, class.unwrap_or_default()), limits(&self.before, "COS1"));
            if self.how == How::Limit && is[0] != was[0] {
                assert!(
                    ["MB:0=20", "MB:0=10"].contains(&&*is[0]),
                    "{at}: {task} in {path}: {is:?}"
                );
                is[0].clone_from(&was[0]);
            }
            assert_eq!(is, was, "{at}: {task} in {path}");
        }
    }

    /// Kills the daemon at a call, and puts right what it left: every other time by `restore`.
    /// Every other `restore` is first killed at one of these calls.
    fn kill(&self, (call, nth): &Call, turn: usize, restores: &[Call]) -> Killed {
        let at = format!("{call} {nth}");
        let daemon = self.run_killed(|strace| self.daemon(Some(strace), UNTIL), call, *nth);
        let left = self.snapshot();
        self.check(&left, &at);
        self.check_limits(&left, &at);
        let mut restore = None;
        if turn.is_multiple_of(2) {
            if turn.is_multiple_of(4) {
                // Another point each time.
                let (call, nth) = &restores[turn * 7919 % restores.len()];
                restore = Some(self.run_killed(|strace| self.restore(Some(strace)), call, *nth));
                self.check(&self.snapshot(), &format!("{at}, and restore at {call} {nth}"));
            }
            let report: Value = serde_json::from_str(&printed(&mut self.restore(None))).unwrap();
            assert_eq!(report["left"], Value::Array(Vec::new()), "{at}");
        } else {
            printed(&mut self.daemon(None, "5ms"));
        }
        assert_eq!(self.snapshot(), self.before, "{at}");
        assert_eq!(self.ledger(), None, "{at}");
        Killed { daemon, restore, left }
    }

    /// Runs a command that is killed at a call; returns whether it was killed.
    fn run_killed(&self, command: impl Fn(&[&str]) -> Command, call: &str, nth: usize) -> bool {
        let (trace, inject) =
            (format!("trace={call}"), format!("inject={call}:signal=KILL:when={nth}"));
        let mut command = command(&["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        let stderr = fs::File::create(self.machine.at("said")).unwrap();
        let status = end(&mut command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap());
        let said = fs::read_to_string(self.machine.at("said")).unwrap();
        assert!(status.success() || status.signal() == Some(9), "{call} {nth}: {status}: {said}");
        !status.success()
    }

    /// The calls of the daemon's main thread, in order, and whether each changes something.
    fn calls(&self) -> Vec<(Call, bool)> {
        let calls = self.calls_of(|strace| self.daemon(Some(strace), UNTIL));
        assert_eq!(self.snapshot(), self.before);
        calls
    }

    /// The calls of a `restore` after a daemon that was killed at this one.
    fn restore_calls(&self, (call, nth): &Call) -> Vec<Call> {
        assert!(self.run_killed(|strace| self.daemon(Some(strace), UNTIL), call, *nth));
        let calls = self.calls_of(|strace| self.restore(Some(strace)));
        assert_eq!(self.snapshot(), self.before);
        calls.into_iter().map(|(call, _)| call).collect()
    }

    fn calls_of(&self, command: impl Fn(&[&str]) -> Command) -> Vec<(Call, bool)> {
        let log = self.machine.at("calls");
        printed(&mut command(&["-qq", "-o", log.to_str().unwrap()]));
        // The first, execve(2), is before there is a program.
        let mut counts = BTreeMap::new();
        let mut calls = Vec::new();
        for line in fs::read_to_string(log).unwrap().lines().skip(1) {
            let Some((name, rest)) = line.split_once('(') else { continue };
            if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_') {
                continue;
            }
            let nth = counts.entry(name.to_owned()).or_insert(0);
            *nth += 1;
            let changes = CHANGES.contains(&name) || name == "openat" && rest.contains("O_CREAT");
            calls.push(((name.to_owned(), *nth), changes));
        }
        calls
    }
}

/// This program, under strace or not.
fn traced(strace: Option<&[&str]>) -> Command {
    let Some(flags) = strace else { return Command::new(this()) };
    let mut command = Command::new("strace");
    command.args(flags).arg(this());
    command
}

fn killed_everywhere(how: How, kernel: &str) {
    if !can(&["strace"]) {
        return;
    }
    let first = Beside::new(how, kernel);
    let calls = first.calls();
    let changes: Vec<&Call> =
        calls.iter().filter(|(_, changes)| *changes).map(|(at, _)| at).collect();
    let restores = first.restore_calls(changes[changes.len() / 2]);
    drop(first);
    let all = std::env::var_os("FAIRWAYS_KILLED").is_some_and(|which| which == "all");
    let is_point = |at: usize, changes: bool| all || changes || at.is_multiple_of(SOME);
    let points: Vec<&Call> = (0..)
        .zip(&calls)
        .filter(|(at, (_, changes))| is_point(*at, *changes))
        .map(|(_, (call, _))| call)
        .collect();
    let (mut killed, mut halfway, mut monitored, mut limited, mut restored) = (0, 0, 0, 0, (0, 0));
    let mut beside = None;
    for (turn, point) in points.iter().enumerate() {
        let beside = match &mut beside {
            Some(beside) if !turn.is_multiple_of(USES) => beside,
            beside => beside.insert(Beside::new(how, kernel)),
        };
        let Killed { daemon, restore, left } = beside.kill(point, turn, &restores);
        killed += usize::from(daemon);
        if let Some(was) = restore {
            restored = (restored.0 + usize::from(was), restored.1 + 1);
        }
        halfway += usize::from(left != beside.before);
        monitored += usize::from(left.keys().any(|path| path.contains("mon_groups/fairways.")));
        limited += usize::from(left.iter().any(|(path, text)| {
            let is_ours = path.starts_with("fairways.") && path.ends_with("/schemata");
            is_ours && !text.contains("MB:0=100")
        }));
    }
    let tried = points.len();
    eprintln!(
        "{tried} calls: killed {killed} times, {halfway} in the middle, {monitored} while programs were monitored; \
         restore {} times of {}",
        restored.0, restored.1
    );
    // A run's length differs a little with the other processes in /proc.
    assert!(killed * 10 > tried * 8, "killed {killed} times of {tried}");
    assert!(halfway > 25, "{halfway} times in the middle of {tried}");
    assert!(restored.0 * 3 > restored.1, "restore was killed {restored:?} times");
    assert!(monitored > 20, "{monitored} times with groups to monitor of {tried}");
    assert!(how != How::Limit || limited > 10, "{limited} times with a limit of {tried}");
}

#[test]
fn killed_at_any_call_while_others_are_confined_it_is_put_right() {
    killed_everywhere(How::Confine, "7.2");
}

/// The class of a program that is limited goes, and its level with it.
#[test]
fn killed_at_any_call_while_bandwidth_is_limited_it_is_put_right() {
    killed_everywhere(How::Limit, "7.2");
}

#[test]
fn killed_at_any_call_after_taking_over_it_is_put_right() {
    killed_everywhere(How::TakeOver, "7.2");
}

/// Where groups cannot be renamed, a program's lines are counted in two groups for a moment.
#[test]
fn killed_at_any_call_on_an_old_kernel_it_is_put_right() {
    killed_everywhere(How::TakeOver, "6.1");
}
