//! What a policy needs and a host lacks.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::common::{Machine, can, this};

/// The final status of a daemon that runs for a while in the emulator's time, and its log.
fn run(machine: &Machine, policy: &str, more: &[&str]) -> (Value, String) {
    let mut command = Command::new(this());
    command.arg("run").args(machine.places("run")).args(["--log", "stderr"]);
    command.args(["--json", "--duration", "8s", "--policy", policy]);
    command.args(["--clock", "emulator"]).args(more);
    for (program, pid) in &machine.pids {
        command.arg("--program").arg(format!("{}=pid:{pid}", program.replace(':', "-")));
    }
    let Output { stdout, stderr, .. } = command.stderr(Stdio::piped()).output().unwrap();
    (serde_json::from_slice(&stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_policy_that_lacks_something_on_this_host_says_so_with_one_that_works() {
    if !can(&[]) {
        return;
    }
    let (counted, uncounted) = (&["--counters", "emulator"], &["--counters", "none"]);
    let unavailable = ["--platform", "broadwell", "--fault", "read:*/llc_occupancy=Unavailable"];
    let l2 = ["--platform", "alder-lake-l2"];
    for (machine, policy, counters, expected) in [
        (&l2[..], "fairways", counted, Some("here (occupancy): ")),
        (&l2, "fairways", uncounted, Some("(instructions, cycles, llc_misses, occupancy): ")),
        (&unavailable, "fairways", counted, Some("here (occupancy): ")),
        (&[], "dunn", uncounted, Some("here (cycles, stalls_l2_miss): ")),
        (&l2, "lfoc-plus", counted, None),
        (&l2, "equal", uncounted, None),
        (&unavailable, "lfoc", counted, None),
        (&["--platform", "broadwell"], "fairways", counted, None),
    ] {
        let about = format!("{policy} on {machine:?} with {counters:?}");
        let machine = Machine::with("mlr:500K,mload:60M,lookbusy", machine);
        let (status, said) = run(&machine, policy, counters);
        let warned: Vec<&str> =
            said.lines().filter(|line| line.contains("needs what is missing here")).collect();
        let Some(expected) = expected else {
            assert_eq!((&status["degraded"], &*warned), (&json!([]), &[][..]), "{about}: {said}");
            continue;
        };
        let degraded = status["degraded"].to_string();
        let other = if counters == uncounted { "equal" } else { "lfoc-plus" };
        assert!(degraded.contains(&format!("policy {policy} needs ")), "{about}: {degraded}");
        assert!(degraded.contains(expected), "{about}: {degraded}");
        assert!(degraded.contains(&format!("; policy {other} works here")), "{about}: {degraded}");
        assert_eq!(warned.len(), 1, "{about}: {said}");
        assert!(warned[0].contains("WARN") && warned[0].contains(expected), "{about}: {said}");
    }
}

#[test]
fn a_configuration_without_what_its_policy_needs_is_checked_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    let l2 = folder.path().join("l2");
    fs::create_dir_all(l2.join("info/L2")).unwrap();
    let program = format!("[[program]]\nname = \"a\"\nselect = \"pid:{}\"\n", std::process::id());
    let root = format!("resctrl.root = {l2:?}\n");
    for (keys, expected) in [
        ("counters.source = \"none\"\n", Some("(instructions, cycles, llc_misses)")),
        ("policy = \"dunn\"\ncounters.source = \"none\"\n", Some("(cycles, stalls_l2_miss)")),
        ("policy = \"equal\"\ncounters.source = \"none\"\n", None),
        (&*root, Some("(occupancy): ")),
        (&format!("policy = \"lfoc\"\n{root}"), None),
    ] {
        fs::write(&file, format!("{keys}{program}")).unwrap();
        let mut check = Command::new(this());
        let Output { status, stdout, stderr } =
            check.args(["config", "check"]).arg(&file).output().unwrap();
        assert_eq!((status.code(), &stdout[..]), (Some(0), &b"ok\n"[..]), "{keys}");
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(said.lines().count(), usize::from(expected.is_some()), "{keys}: {said}");
        assert!(said.contains(expected.unwrap_or_default()), "{keys}: {said}");
    }
}
