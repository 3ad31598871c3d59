//! Programs that take turns, and the policies that schedule them, as a user runs them.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;

fn fairways(args: &[&str]) -> Assert {
    Command::cargo_bin("fairways-lab").unwrap().args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(fairways(args).success().get_output().stdout.clone()).unwrap()
}

/// Eleven threads for eight CPUs; everything takes a hundredth of the time.
const CASC: [&str; 11] = [
    "run",
    "--machine",
    "chip:t1",
    "--time-scale",
    "0.01",
    "--duration",
    "5s",
    "--policy",
    "casc",
    "--programs",
    "art-like,art-like,art-like,berkeley-db-like,berkeley-db-like,berkeley-db-like,berkeley-db-like,\
     berkeley-db-like,berkeley-db-like,berkeley-db-like,berkeley-db-like",
];

#[test]
fn casc_measures_and_confines_and_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let journal = journal.to_str().unwrap();
    let report = stdout(&[&CASC[..], &["--journal", journal]].concat());
    let line = |said: &str| report.lines().filter(|line| line.contains(said)).count();
    assert_eq!(line("8 CPUs, a quantum of 200ms"), 1, "{report}");
    assert_eq!(line("no longer raised: "), 1, "{report}");
    // Nine by the matrix and two by themselves.
    assert!(line(" misses per 100 L2 references") >= 11, "{report}");
    assert_eq!(line("may run on CPUs 0: its PCMR is unknown"), 2, "{report}");
    fairways(&["replay", journal]).success();
    let text = std::fs::read_to_string(journal).unwrap();
    for word in
        ["ran_together", "quantum_given", "watch_together", "allow", "priority", "estimated"]
    {
        assert!(text.contains(&format!("\"{word}\"")), "{word}");
    }
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["machine"]["cpus"], 8);
    assert_eq!(header["machine"]["quantum"], 200_000_000);
    assert_eq!(header["machine"]["scheduling_class"], "fixed-priority");
    assert!(report == stdout(&CASC), "the same input gives the same bytes");
}

#[test]
fn a_scheduling_class_is_for_programs_that_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let args = "run --machine chip:t1:cores=1:threads=1 --time-scale 0.01 --duration 2s \
                --policy stock --scheduling-class time-sharing";
    let with = |programs: &str| {
        let journal = ["--journal", journal.to_str().unwrap(), "--programs", programs];
        fairways(&[&args.split_whitespace().collect::<Vec<_>>()[..], &journal].concat())
    };
    let refused = with("lookbusy").code(2);
    let error = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    let expected = "--scheduling-class: expected --quantum, or more programs than CPUs";
    assert_eq!(error, format!("fairways-lab: {expected}\n"));
    with("lookbusy,lookbusy").success();
    let text = std::fs::read_to_string(&journal).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["machine"]["scheduling_class"], "time-sharing");
}

#[test]
fn cache_fair_gives_time_and_programs_take_turns() {
    let args = "simulate --machine chip:t1-single --time-scale 0.02 --quantum 20ms --duration 2s \
                --warm-up 500ms --programs vortex-like,art-like,mcf-like,gzip-like \
                --best-effort gzip-like --policies stock,cache-fair --json";
    let args: Vec<&str> = args.split_whitespace().collect();
    let report: Value = serde_json::from_str(&stdout(&args)).unwrap();
    let policies = report["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 2);
    for policy in policies {
        for slowdown in policy["slowdowns"].as_array().unwrap() {
            // Half of a CPU, and less than that of a cache.
            assert!((1.9..4.5).contains(&slowdown.as_f64().unwrap()), "{policy}");
        }
    }
}

#[test]
fn bad_input_is_reported_in_one_line() {
    let many = ["lookbusy"; 64].join(",");
    let chip = "run --machine chip:t1 --programs lookbusy,art-like";
    for (args, said) in [
        (
            "run --machine model --policy casc".into(),
            "--policy casc: it needs --machine chip:PRESET: it schedules threads",
        ),
        (
            "simulate --policies stock,cache-fair".into(),
            "--policies cache-fair: it needs --machine chip:PRESET: it schedules",
        ),
        ("run --machine model --quantum 2ms".into(), "--quantum needs --machine chip:"),
        ("simulate --best-effort chess".into(), "--best-effort needs --machine chip:"),
        (format!("{chip} --quantum 0s"), "--quantum: expected a time such as"),
        (format!("{chip} --quantum soon"), "--quantum: expected a time such as"),
        (
            format!("{chip} --best-effort chess"),
            "--best-effort: expected one of the programs lookbusy, art-like, found \"chess\"",
        ),
        (format!("run --machine chip:t1 --programs {many}"), "at most 62 programs, found 64"),
        (format!("{chip} --policy casc --set m=few"), "parameter m of casc"),
        (
            format!("{chip} --policy cache-fair --set threshold=15"),
            "parameters of cache-fair: expected one of",
        ),
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let assert = fairways(&args).code(2);
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
}
