//! Looks that fail or take long are no answers.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, this};
use super::running::{Daemon, command, configure};
use super::unmatched::Named;

/// However few descriptors it has, it does not take programs that run for missing: it does not
/// start, or says what it can't see, or manages them.
#[test]
fn too_few_descriptors_are_not_taken_for_programs_that_do_not_run() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let _runs = [Named::start(&machine, "fwtest-one"), Named::start(&machine, "fwtest-two")];
    let selects =
        [("one", "select = \"process:fwtest-on*\""), ("two", "select = \"process:fwtest-two\"")];
    configure(&machine, "policy = \"equal\"", &selects);
    let (mut refused, mut blind, mut managed) = (0, 0, 0);
    for descriptors in 8..40 {
        let mut run = Command::new("sh");
        let script = format!("ulimit -n {descriptors} && exec \"$@\"");
        run.args(["-c", &script, "sh"]).arg(this()).args(["run", "--json", "--duration", "300ms"]);
        run.arg("--config").arg(machine.at("fairways.toml")).stdin(Stdio::null());
        let Output { status, stdout, stderr } = run.output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert!(!said.contains("panicked"), "{descriptors}: {said}");
        let Ok(shown) = serde_json::from_slice::<Value>(&stdout) else {
            assert_ne!(status.code(), Some(0), "{descriptors}: {said}");
            refused += 1;
            continue;
        };
        assert_eq!(shown["unmatched"].as_array().unwrap().len(), 0, "{descriptors}: {shown}");
        let programs = shown["programs"].as_array().unwrap().len();
        let is_said = !shown["degraded"].as_array().unwrap().is_empty();
        assert!(programs == 2 || is_said || status.code() != Some(0), "{descriptors}: {shown}");
        blind += u32::from(programs < 2);
        managed += u32::from(programs == 2);
    }
    println!("{refused} refused, {blind} blind, {managed} managed");
    assert!(refused > 0 && managed > 0, "both ends were reached");
}

/// While resctrl is slow, no program is shown as running and as missing, nor as missing though it
/// runs.
#[test]
fn status_does_not_contradict_itself_while_resctrl_is_slow() {
    if !can(&[]) {
        return;
    }
    for fault in ["mkdir:*=slow:400ms", "write:*=slow:200ms", "read:*/schemata=slow:200ms"] {
        let machine = Machine::with("mlr:500K,lookbusy", &["--fault", fault]);
        let _runs = [Named::start(&machine, "fwtest-one"), Named::start(&machine, "fwtest-two")];
        let programs = [
            ("one", "select = \"process:fwtest-one\""),
            ("two", "select = \"process:fwtest-two\""),
            ("none", "select = \"process:fwtest-nonesuch\""),
        ];
        configure(&machine, "policy = \"equal\"", &programs);
        let daemon = Daemon::start(&machine, command(&machine));
        let began = Instant::now();
        let mut are_there = false;
        while !are_there {
            assert!(began.elapsed() < Duration::from_secs(300), "{fault}: {}", daemon.status());
            let status = daemon.status();
            let unmatched = status["unmatched"].as_array().unwrap();
            assert!(unmatched.iter().all(|of| of["name"] == "none"), "{fault}: they run: {status}");
            let programs = status["programs"].as_array().unwrap();
            are_there = programs.len() == 2 && programs.iter().all(|of| of["ways"].is_u64());
        }
        eventually("what does not run is missing", || {
            daemon.status()["unmatched"].as_array().unwrap().len() == 1
        });
        assert_eq!(daemon.end(Signal::TERM), Some(0), "{fault}");
    }
}
