//! SIGHUP, `fairways status`, and several daemons.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use rustix::process::Signal;

use super::common::{Machine, can, eventually, printed, text, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: &str = "mlr:500K,mload:60M,lookbusy";

fn select(machine: &Machine, program: &str) -> String {
    format!("select = \"pid:{}\"", machine.pids[program])
}

/// A machine with a configuration for one program, all its tasks, and how it is before.
fn with_one_program() -> (Machine, Vec<i32>, BTreeMap<String, String>) {
    let machine = Machine::start(PROGRAMS);
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    configure(&machine, "policy = \"equal\"", &[("reads", &select(&machine, "mlr:500K"))]);
    (machine, tasks, before)
}

#[test]
fn programs_come_and_go_with_a_reload_and_a_wrong_one_changes_nothing() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(PROGRAMS);
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let [reads, streams, works] =
        ["mlr:500K", "mload:60M", "lookbusy"].map(|program| select(&machine, program));
    let equal = "policy = \"equal\"";
    configure(&machine, equal, &[("reads", &reads), ("streams", &streams)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("both are there", || daemon.programs() == ["reads", "streams"]);
    let app = |name: &str| {
        let status = daemon.status();
        let of = status["programs"].as_array().unwrap().iter().find(|of| of["name"] == name);
        of.unwrap()["app"].as_u64().unwrap()
    };
    let reads_was = app("reads");

    configure(&machine, equal, &[("reads", &reads), ("works", &works)]);
    daemon.signal(Signal::HUP);
    eventually("one went and one came", || daemon.programs() == ["reads", "works"]);
    assert_eq!(app("reads"), reads_was, "who is wanted as before goes on");
    let group = |pid: i32| {
        let snapshot = machine.snapshot(&tasks);
        let holds = |text: &String| text.lines().any(|line| line == pid.to_string());
        let of = snapshot.iter().filter(|(path, text)| path.ends_with("/tasks") && holds(text));
        of.map(|(path, _)| path.clone()).collect::<Vec<_>>()
    };
    eventually("the one that went is in the root's group", || {
        group(machine.pids["mload:60M"]) == ["/tasks"]
    });
    eventually("the one that came is not", || {
        group(machine.pids["lookbusy"]).iter().any(|path| path.starts_with("fairways."))
    });

    // A mistake is logged with its place, and the previous configuration stays in force.
    configure(&machine, "polcy = \"equal\"", &[("streams", &streams)]);
    daemon.signal(Signal::HUP);
    eventually("the mistake is reported", || {
        let said = daemon.said();
        let mut lines = said.lines();
        lines.any(|line| {
            line.contains("ERROR") && line.contains("fairways.toml:1") && line.contains("polcy")
        })
    });
    assert!(
        daemon.said().contains("the previous configuration stays in force"),
        "{}",
        daemon.said()
    );
    assert_eq!(daemon.programs(), ["reads", "works"]);

    // A policy can't be replaced while the daemon runs, which is logged.
    configure(&machine, "policy = \"stock\"", &[("reads", &reads)]);
    daemon.signal(Signal::HUP);
    eventually("the program goes all the same", || daemon.programs() == ["reads"]);
    assert_eq!(daemon.status()["policy"], "equal");
    let warns = |line: &str| line.contains("WARN") && line.contains("restart required");
    assert!(daemon.said().lines().any(warns), "{}", daemon.said());

    // Neither can a source of latencies, and the policy in force honours no such request.
    let asks = format!("{reads}\nlatency = \"file:/run/none\"\nbest_effort = true");
    configure(&machine, equal, &[("reads", &asks)]);
    daemon.signal(Signal::HUP);
    for line in
        ["restart required: `latency`", "best_effort of reads: policy equal does not honour"]
    {
        eventually(line, || daemon.said().contains(line));
    }

    // The last program may go.
    configure(&machine, equal, &[]);
    daemon.signal(Signal::HUP);
    eventually("no program is left", || daemon.programs().is_empty());

    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
}

#[test]
fn status_is_available_as_long_as_the_daemon_runs() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(PROGRAMS);
    let [reads, streams] = ["mlr:500K", "mload:60M"].map(|program| select(&machine, program));
    configure(&machine, "policy = \"equal\"", &[("reads", &reads), ("streams", &streams)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("a plan", || daemon.status()["programs"][1]["mask"].is_string());
    let status = daemon.status();
    assert_eq!((&status["schema"], &status["policy"]), (&1.into(), &"equal".into()));
    assert!(status["mode"] == "manage" && status["failed"].is_null(), "{status}");
    let ways = |at: usize| status["programs"][at]["ways"].as_u64().unwrap();
    assert_eq!(ways(0) + ways(1), status["domains"][0]["ways"].as_u64().unwrap());
    // Nothing counts here, and a missing value is no number.
    assert!(status["programs"][0]["ipc"].is_null());
    // `status` agrees with the files.
    for program in status["programs"].as_array().unwrap() {
        let pid = machine.pids[if program["name"] == "reads" { "mlr:500K" } else { "mload:60M" }];
        let snapshot = machine.snapshot(&[]);
        let holds = |of: &str| snapshot[of].lines().any(|line| line == pid.to_string());
        let group =
            snapshot.keys().filter(|path| path.ends_with("/tasks") && !path.contains("mon_"));
        let group = group.filter(|path| path.starts_with("fairways.")).find(|path| holds(path));
        let schemata = &snapshot[&group.unwrap().replace("tasks", "schemata")];
        let mask = program["mask"].as_str().unwrap().trim_start_matches("0x");
        // Of an L3, or of an L2 where that is what there is.
        assert!(schemata.contains(&format!(":0={mask}\n")), "{schemata} {program}");
    }
    let table = printed(&mut daemon.ask(&[]));
    assert!(table.starts_with("equal after ") && table.contains("\n reads "), "{table}");

    // The reasons for the ways are available, too.
    let explain = |more: &[&str]| {
        let mut explain = Command::new(this());
        explain.args(["explain", "--control"]).arg(machine.at("control")).args(more);
        printed(&mut explain)
    };
    let (about, domain) = (explain(&["reads"]), &status["domains"][0]);
    let (plan, reason) = (&domain["plan"], domain["reason"].as_str().unwrap());
    let mask = status["programs"].as_array().unwrap().iter().find(|of| of["name"] == "reads");
    let mask = mask.unwrap()["mask"].as_str().unwrap();
    assert!(about.contains(&format!(": plan {plan}, {reason}\n")), "{about}");
    assert!(
        about.lines().last().unwrap().contains(&format!("reads: {} ways {mask}", ways(0))),
        "{about}"
    );
    assert!(!about.contains("streams:"), "{about}");
    let latest: serde_json::Value = serde_json::from_str(&explain(&["--json", "-n", "1"])).unwrap();
    assert_eq!(latest["decisions"][0]["actions"][0]["planned"]["plan"], *plan);

    let mut ask = daemon.ask(&[]);
    assert_eq!(daemon.end(Signal::INT), Some(130));
    assert!(!machine.at("control").exists());
    let output = ask.stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("no daemon answers there"), "{said}");
}

#[test]
fn a_second_daemon_is_refused_unless_the_first_was_killed() {
    if !can(&[]) {
        return;
    }
    let (machine, tasks, before) = with_one_program();
    let daemon = Daemon::start(&machine, command(&machine));
    let in_place = || {
        machine
            .snapshot(&tasks)
            .get("fairways.0/tasks")
            .is_some_and(|of| of != "\n" && !of.is_empty())
    };
    eventually("it is there", || daemon.programs() == ["reads"] && in_place());
    let held = machine.snapshot(&tasks);
    // A second daemon is refused because of the control socket, and because of the state directory.
    let other = machine.at("other").to_str().unwrap().to_owned();
    for (flags, why) in [(&[][..], "another daemon"), (&["--control", &other], "another fairways")]
    {
        let mut second = command(&machine);
        let output = second.args(flags).stderr(std::process::Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(
            said.lines().any(|line| line.starts_with("fairways: ") && line.contains(why)),
            "{said}"
        );
    }
    assert_eq!(machine.snapshot(&tasks), held);
    assert_eq!(daemon.programs(), ["reads"]);
    assert!(!fs::exists(&other).unwrap(), "a daemon that did not start left its socket");

    assert_eq!(daemon.end(Signal::KILL), None);
    assert!(machine.at("control").exists() && machine.at("state/resctrl.json").exists());
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it is there again", || daemon.programs() == ["reads"]);
    assert!(daemon.said().contains("restored group fairways.0"), "{}", daemon.said());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&tasks), before);
    assert_eq!(text(&machine.at("state/resctrl.json")), None);
}

/// A configuration that has become wrong still says where everything is that has to be put back.
#[test]
fn what_a_wrong_configuration_names_is_put_back() {
    if !can(&[]) {
        return;
    }
    let (machine, tasks, before) = with_one_program();
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("a plan", || daemon.status()["programs"][0]["mask"].is_string());
    assert_eq!(daemon.end(Signal::KILL), None);
    let file = machine.at("fairways.toml");
    let right = fs::read_to_string(&file).unwrap();
    let mut restore = Command::new(this());
    restore.args(["restore", "--config"]).arg(&file);
    // Where its places can't be read, that is no success.
    fs::write(&file, format!("[[{right}")).unwrap();
    let output = restore.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() != Some(0) && said.contains("may be missed, as it can't be read: "),
        "{said}"
    );
    assert_ne!(machine.snapshot(&tasks), before);
    fs::write(&file, format!("polcy = \"equal\"\n{right}")).unwrap();
    let output = restore.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("which is wrong otherwise: ") && said.contains("polcy"), "{said}");
    assert_eq!(machine.snapshot(&tasks), before);
}
