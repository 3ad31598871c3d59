//! Places for programs that pods ask for, shared by namespace.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Machine, eventually};
use crate::place::configure_with;
use crate::running::{Daemon, command};
use crate::runtime::{Runtime, machine_and_runtime};

/// Starts this many pods of a namespace with these annotations.
fn start_pods(runtime: &mut Runtime, namespace: &str, count: usize, annotations: &Value) {
    for number in 0..count {
        let name = format!("p{number}");
        runtime.pod(namespace, &name, annotations);
        runtime.start_container(&format!("{namespace}-{name}"), &["sleep", "3600"]);
    }
}

/// How many programs of a namespace are managed.
fn managed(daemon: &Daemon<'_>, namespace: &str) -> usize {
    let begins = format!("{namespace}/");
    daemon.programs().iter().filter(|name| name.starts_with(&begins)).count()
}

fn is_degraded(daemon: &Daemon<'_>, expected: &str) -> bool {
    let status = daemon.status();
    let lines = status["degraded"].as_array().unwrap();
    lines.iter().any(|line| line.as_str().unwrap().contains(expected))
}

fn places(machine: &Machine, more: &str) {
    configure_with(machine, &format!("most_programs = 6\n{more}"), &[]);
}

#[test]
fn one_tenant_cannot_take_all_places_and_the_rest_is_reported() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    places(&machine, "");
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    start_pods(&mut runtime, "greedy", 9, &json!({"fairways.dev/manage": "true"}));
    eventually("as many as there are places", || managed(&daemon, "greedy") == 6);
    eventually("degraded", || is_degraded(&daemon, "3 of namespace greedy"));
    // A promise, then programs without one of a third namespace.
    start_pods(&mut runtime, "honest", 1, &json!({"fairways.dev/baseline-ways": "2"}));
    eventually("the promise has a place", || managed(&daemon, "honest") == 1);
    start_pods(&mut runtime, "modest", 4, &json!({"fairways.dev/manage": "true"}));
    eventually("namespaces share", || {
        managed(&daemon, "greedy") == 3 && managed(&daemon, "modest") == 2
    });
    eventually("both are reported", || {
        is_degraded(&daemon, "6 of namespace greedy, 2 of namespace")
    });
    // Who goes makes room.
    for number in 0..9 {
        runtime.remove(&format!("greedy-p{number}"));
    }
    eventually("all have places", || {
        managed(&daemon, "modest") == 4 && !is_degraded(&daemon, "not managed")
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

#[test]
fn a_namespace_keeps_to_its_limit_and_promises_beyond_the_ways_are_reported() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    places(&machine, "most_per_namespace = 2");
    // One that keeps promises.
    let file = machine.at("fairways.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, text.replace("\"equal\"", "\"static\"")).unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    start_pods(&mut runtime, "batch", 3, &json!({"fairways.dev/best-effort": "true"}));
    eventually("two of them", || managed(&daemon, "batch") == 2);
    eventually("degraded", || is_degraded(&daemon, "1 of namespace batch"));
    assert!(!is_degraded(&daemon, "not all of these promises"));
    start_pods(&mut runtime, "web", 2, &json!({"fairways.dev/baseline-ways": "32"}));
    eventually("64 ways are promised", || {
        is_degraded(&daemon, "promised 64 ways together") && managed(&daemon, "web") == 2
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// How long the daemon lets a container wait.
const GIVEN_UP: Duration = Duration::from_millis(500);

/// Each start is of a new program, and they are more and more.
#[test]
fn a_start_does_not_wait_the_longer_the_more_programs_there_are() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &[]);
    // What the emulator's resctrl takes is left out.
    let file = machine.at("fairways.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("dry_run = true\n{}", text.replace("\"20ms\"", "\"100ms\""))).unwrap();
    let mut daemon = command(&machine).stderr(std::process::Stdio::null()).spawn().unwrap();
    runtime.has_plugins(1);
    let began = Instant::now();
    for namespace in ["a", "b", "c", "d"] {
        start_pods(&mut runtime, namespace, 50, &json!({"fairways.dev/manage": "true"}));
    }
    println!("200 starts in {:?}", began.elapsed());
    rustix::process::kill_process(rustix::process::Pid::from_child(&daemon), Signal::TERM).unwrap();
    crate::common::end(&mut daemon);
    let took = runtime.took_us("StartContainer");
    assert_eq!(took.len(), 200);
    let [few, many] = [&took[..30], &took[170..]].map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        Duration::from_micros(part[15])
    });
    // A look at all of them took so long that the daemon gave up and let the containers start.
    assert!(many < GIVEN_UP, "{few:?} among 30 programs, {many:?} among 200");
}
