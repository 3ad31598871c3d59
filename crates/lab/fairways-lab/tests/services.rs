//! Services on a chip, as a user runs them.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;

fn fairways(args: &str) -> Assert {
    Command::cargo_bin("fairways-lab").unwrap().args(args.split_whitespace()).assert()
}

fn stdout(args: &str) -> String {
    String::from_utf8(fairways(args).success().get_output().stdout.clone()).unwrap()
}

fn json(args: &str) -> Value {
    serde_json::from_str(&stdout(args)).unwrap()
}

/// A service that takes a few microseconds for a request when it runs alone.
const BUSY: &str = "lookbusy:request=100k:cv=0.5";

const CHIP: &str = "--machine chip:xeon-d:sets=1024 --time-scale 0.1";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn every_service_is_shown_beside_the_programs() {
    let loads = format!("--loads silo-like=1500,{BUSY}=closed:3:1ms");
    let objectives = "--objectives silo-like=p95:2ms";
    let args = format!(
        "simulate {CHIP} --programs silo-like,mload:60M,{BUSY},xapian-like {loads} {objectives} \
         --policies stock,equal --warm-up 200ms --duration 1500ms --json"
    );
    let report = json(&args);
    let alone = report["programs"].as_array().unwrap();
    let policies = report["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 2);
    for policy in policies {
        let programs = policy["programs"].as_array().unwrap();
        assert!(programs[1].get("service").is_none() && alone[1].get("service").is_none());
        for service in [0, 2, 3] {
            let (alone, here) = (&alone[service]["service"], &programs[service]["service"]);
            let rate = number(&here["requests"]) / 1.5;
            assert!((rate / number(&here["per_second"]) - 1.0).abs() < 1e-9);
            let of_alone = number(&here["per_second"]) / number(&alone["per_second"]);
            assert!((of_alone - number(&here["per_second_of_alone"])).abs() < 1e-9);
            assert!(alone.get("per_second_of_alone").is_none());
            let latencies = ["median_ms", "p95_ms", "p99_ms"].map(|field| number(&here[field]));
            assert!(latencies.is_sorted() && latencies[0] > 0.0, "{here}");
            let slowdown = number(&here["mean_ms"]) / number(&alone["mean_ms"]);
            assert!((slowdown - number(&policy["slowdowns"][service])).abs() < 1e-9);
            assert_eq!(here.get("windows").is_some(), service == 0);
        }
        let silo = &programs[0]["service"];
        assert_eq!((&silo["slo_ms"], &silo["percentile"]), (&2.0.into(), &95.0.into()));
        assert_eq!((&silo["tail_ms"], &silo["windows"]), (&silo["p95_ms"], &3.into()));
        assert!(number(&silo["windows_held"]) <= 3.0);
        // An open loop is answered as requests come; a client that always asks, as often as
        // possible.
        assert!((0.98..1.02).contains(&number(&silo["per_second_of_alone"])), "{silo}");
        let saturated = &programs[3]["service"]["per_second_of_alone"];
        let slowdown = number(&policy["slowdowns"][3]);
        assert!((slowdown * number(saturated) - 1.0).abs() < 0.01, "{saturated} {slowdown}");
    }
    assert_eq!(stdout(&args), stdout(&args), "the same input gives the same bytes");
    let other = stdout(&format!("{args} --seed 2"));
    assert_ne!(stdout(&args), other);
}

#[test]
fn the_table_has_a_row_for_each_policy_and_service() {
    let args = format!(
        "simulate {CHIP} --programs {BUSY},lookbusy,xapian-like --loads {BUSY}=2000,xapian-like=0 \
         --objectives {BUSY}=1ms,xapian-like=2s --policies stock,equal --warm-up 200ms --duration 1s"
    );
    let text = stdout(&args);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for under in ["alone", "stock", "equal"] {
        let row = |service| rows.iter().find(|row| row.starts_with(&[under, service])).unwrap();
        let busy = row(BUSY);
        assert_eq!(busy[3], "1.000");
        assert_eq!(busy[9..], ["p99", "1ms", "100.0", "%", "of", "2"]);
        // Milliseconds, with three decimals.
        assert!(busy[4..9].iter().all(|ms| ms.len() == 5 && ms.starts_with("0.")), "{busy:?}");
        // It has no requests.
        assert_eq!(
            row("xapian-like")[2..],
            ["0.0", "-", "-", "-", "-", "-", "-", "p99", "2s", "-"]
        );
    }
    assert!(text.contains("\nservices    latencies in ms"));
    assert_eq!(text.matches("Services:").count(), 1);
    let without = stdout(&format!("simulate {CHIP} --programs lookbusy --policies stock"));
    assert!(!without.to_lowercase().contains("service"), "{without}");
}

#[test]
fn a_run_ends_with_its_services_and_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let journal = journal.to_str().unwrap();
    let args = format!(
        "run {CHIP} --programs silo-like,mload:60M --loads silo-like=1000@500ms+2000 --policy dunn \
         --objectives silo-like=p99.9:2ms@1s+3ms --instructions 100000000 --duration 2s"
    );
    let text = stdout(&format!("{args} --journal {journal}"));
    assert!(
        text.contains("1.000 s  0 silo-like has an objective of p99 3ms from now on"),
        "{text}"
    );
    assert!(text.contains("    0.000 s  0 silo-like starts"), "{text}");
    assert_eq!(text.matches("silo-like has finished").count(), 0);
    assert!(text.matches("mload:60M has finished").count() > 5);
    for under in ["alone", "dunn", "stock"] {
        let begins = format!(" {under} ");
        let row = text.lines().find(|line| line.starts_with(&begins) && line.contains("silo"));
        assert!(row.is_some_and(|row| row.trim_end().ends_with(" % of 4")), "{text}");
    }
    fairways(&format!("replay {journal}")).success();
    let report = json(&format!("{args} --json"));
    let silo = &report["programs"][0];
    for field in ["service", "stock_service", "alone_service"] {
        let service = &silo[field];
        assert!((1650.0..1850.0).contains(&number(&service["per_second"])), "{service}");
        // It changes.
        assert!(service["tail_ms"].is_null() && service["slo_ms"].is_null(), "{service}");
        assert_eq!(service["windows"], 4);
    }
    let slowdown = number(&silo["service"]["mean_ms"]) / number(&silo["alone_service"]["mean_ms"]);
    assert!((slowdown - number(&silo["slowdown"])).abs() < 1e-9);
    assert_eq!(silo["runs"], 0);
    assert!(report["programs"][1].get("service").is_none());
}

#[test]
fn a_name_means_every_program_of_that_name() {
    let args = format!(
        "run {CHIP} --programs {BUSY},{BUSY} --loads {BUSY}=500 --objectives {BUSY}=1ms --policy stock \
         --duration 1s --json"
    );
    let report = json(&args);
    let requests = |program: usize| number(&report["programs"][program]["service"]["requests"]);
    for program in [0, 1] {
        assert!((420.0..580.0).contains(&requests(program)), "{}", requests(program));
        assert_eq!(report["programs"][program]["service"]["slo_ms"], 1.0);
    }
    // At other times.
    assert_ne!(requests(0), requests(1));
}

#[test]
fn bad_input_is_reported_in_one_line() {
    let chip = format!("--machine chip:xeon-d --programs silo-like,mlr:8M,{BUSY}");
    let nine = ["silo-like"; 9].join(",");
    for (args, said) in [
        ("--loads silo-like".into(), "--loads: expected PROGRAM=LOAD, found \"silo-like\""),
        (
            "--loads xapian-like=100".into(),
            "--loads: expected one of the programs silo-like, mlr:8M",
        ),
        ("--loads mlr:8M=100".into(), "--loads: expected a service, such as silo-like"),
        ("--loads silo-like=1,silo-like=2".into(), "--loads: expected each program once"),
        (
            "--loads silo-like=many".into(),
            "--loads: silo-like: load \"many\": expected one of RATE",
        ),
        ("--loads silo-like=".into(), "--loads: silo-like: load \"\": expected one of RATE"),
        ("--loads silo-like=1e12".into(), "--loads: silo-like: load \"1e12\": expected 0 to 1e9"),
        ("--loads silo-like=10+20".into(), "expected a length (@10s) of every stage but the last"),
        ("--loads silo-like=10@0s+20".into(), "expected a length such as 10s, found \"0s\""),
        (
            format!("--loads {BUSY}=closed:0"),
            "cv=0.5: load \"closed:0\": expected 1 to 1000000 clients",
        ),
        ("--objectives silo-like".into(), "--objectives: expected PROGRAM=OBJECTIVE, found"),
        ("--objectives mlr:8M=2ms".into(), "--objectives: expected a service, such as silo-like"),
        ("--objectives chess=2ms".into(), "--objectives: expected one of the programs silo-like"),
        (
            "--objectives silo-like=2ms,silo-like=2ms".into(),
            "--objectives: expected each program once",
        ),
        (
            "--objectives silo-like=0ms".into(),
            "--objectives: silo-like: expected a time from 1us to 1h",
        ),
        (
            "--objectives silo-like=2h".into(),
            "--objectives: silo-like: expected a time from 1us to 1h",
        ),
        ("--objectives silo-like=p101:2ms".into(), "expected a percentile above 0 and up to 100"),
        (
            "--objectives silo-like=2ms+1ms".into(),
            "expected a length (@10s) of every stage but the last",
        ),
        (
            "--objectives silo-like=2ms@9s".into(),
            "expected no length of the last stage, which stays",
        ),
        (
            "--quantum 20ms".into(),
            "--programs: a service has a CPU to itself: expected no --quantum",
        ),
        (
            "--policies casc".into(),
            "--programs: a service has a CPU to itself: expected no --quantum",
        ),
        (
            format!("--programs {nine}"),
            "--programs: expected at most 8 programs, one for each CPU, found 9",
        ),
    ] {
        let chip = if args.starts_with("--programs") { "--machine chip:xeon-d" } else { &chip };
        refused(&format!("simulate {chip} {args}"), said);
        refused(&format!("run {chip} {}", args.replace("--policies", "--policy")), said);
    }
    for flag in ["--loads silo-like=5", "--objectives silo-like=5ms"] {
        let said = format!("{} needs --machine chip:", &flag[..flag.find(' ').unwrap()]);
        refused(&format!("simulate {flag}"), &said);
        refused(&format!("run --machine model {flag}"), &said);
    }
    let said = "it needs --machine chip:PRESET: it divides ways between services";
    refused("simulate --policies stock,locpart", said);
    refused("run --machine model --policy locpart", said);
}

/// A service without an answer is neither as fast as alone nor infinitely slower: its slowdown is
/// unknown.
#[test]
fn of_a_service_that_answered_nothing_the_slowdown_is_not_known() {
    let args =
        format!("run {CHIP} --programs {BUSY} --loads {BUSY}=0 --policy stock --duration 500ms");
    let found = json(&format!("{args} --json"));
    let program = &found["programs"][0];
    assert_eq!(program["service"]["requests"], 0);
    assert!(program["slowdown"].is_null() && program["stock_slowdown"].is_null(), "{program}");
    assert!(found["unfairness"].is_null() && found["antt"].is_null(), "{found}");
    let table = stdout(&format!("{args} -q"));
    let line = table.lines().find(|line| line.starts_with("unfairness")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["unfairness", "-"]);
}

fn refused(args: &str, said: &str) {
    let assert = fairways(args).code(2).stdout("");
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains(said) && stderr.lines().count() == 1, "{args}: {stderr}");
}

#[test]
fn an_objective_that_a_policy_ignores_is_no_mistake() {
    let args = format!(
        "run {CHIP} --programs {BUSY} --objectives {BUSY}=2ms --policy stock --duration 500ms -q"
    );
    fairways(&args).success().stderr("");
}
