//! Monitoring groups of others are left alone, and programs that they keep from being managed are
//! reported.

use std::fs;
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
