//! Either side is started again: what runs meanwhile is known to the daemon that comes.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::common::{Machine, can, eventually};
use crate::place::{configure_with, groups, noted, noting};
use crate::running::{Daemon, command};
use crate::runtime::{Runtime, built, machine_and_runtime};

const PROGRAMS: [(&str, &str); 2] =
    [("api", "select = \"pod:web/*\""), ("batch", "select = \"pod:jobs/*\"")];

/// Whether a process is in the monitoring group of a program.
fn is_in(machine: &Machine, program: &str, pid: i32) -> bool {
    let groups = groups(machine);
    let Some(group) = groups.get(program) else { return false };
    let tasks = fs::read_to_string(machine.root.join(group).join("tasks")).unwrap_or_default();
    tasks.lines().any(|line| line == pid.to_string())
}

/// A number at random, the same each time.
fn draw(random: &mut u64, below: u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*random >> 33) % below
}

#[test]
fn containers_start_and_stop_while_the_daemon_is_killed_and_started_again() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let mut daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    let mut random = 1_u64;
    let mut running: Vec<(String, &str, i32)> = Vec::new();
    let (mut checked, mut killed) = (0, 0);
    for number in 0..40 {
        if number % 10 == 9 {
            daemon.end(Signal::KILL);
            killed += 1;
            // Nobody answers, and containers start.
            let name = format!("dead-{number}");
            runtime.pod("web", &name, &json!({}));
            let pid = runtime.start_container(&format!("web-{name}"), &["sleep", "3600"]);
            running.push((format!("web-{name}"), "api", pid));
            daemon = Daemon::start(&machine, command(&machine));
            runtime.has_plugins(1);
            for (pod, program, pid) in &running {
                eventually(&format!("{pod} is managed after a new start"), || {
                    is_in(&machine, program, *pid)
                });
            }
        }
        if !running.is_empty() && draw(&mut random, 2) == 0 {
            let at = usize::try_from(draw(&mut random, running.len() as u64)).unwrap();
            let (pod, ..) = running.swap_remove(at);
            runtime.remove(&pod);
        }
        let (namespace, program) =
            if draw(&mut random, 2) == 0 { ("web", "api") } else { ("jobs", "batch") };
        let name = format!("pod-{number}");
        let pod = format!("{namespace}-{name}");
        runtime.pod(namespace, &name, &json!({}));
        let words = noting(&machine, &pod);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let pid = runtime.start_container(&pod, &words);
        let (own, child) = noted(&machine, &pod);
        let group = groups(&machine)[program].clone();
        let class = group.split('/').next().unwrap().to_owned();
        assert!(class.starts_with("fairways."), "{group}");
        assert_eq!((&own, &child), (&vec![class.clone(), group.clone()], &vec![class, group]));
        running.push((pod, program, pid));
        checked += 1;
    }
    assert_eq!((checked, killed), (40, 4));
    daemon.end(Signal::TERM);
    assert!(groups(&machine).is_empty());
}

/// A runtime that starts again makes its socket again; containerd with `rdt_config_file` also
/// removes every group of resctrl that is not its own.
#[test]
fn a_runtime_that_starts_again_and_removes_our_groups_finds_them_made_again() {
    if !can(&["go"]) {
        return;
    }
    let Some(program) = built("nri-runtime") else { return };
    let machine = Machine::start("lookbusy");
    let socket = machine.at("nri.sock");
    configure_with(&machine, "", &PROGRAMS);
    // The daemon is there first.
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("the log says what is missing", || {
        daemon.said().contains("not connected to the container runtime")
    });
    eventually("so does its status", || {
        daemon.status()["degraded"].to_string().contains("does not announce containers")
    });
    let mut runtime = Runtime::start(&program, &socket);
    runtime.has_plugins(1);
    runtime.pod("web", "one", &json!({}));
    let pid = runtime.start_container("web-one", &["sleep", "3600"]);
    assert!(is_in(&machine, "api", pid));
    eventually("nothing is wrong", || daemon.status()["degraded"] == json!([]));
    drop(runtime);
    for entry in fs::read_dir(&machine.root).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("fairways.") {
            fs::remove_dir(entry.path()).unwrap();
        }
    }
    let mut runtime = Runtime::start(&program, &socket);
    runtime.has_plugins(1);
    runtime.pod("jobs", "two", &json!({}));
    let pid = runtime.start_container("jobs-two", &["sleep", "3600"]);
    eventually("the groups are there again", || is_in(&machine, "batch", pid));
    std::thread::sleep(Duration::from_millis(50));
    assert!(groups(&machine)["batch"].starts_with("fairways."));
}
