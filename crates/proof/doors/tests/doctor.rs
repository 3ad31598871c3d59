//! `fairways doctor` as a script sees it.

#![allow(clippy::unwrap_used)]

#[path = "clients/emulated.rs"]
#[allow(dead_code, reason = "what other tests do with it")]
mod emulated;

use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use fairways_testing::needs::Need;
use serde_json::Value;

fn skylake() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/doctor.in/skylake")
}

/// The exit code, and the object.
fn doctor(sysroot: &Path) -> (Option<i32>, Value) {
    let output = Command::new(cargo_bin("fairways"))
        .args(["doctor", "--json", "--sysroot"])
        .arg(sysroot)
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_exit_code_is_the_verdict() {
    let (code, report) = doctor(&skylake());
    assert_eq!(
        (code, &report["verdict"], &report["exit_code"]),
        (Some(0), &"manageable".into(), &0.into())
    );
    assert_eq!(report["schema"], 1);
    assert_eq!((&report["count"]["yes"], &report["count"]["why"]), (&true.into(), &Value::Null));
    let empty = tempfile::tempdir().unwrap();
    let (code, report) = doctor(empty.path());
    assert_eq!((code, &report["verdict"]), (Some(3), &"not_supported".into()));
    assert_eq!(report["partition"]["yes"], false);
    for finding in report["findings"].as_array().unwrap() {
        let keys: Vec<&String> = finding.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["found", "id", "remedy", "state", "why"]);
    }
}

#[test]
fn an_emulator_is_taken_for_what_it_is() {
    if !fairways_testing::needs::has("doctor on an emulator", &[Need::Fuse, Need::Root]) {
        return;
    }
    let emulated = emulated::Emulated::start("mlr:8M");
    std::fs::create_dir(emulated.root().join("COS1")).unwrap();
    let output = Command::new(cargo_bin("fairways"))
        .args(["doctor", "--json", "--resctrl-root"])
        .arg(emulated.root())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = |id: &str| {
        let findings = report["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["id"] == id).unwrap();
        finding["found"].as_str().unwrap().to_owned()
    };
    assert!(found("mount").contains("by an emulator"), "{}", found("mount"));
    assert!(found("ways").starts_with("20 of L3"), "{}", found("ways"));
    assert_eq!(found("others-groups"), "1 of pqos (COS1)");
    assert!(found("classes").contains("1 of others, 6 for Fairways"), "{}", found("classes"));
}

#[test]
fn lines_fit_a_terminal() {
    let output = Command::new(cargo_bin("fairways")).arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("can partition: "), "{text}");
    for line in text.lines() {
        let breaks = line.trim().contains(' ');
        assert!(line.chars().count() <= 80 || !breaks, "{line}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_bad_input() {
    for flag in ["--sysroot", "--resctrl-root"] {
        let output = Command::new(cargo_bin("fairways"))
            .args(["doctor", flag, "/nonesuch"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("fairways: {flag}: expected a directory, found /nonesuch\n"));
        assert!(output.stdout.is_empty());
    }
}

/// A copy of a host, by the program and by its script in a shell, is examined as the host is, with
/// the same exit code; what only a running host shows is not asked.
#[test]
fn a_copy_is_examined_as_the_host_is() {
    fn collect(arguments: &[&str]) -> Vec<u8> {
        let mut collect = Command::new(cargo_bin("fairways"));
        let output = collect.arg("collect").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
    let folder = tempfile::tempdir().unwrap();
    let [copy, by_script, script] =
        ["copy", "by-script", "collect.sh"].map(|name| folder.path().join(name));
    let host = skylake();
    collect(&["--sysroot", host.to_str().unwrap(), "-o", copy.to_str().unwrap()]);
    std::fs::write(&script, collect(&["--script"])).unwrap();
    let shell = Command::new("sh").arg(&script).arg(&by_script).arg(&host).output().unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    let (_, of_host) = doctor(&host);
    for from in [copy, by_script] {
        let output = Command::new(cargo_bin("fairways"))
            .args(["doctor", "--json", "--from"])
            .arg(from)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut asked = 0;
        for finding in report["findings"].as_array().unwrap() {
            if finding["state"] == "not_asked" {
                assert_eq!(finding["found"], "not asked: a copy");
                continue;
            }
            let mut known = of_host["findings"].as_array().unwrap().iter();
            let known = known.find(|known| known["id"] == finding["id"]).unwrap();
            assert_eq!(finding["state"], known["state"], "{finding}");
            asked += 1;
        }
        assert!(asked >= 20, "{asked} findings");
    }
}
