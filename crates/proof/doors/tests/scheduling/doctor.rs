//! What `fairways doctor` reports about how threads take turns.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::daemon::scheduler;

#[test]
fn doctor_says_by_what_threads_take_turns() {
    let mut doctor = Command::new(fairways_doors::fairways());
    let output = doctor.args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "scheduling").unwrap();
    let found = finding["found"].as_str().unwrap();
    eprintln!("scheduling: {found}");
    if scheduler() == "sched_ext" {
        assert_eq!(found, "by a scheduler in the kernel (sched_ext)");
        assert_eq!(report["schedule"]["yes"], true);
        return;
    }
    let can = found == "by a scheduler in the kernel (sched_ext)";
    let is_there = Path::new("/sys/kernel/sched_ext/state").exists();
    assert!(!can || (is_there && cfg!(feature = "sched-ext")), "{found}");
    // With or without the feature, such a kernel is what prevents it.
    assert!(is_there || found.ends_with("the kernel has no sched_ext"), "{found}");
}
