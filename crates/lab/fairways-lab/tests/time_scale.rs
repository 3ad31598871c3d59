//! A time scale for which a policy's windows are shorter than filling the ways takes is warned of,
//! whichever command takes it.

#![allow(clippy::unwrap_used)]

use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn fairways(args: &str) -> Output {
    Command::cargo_bin("fairways-lab").unwrap().args(args.split_whitespace()).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A chip of an eighth of the sets of a Xeon D: its ways are filled in 2.1 ms, so that dCat's
/// rounds of a second bear a scale of 0.0025, and not one of 0.002.
const MACHINE: &str = "--machine chip:xeon-d:sets=2048 --programs mlr:100K,mload:4M";

/// Each command that takes the flag, with what makes it short; `POLICY` is where a policy is named.
const COMMANDS: [(&str, &str); 6] = [
    ("simulate", "--policies POLICY --warm-up 20ms --duration 20ms"),
    ("run", "--policy POLICY --duration 20ms"),
    ("trial", "--policy POLICY --learn 20ms --block 20ms --duration 120ms"),
    ("blame", "--policy POLICY --duration 2s"),
    ("top", "--once --policy POLICY --duration 20ms"),
    // It is not mounted: the folder does not exist. Any policy may come.
    ("emulate", "/nonexistent/resctrl"),
];

#[test]
fn every_command_that_takes_a_time_scale_warns_of_one_that_is_too_small() {
    for (command, more) in COMMANDS {
        let more = more.replace("POLICY", "dcat");
        for (scale, is_short) in [("0.0025", false), ("0.002", true)] {
            let output = fairways(&format!("{command} {MACHINE} --time-scale {scale} {more}"));
            let warnings = stderr(&output);
            let is_warned = warnings.lines().any(|line| {
                line.starts_with("fairways-lab: warning: time scale")
                    && line.contains("dcat (least 0.0025)")
                    && line.ends_with("so results differ from unscaled ones")
            });
            assert_eq!(is_warned, is_short, "{command} {scale}: {warnings}");
        }
    }
}

#[test]
fn no_command_with_the_flag_is_left_out() {
    let help = String::from_utf8(fairways("--help").stdout).unwrap();
    let (_, listed) = help.split_once("\nCommands:\n").unwrap();
    let listed = listed.split("\n\n").next().unwrap().lines();
    let mut with_the_flag: Vec<&str> = listed
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| {
            let help = String::from_utf8(fairways(&format!("{command} --help")).stdout).unwrap();
            help.contains("--time-scale")
        })
        .collect();
    let mut tried = COMMANDS.map(|(command, _)| command);
    tried.sort_unstable();
    with_the_flag.sort_unstable();
    assert_eq!(with_the_flag, tried);
}

/// Policies that measure nothing bear any scale, and so does every policy without the flag.
#[test]
fn what_is_not_too_small_is_not_warned_of() {
    for line in [
        "--policies stock,equal,static --time-scale 0.001",
        "--policies dcat,fairways,lfoc --time-scale 0.1",
        "--policies dcat",
    ] {
        let output = fairways(&format!(
            "simulate {MACHINE} {line} --warm-up 20ms --duration 20ms --baselines mlr:100K=2"
        ));
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {}", stderr(&output));
    }
}

#[test]
fn longer_windows_and_profiles_count() {
    for (line, is_short) in [
        ("run --policy dcat --time-scale 0.002 --duration 20ms", true),
        ("run --policy dcat --time-scale 0.002 --duration 20ms --set period=2s", false),
        ("simulate --policies dcat --time-scale 0.002 --set period=2s", false),
        // A profile of 200 ms is one of 0.8 ms there, and one of a second is long enough.
        ("simulate --policies ucp --time-scale 0.004", true),
        ("simulate --policies ucp --time-scale 0.004 --profile-time 1s", false),
        ("simulate --policies dcat --time-scale 0.004", false),
        ("simulate --policies dcat --time-scale 0.004 --known-profiles", true),
        ("run --policy dcat --time-scale 0.004 --known-profiles --duration 20ms", true),
    ] {
        let short =
            if line.starts_with("simulate") { "--warm-up 20ms --duration 20ms" } else { "" };
        let output = fairways(&format!("{line} {MACHINE} {short}"));
        let warnings = stderr(&output);
        assert!(output.status.success(), "{line}: {warnings}");
        assert_eq!(warnings.contains("is too small for"), is_short, "{line}: {warnings}");
    }
}

#[test]
fn json_has_the_least_scale_of_each_policy_that_has_one() {
    fn json(line: &str) -> Value {
        serde_json::from_slice(&fairways(&format!("{line} {MACHINE} --json")).stdout).unwrap()
    }
    let compared =
        json("simulate --policies stock,dcat --time-scale 0.002 --warm-up 20ms --duration 20ms");
    assert_eq!(compared["policies"][0].get("least_time_scale"), None);
    assert_eq!(compared["policies"][1]["least_time_scale"], 0.0025);
    let run = json("run --policy dcat --time-scale 0.1 --duration 20ms");
    assert_eq!(run["least_time_scale"], 0.0025);
    let run = json("run --policy stock --time-scale 0.1 --duration 20ms");
    assert_eq!(run.get("least_time_scale"), None);
}
