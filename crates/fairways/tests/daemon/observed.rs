//! What is shown where nothing is partitioned, under policies that need to partition in order to
//! measure.

use std::process::Command;

use serde_json::Value;

use super::common::{Machine, can, printed, this};

/// The final status of a daemon that runs for a while in the emulator's time.
fn status(machine: &Machine, policy: &str, more: &[&str]) -> Value {
    let mut command = Command::new(this());
    command.arg("run").args(machine.places("run"));
    command.args(["--json", "--duration", "3s", "--policy", policy]);
    command.args(["--counters", "emulator", "--clock", "emulator"]);
    for (program, pid) in &machine.pids {
        command.arg("--program").arg(format!("{}=pid:{pid}", program.replace(':', "-")));
    }
    serde_json::from_str(&printed(command.args(more))).unwrap()
}

fn classes(status: &Value) -> Vec<&str> {
    let programs = status["programs"].as_array().unwrap();
    programs.iter().map(|of| of["class"].as_str().unwrap_or_default()).collect()
}

#[test]
fn unmeasured_programs_are_shown_as_such() {
    if !can(&[]) {
        return;
    }
    for more in ["--observe", "--dry-run"] {
        let machine = Machine::start("mlr:500K,mload:60M,lookbusy");
        let observed = status(&machine, "lfoc", &[more]);
        assert_eq!(classes(&observed), ["not measurable"; 3], "{more}");
        let programs = observed["programs"].as_array().unwrap();
        assert!(programs.iter().all(|of| of["estimates"].as_object().unwrap().is_empty()));
        let degraded = observed["degraded"].to_string();
        assert!(degraded.contains("its decisions are no forecast"), "{degraded}");
    }
    // Where ways are given out, programs are measured.
    let machine = Machine::start("mlr:500K,mload:60M,lookbusy");
    let managed = status(&machine, "lfoc", &[]);
    assert!(!classes(&managed).contains(&"not measurable"), "{managed}");
    assert_eq!(managed["degraded"], serde_json::json!([]));
}
