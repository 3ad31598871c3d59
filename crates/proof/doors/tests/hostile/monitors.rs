//! Monitoring groups of others are left alone, and programs that they keep from being managed are
//! reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, Sleeper, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

/// Waits until `status` gives this reason why a program is not managed.
fn await_reason(daemon: &Daemon<'_>, name: &str, reason: &Value) {
    let began = std::time::Instant::now();
    loop {
        let status = daemon.status();
        let mut programs = status["programs"].as_array().unwrap().iter();
        let of = programs.find(|of| of["name"] == name).and_then(|of| of.get("not_managed"));
        if of == Some(reason) {
            return;
        }
        assert!(began.elapsed().as_secs() < 60, "expected {reason}, found {of:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn programs_in_monitoring_groups_of_others_are_shown_as_not_managed() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let (theirs, free) = (Sleeper::start(), Sleeper::start());
    let tasks = [theirs.id(), free.id()];
    fs::create_dir(machine.root.join("mon_groups/cadvisor-web")).unwrap();
    machine.write("mon_groups/cadvisor-web/tasks", &theirs.id().to_string());
    let before = machine.snapshot(&tasks);
    let select = tasks.map(|pid| format!("select = \"pid:{pid}\""));
    configure(&machine, "policy = \"equal\"", &[("web", &select[0]), ("batch", &select[1])]);
    let daemon = Daemon::start(&machine, command(&machine));
    let why = "left to others: 1 of 1 threads in mon_groups/cadvisor-web, of cAdvisor";
    await_reason(&daemon, "web", &why.into());
    await_reason(&daemon, "batch", &Value::Null);
    let text = printed(&mut daemon.ask(&[]));
    assert!(text.contains(&format!("web in domain 0 is not managed: {why}\n")), "{text}");
    // Its agent releases it, and it is managed from then on.
    machine.write("tasks", &theirs.id().to_string());
    await_reason(&daemon, "web", &Value::Null);
    assert!(!printed(&mut daemon.ask(&[])).contains("is not managed"));
    assert_eq!(daemon.said().matches("stay there, not managed").count(), 1, "{}", daemon.said());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    machine.write("mon_groups/cadvisor-web/tasks", &theirs.id().to_string());
    assert_eq!(machine.snapshot(&tasks), before);
}

/// With `adopt_monitors`, the groups move along with their programs, and are given back: at the
/// end, and by `restore` after SIGKILL. A program that is moved into one later is noticed.
#[test]
fn monitoring_groups_of_others_come_along_on_request() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let (theirs, free) = (Sleeper::start(), Sleeper::start());
    let tasks = [theirs.id(), free.id()];
    fs::create_dir(machine.root.join("mon_groups/cadvisor-web")).unwrap();
    machine.write("mon_groups/cadvisor-web/tasks", &theirs.id().to_string());
    let before = machine.snapshot(&tasks);
    let select = tasks.map(|pid| format!("select = \"pid:{pid}\""));
    configure(&machine, "policy = \"equal\"", &[("web", &select[0]), ("batch", &select[1])]);
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let config = config.replace("[resctrl]\n", "[resctrl]\nadopt_monitors = true\n");
    fs::write(machine.at("fairways.toml"), config).unwrap();
    let adopted = |name: &str| {
        let path = |class| format!("fairways.{class}/mon_groups/fairways.{name}/tasks");
        let snapshot = machine.snapshot(&tasks);
        (0..4).find_map(|class| snapshot.get(&path(class)).cloned())
    };
    for signal in [Signal::TERM, Signal::KILL] {
        let daemon = Daemon::start(&machine, command(&machine));
        let web = Some(format!("{}\n", theirs.id()));
        eventually("it comes along", || adopted("0+cadvisor-web") == web);
        await_reason(&daemon, "web", &Value::Null);
        // Its agent monitors another program later.
        fs::create_dir(machine.root.join("mon_groups/cadvisor-batch")).unwrap();
        machine.write("tasks", &free.id().to_string());
        machine.write("mon_groups/cadvisor-batch/tasks", &free.id().to_string());
        let batch = Some(format!("{}\n", free.id()));
        eventually("so does the other", || adopted("1+cadvisor-batch") == batch);
        let code = daemon.end(signal);
        if signal == Signal::KILL {
            let restore =
                Command::new(this()).arg("restore").args(machine.places("restore")).output();
            assert_eq!(restore.unwrap().status.code(), Some(0));
        } else {
            assert_eq!(code, Some(0));
        }
        let text = fs::read_to_string(machine.root.join("mon_groups/cadvisor-batch/tasks"));
        assert_eq!(text.ok(), batch);
        fs::remove_dir(machine.root.join("mon_groups/cadvisor-batch")).unwrap();
        assert_eq!(machine.snapshot(&tasks), before);
    }
}

/// One program in another manager's class, one alone in an agent's group: both are measured, and no
/// group of others changes. What nothing counts is missing in `status` and in the metrics,
/// and never 0. After SIGKILL nothing of ours is left.
#[test]
fn programs_in_groups_of_others_are_measured_or_missing() {
    if !can(&[]) {
        return;
    }
    let programs = ["mlr:500K", "mload:60M", "lookbusy"];
    let machine = Machine::with(&programs.join(","), &["--platform", "broadwell"]);
    let tasks = programs.map(|program| machine.pids[program]);
    for group in ["COS1", "mon_groups/cadvisor-streams"] {
        fs::create_dir(machine.root.join(group)).unwrap();
    }
    machine.write("COS1/schemata", "L3:0=3\n");
    machine.write("COS1/tasks", &tasks[0].to_string());
    machine.write("mon_groups/cadvisor-streams/tasks", &tasks[1].to_string());
    let before = machine.snapshot(&tasks);
    let select = tasks.map(|pid| format!("select = \"pid:{pid}\""));
    let names = ["reads", "streams", "works"];
    let selected = [0, 1, 2].map(|at| (names[at], &*select[at]));
    configure(&machine, "policy = \"lfoc\"", &selected);
    let path = machine.at("fairways.toml");
    let text = fs::read_to_string(&path).unwrap().replace("\"none\"", "\"emulator\"");
    let socket = machine.at("metrics");
    let more = format!(
        "[clock]\nsource = \"emulator\"\n[metrics]\nlisten = \"unix:{}\"\n",
        socket.display()
    );
    fs::write(&path, text + &more).unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    let shown = |name: &str| {
        let status = daemon.status();
        let mut programs = status["programs"].as_array().unwrap().iter();
        // It may not have been found yet.
        let program = programs.find(|of| of["name"] == name).cloned().unwrap_or_default();
        ["occupancy_ways", "memory_bytes", "not_managed"].map(|key| program[key].clone())
    };
    for name in ["reads", "streams"] {
        eventually("it is measured where it is", || {
            let [occupied, moved, _] = shown(name);
            occupied.as_f64().is_some_and(|ways| ways > 0.2)
                && moved.as_u64().is_some_and(|bytes| bytes > 0)
        });
    }
    let below = |found: &BTreeMap<String, String>| {
        let mut ours = found.iter().filter(|(path, _)| path.contains("COS1/mon_groups/fairways."));
        ours.find(|(path, _)| path.ends_with("/tasks")).map(|(_, text)| text.clone())
    };
    let now = machine.snapshot(&tasks);
    assert_eq!(below(&now), Some(format!("{}\n", tasks[0])));
    let kept =
        before.iter().filter(|(path, _)| path.starts_with("COS1") || path.contains("cadvisor"));
    assert!(kept.clone().count() > 2 && kept.clone().all(|(path, text)| now[path] == *text));
    // Another program's process comes into the agent's group.
    machine.write("tasks", &tasks[2].to_string());
    machine.write("mon_groups/cadvisor-streams/tasks", &tasks[2].to_string());
    eventually("nothing is known of it any longer", || {
        let [occupied, moved, why] = shown("streams");
        let said = why.as_str().is_some_and(|why| why.contains("nothing counts 1 of its threads"));
        occupied.is_null() && moved.is_null() && said
    });
    let page = scraped(&socket);
    for name in ["fairways_llc_occupancy_bytes", "fairways_mbm_total_bytes_total"] {
        let has = |program: &str| {
            let start = format!("{name}{{program=\"{program}\"");
            page.lines().any(|line| line.starts_with(&start))
        };
        assert_eq!(["reads", "streams"].map(has), [true, false], "{name}: {page}");
    }
    assert_eq!(daemon.end(Signal::KILL), None);
    assert!(below(&machine.snapshot(&tasks)).is_some(), "it was killed");
    let restore = Command::new(this()).arg("restore").args(machine.places("restore")).output();
    assert_eq!(restore.unwrap().status.code(), Some(0));
    machine.write("tasks", &tasks[2].to_string());
    assert_eq!(machine.snapshot(&tasks), before);
}

/// The page of metrics, from a socket.
fn scraped(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}
