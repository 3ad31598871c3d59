//! A container is in its class before its first instruction, and no start fails because of us.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::common::eventually;
use crate::place::{configure_with, groups, noted, noting};
use crate::running::{Daemon, command};
use crate::runtime::machine_and_runtime;

const PROGRAMS: [(&str, &str); 2] = [
    ("api", "select = \"pod:web/api-*\""),
    ("batch", "select = \"pod:jobs/*\"\nbest_effort = true"),
];

fn words(of: &[String]) -> Vec<&str> {
    of.iter().map(String::as_str).collect()
}

#[test]
fn a_container_is_in_its_class_before_its_first_instruction_and_so_is_what_it_forks() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    for (namespace, name, group) in [
        ("web", "api-0", "api"),
        ("jobs", "sort", "batch"),
        ("web", "api-1", "api"),
        ("db", "one", ""),
    ] {
        let pod = format!("{namespace}-{name}");
        runtime.pod(namespace, name, &json!({}));
        runtime.start_container(&pod, &words(&noting(&machine, &pod)));
        let (own, child) = noted(&machine, &pod);
        let groups = groups(&machine);
        let group = groups.get(group).cloned().unwrap_or_default();
        let class = group.split('/').next().unwrap();
        // A task of a monitoring group is in its class's list, too.
        for place in [&own, &child] {
            let expected = if group.is_empty() { vec![""] } else { vec![class, &group] };
            assert_eq!(words(place), expected, "{pod}: {own:?} {child:?} of {groups:?}");
        }
        assert!(group.is_empty() || class.starts_with("fairways."), "{pod}: {group}");
    }
    assert_eq!(daemon.programs(), ["api", "batch"]);
    runtime.remove("jobs-sort");
    eventually("a program without containers is gone", || daemon.programs() == ["api"]);
    // What fails is also of plugins that were dropped.
    let failed: Vec<_> = runtime.events.iter().filter(|event| event["event"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    // The runtime notices when it asks next, and goes on.
    runtime.pod("web", "api-2", &json!({}));
    runtime.start_container("web-api-2", &["sleep", "3600"]);
    runtime.has_plugins(0);
}

#[test]
fn a_container_of_a_class_of_the_runtimes_stays_there() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let _daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    let pod = json!({"id": "p", "name": "api-0", "namespace": "web", "uid": "u"});
    runtime.done(&json!({"do": "run-pod", "pod": pod}));
    let rdt = json!({"closId": {"value": "gold"}});
    let container = json!({"id": "c-p", "podSandboxId": "p", "name": "app", "linux": {"rdt": rdt}});
    runtime.done(&json!({"do": "create", "container": container}));
    runtime.start_container("p", &words(&noting(&machine, "p")));
    assert_eq!(noted(&machine, "p"), (vec![String::new()], vec![String::new()]));
}

/// A loop that stands still delays a start by half a second, a stopped daemon by NRI's two
/// seconds; then the runtime goes on without it.
#[test]
fn a_daemon_that_does_not_answer_delays_a_start_and_refuses_none() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    // Resctrl does not answer, and so the loop stands still.
    let emulator = rustix::process::Pid::from_child(&machine.child);
    rustix::process::kill_process(emulator, Signal::STOP).unwrap();
    let began = Instant::now();
    runtime.pod("web", "api-0", &json!({}));
    runtime.start_container("web-api-0", &["sleep", "3600"]);
    let took = began.elapsed();
    rustix::process::kill_process(emulator, Signal::CONT).unwrap();
    assert!((Duration::from_millis(500)..Duration::from_millis(1500)).contains(&took), "{took:?}");
    eventually("it is managed later", || daemon.programs() == ["api"]);
    assert!(daemon.said().contains("starts before it is in its class"), "{}", daemon.said());
    runtime.has_plugins(1);
    // The whole daemon is stopped, and dropped.
    daemon.signal(Signal::STOP);
    runtime.pod("web", "api-1", &json!({}));
    runtime.start_container("web-api-1", &["sleep", "3600"]);
    runtime.has_plugins(0);
    daemon.signal(Signal::CONT);
    // It notices, and connects again.
    runtime.has_plugins(1);
}

/// How long a start waits for the daemon, by the runtime's clock. In a dry run resctrl is not
/// written: each writing of `tasks` has the emulator read all of /proc, which no kernel does.
#[test]
fn a_start_waits_for_the_daemon_itself_for_a_few_milliseconds() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let file = machine.at("fairways.toml");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("\"20ms\"", "\"100ms\"");
    fs::write(file, format!("dry_run = true\n{text}")).unwrap();
    let mut daemon = command(&machine).stderr(std::process::Stdio::null()).spawn().unwrap();
    runtime.has_plugins(1);
    for number in 0..200 {
        let name = format!("api-{number}");
        runtime.pod("web", &name, &json!({}));
        runtime.start_container(&format!("web-{name}"), &["sleep", "3600"]);
        if number >= 10 {
            runtime.remove(&format!("web-api-{}", number - 10));
        }
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&daemon), Signal::TERM).unwrap();
    crate::common::end(&mut daemon);
    let mut took = runtime.took_us("StartContainer");
    took.sort_unstable();
    println!(
        "{} starts waited: median {} us, p99 {} us",
        took.len(),
        took[took.len() / 2],
        took[took.len() * 99 / 100]
    );
    // Of a build that is not optimised, while other tests have the processors most of the time.
    assert!(took.len() == 200 && took[took.len() / 4] < 5000, "{took:?}");
}

/// What a pod's owner writes is bounded and can't end the connection.
#[test]
fn hostile_pods_start_and_are_left_alone() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    configure_with(&machine, "", &PROGRAMS);
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    let many: serde_json::Map<_, _> = (0..5000)
        .map(|number| (format!("fairways.dev/x-{number}"), json!("y".repeat(40))))
        .collect();
    for (id, name, annotations) in [
        ("many", "many", json!(many)),
        ("long", "long", json!({"fairways.dev/importance": "9".repeat(200_000)})),
        ("odd", "a/../\u{202e}b\n", json!({"fairways.dev/policy-group": "../../x"})),
        ("empty", "", json!({"": ""})),
    ] {
        let pod = json!({
            "id": id, "name": name, "namespace": "web", "uid": id, "annotations": annotations
        });
        runtime.done(&json!({"do": "run-pod", "pod": pod}));
        let container = json!({"id": format!("c-{id}"), "podSandboxId": id, "name": "app"});
        runtime.done(&json!({"do": "create", "container": container}));
        runtime.start_container(id, &["sleep", "3600"]);
    }
    runtime.has_plugins(1);
    assert_eq!(daemon.programs(), Vec::<String>::new());
    let root = fs::read_dir(&machine.root).unwrap().flatten();
    let made: Vec<_> = root.map(|entry| entry.file_name()).collect();
    assert!(!made.iter().any(|name| name.to_string_lossy().starts_with("fairways.")), "{made:?}");
}
