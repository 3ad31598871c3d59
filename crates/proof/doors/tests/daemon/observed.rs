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

/// A journal says that its daemon only observed: nothing that reads it takes plans for what
/// programs had.
#[test]
fn a_journal_shows_that_its_plans_were_not_carried_out() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::with("mlr:700K,mlr:600K,lookbusy", &["--platform", "broadwell"]);
    let journal = machine.at("journal");
    let journal = journal.to_str().unwrap();
    status(&machine, "lfoc", &["--observe", "--journal", journal]);
    let blame: Value =
        serde_json::from_str(&shown(&["blame", "--json", "--journal", journal])).unwrap();
    let programs = blame["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 3, "{blame}");
    assert!(programs.iter().all(|of| of["ways"] == 0.0), "no way was withheld: {blame}");
    let explained = shown(&["explain", "--journal", journal]);
    assert!(explained.ends_with("observed only: no plan was carried out\n"), "{explained}");
    let dry = machine.at("dry");
    let dry = dry.to_str().unwrap();
    status(&machine, "lfoc", &["--dry-run", "--journal", dry]);
    let explained = shown(&["explain", "--journal", dry]);
    assert!(explained.ends_with("observed only: no plan was carried out\n"), "{explained}");
    let explained = shown(&["explain", "--json", "--journal", journal]);
    assert!(explained.contains(r#""observed":true"#), "{explained}");
    let top = shown(&["top", "--once", "--width", "120", "--journal", journal]);
    assert!(top.contains(", not in force") && top.contains(" 0 of 15 classes "), "{top}");
    let page = machine.at("page.html");
    shown(&["report", journal, "--out", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Only observed: no plan was carried out."));
    assert!(page.contains("The ways that programs would have had, over time"));
}

fn shown(args: &[&str]) -> String {
    printed(Command::new(this()).args(args))
}
