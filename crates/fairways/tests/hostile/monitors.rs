//! Monitoring groups of others are left alone, and what they keep from being managed is told.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, Sleeper, can, printed};
use super::running::{Daemon, command, configure};

/// Waits until this is said of why a program is not managed.
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
fn who_is_in_a_monitoring_group_of_others_is_shown_as_not_managed() {
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
    // Its agent lets it go, and it is managed from then on.
    machine.write("tasks", &theirs.id().to_string());
    await_reason(&daemon, "web", &Value::Null);
    assert!(!printed(&mut daemon.ask(&[])).contains("is not managed"));
    assert_eq!(daemon.said().matches("stay there, not managed").count(), 1, "{}", daemon.said());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    machine.write("mon_groups/cadvisor-web/tasks", &theirs.id().to_string());
    assert_eq!(machine.snapshot(&tasks), before);
}
