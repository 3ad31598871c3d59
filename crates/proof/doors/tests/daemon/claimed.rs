//! A host of whose cache another manager has every way.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;

use super::blamed::{blame, daemon};
use super::common::{Machine, Sleeper, can, eventually, printed, this};

/// Two programs that are in each other's way, and one that needs no cache.
const PROGRAMS: &str = "mlr:700K,mlr:600K,lookbusy";

/// A machine that others have divided between two classes, with a process in the first.
struct Claimed {
    machine: Machine,
    theirs: Sleeper,
    before: BTreeMap<String, String>,
}

impl Claimed {
    fn new() -> Self {
        // Lines are counted there, which the answers need.
        let machine = Machine::with(PROGRAMS, &["--platform", "broadwell"]);
        let theirs = Sleeper::start();
        let schemata = fs::read_to_string(machine.root.join("schemata")).unwrap();
        let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:0=")).unwrap();
        let all = u32::from_str_radix(line, 16).unwrap();
        for (name, mask) in [("COS1", 0x3f), ("COS2", all & !0x3f)] {
            fs::create_dir(machine.root.join(name)).unwrap();
            machine.write(&format!("{name}/schemata"), &format!("L3:0={mask:x}\n"));
        }
        machine.write("COS1/tasks", &theirs.id().to_string());
        let mut claimed = Self { machine, theirs, before: BTreeMap::new() };
        claimed.before = claimed.now();
        claimed
    }

    fn now(&self) -> BTreeMap<String, String> {
        let mut tasks: Vec<i32> = self.machine.pids.values().copied().collect();
        tasks.push(self.theirs.id());
        self.machine.snapshot(&tasks)
    }

    fn run(&self, more: &[&str]) -> Output {
        let mut command = Command::new(this());
        command.arg("run").args(self.machine.places("run"));
        command.args(["--json", "--duration", "2s"]);
        command.args(["--counters", "emulator", "--clock", "emulator", "--log-level", "error"]);
        for (program, pid) in &self.machine.pids {
            command.arg("--program").arg(format!("{}=pid:{pid}", program.replace(':', "-")));
        }
        command.args(more).output().unwrap()
    }

    /// Runs the daemon so that it gives out nothing: it measures, says that it could give out
    /// nothing, and changes nothing of anybody's.
    fn watches(&self, more: &[&str]) {
        let Output { status, stdout, stderr } = self.run(more);
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(0), "{more:?}: {said}");
        let shown: Value = serde_json::from_slice(&stdout).unwrap();
        let degraded = shown["degraded"].to_string();
        let expected = "nothing could be given out: no ways are free in any domain";
        assert!(degraded.contains(expected), "{more:?}: {degraded}");
        assert_eq!(shown["programs"].as_array().map(Vec::len), Some(3), "{more:?}: {shown}");
        assert_eq!(self.now(), self.before, "{more:?}");
    }

    /// Runs the daemon, which refuses to begin in one line with what to do.
    fn refuses(&self, more: &[&str]) {
        let Output { status, stderr, .. } = self.run(more);
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), said.lines().count()), (Some(4), 1), "{more:?}: {said}");
        for part in ["no ways are free", "COS1 (", "COS2 (", "to give any out: ", "--observe"] {
            assert!(said.contains(part), "{more:?}: {part}: {said}");
        }
        assert_eq!(self.now(), self.before, "{more:?}");
    }

    fn doctor(&self) -> (Option<i32>, Value) {
        let mut command = Command::new(this());
        command.args(["doctor", "--json", "--resctrl-root"]).arg(&self.machine.root);
        let output = command.output().unwrap();
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
    }
}

#[test]
fn what_changes_nothing_needs_no_free_way_and_the_rest_says_what_to_do() {
    if !can(&[]) {
        return;
    }
    let host = Claimed::new();
    for more in [
        &["--observe"][..],
        &["--dry-run"],
        &["--policy", "stock"],
        &["--observe", "--take-over"],
        &["--observe", "--policy", "lfoc"],
    ] {
        host.watches(more);
    }
    for more in [&[][..], &["--use-shareable"], &["--policy", "equal"]] {
        host.refuses(more);
    }
    let (code, report) = host.doctor();
    assert_eq!((code, report["verdict"].as_str()), (Some(4), Some("busy")), "{report}");
    assert_eq!(report["partition"]["yes"], false);
    // The second group is empty, so that its ways count; with a task of theirs in each, none do.
    let Output { status, stderr, .. } = host.run(&["--take-over"]);
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!(host.now(), host.before);
    let other = Sleeper::start();
    host.machine.write("COS2/tasks", &other.id().to_string());
    let Output { status, stderr, .. } = host.run(&["--take-over"]);
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!((status.code(), said.lines().count()), (Some(4), 1), "{said}");
    drop(other);
    // A program that it takes is no task of theirs.
    let task = host.machine.pids["lookbusy"].to_string();
    host.machine.write("COS2/tasks", &task);
    let Output { status, stderr, .. } = host.run(&["--take-over"]);
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    let tasks = fs::read_to_string(host.machine.root.join("COS2/tasks")).unwrap();
    assert_eq!(tasks, format!("{task}\n"), "it went back");
    // Where their group goes, the doctor and the daemon agree again.
    fs::remove_dir(host.machine.root.join("COS2")).unwrap();
    assert_eq!(host.doctor().0, Some(0));
    assert_eq!(host.run(&[]).status.code(), Some(0));
}

/// Which program slows which is known nevertheless: by a scan, and by a daemon that observes, or
/// whose policy gives out nothing.
#[test]
fn culprits_are_known_where_nothing_can_be_given_out() {
    if !can(&[]) {
        return;
    }
    let host = Claimed::new();
    let mut scan = Command::new(this());
    scan.args(["scan", "--emulator", "--duration", "2s", "--json", "--resctrl-root"]);
    scan.arg(&host.machine.root).arg("--state").arg(host.machine.at("state"));
    let report: Value = serde_json::from_str(&printed(&mut scan)).unwrap();
    let programs = report["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 3, "{report}");
    assert!(programs.iter().all(|of| of["occupancy_bytes"].is_u64()), "{report}");
    let said = report["nothing_free"].as_str().unwrap();
    assert!(said.contains("COS1 (") && said.contains("COS2 ("), "{said}");
    assert_eq!(host.now(), host.before);

    for keys in ["policy = \"stock\"\nobserve = true", "policy = \"stock\""] {
        let daemon = daemon(&host.machine, keys, "\"emulator\"");
        let mut found = Value::Null;
        eventually("a culprit is named", || {
            let output = blame(&host.machine, &["--json"]);
            found = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let is_long = found["to_seconds"].as_f64().unwrap_or_default() > 3.0;
            is_long && found["programs"].as_array().is_some_and(|all| all.len() == 3)
        });
        let programs = found["programs"].as_array().unwrap();
        for (victim, culprit) in [("reads", "a \"scan\""), ("a \"scan\"", "reads")] {
            let of = programs.iter().find(|of| of["program"] == victim).unwrap();
            assert_eq!(of["worst"], culprit, "{found}");
        }
        let degraded = daemon.status()["degraded"].to_string();
        assert!(degraded.contains("nothing could be given out"), "{degraded}");
        assert_eq!(daemon.end(Signal::TERM), Some(0));
        assert_eq!(host.now(), host.before, "{keys}");
    }
}
