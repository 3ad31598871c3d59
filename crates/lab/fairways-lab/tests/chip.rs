//! `--machine chip:PRESET` as a user runs it.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

fn fairways(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().args(args).assert()
}

const QUICK: [&str; 8] = [
    "--machine",
    "chip:xeon-d",
    "--duration",
    "200ms",
    "--time-scale",
    "0.1",
    "--profile-time",
    "40ms",
];

fn stdout(args: &[&str]) -> Vec<u8> {
    fairways(args).success().get_output().stdout.clone()
}

#[test]
fn every_policy_runs_on_the_chip() {
    let policies = "stock,equal,static,ucp,ucp-slowdown,yu-petrov,dunn,kpart,lfoc,lfoc-plus";
    let programs = "mlr:4M,mload:30M,mload:30M,lookbusy,hash-join";
    let more = [
        "--profiles",
        "synthetic",
        "--programs",
        programs,
        "--policies",
        policies,
        "--baselines",
        "mlr:4M=6",
    ];
    let args = [&["simulate", "--json", "--warm-up", "400ms"][..], &QUICK, &more].concat();
    let bytes = stdout(&args);
    let report: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((&report["schema"], &report["machine"]), (&1.into(), &"chip:xeon-d".into()));
    assert_eq!((&report["time_scale"], &report["set_sampling"]), (&0.1.into(), &1.into()));
    let alone = report["programs"].as_array().unwrap();
    assert_eq!(alone[1]["program"], "mload:30M");
    assert!(alone[1]["llcmpki"].as_f64().unwrap() > 20.0 && alone[3]["llcmpki"] == 0.0);
    let all = report["policies"].as_array().unwrap();
    let names: Vec<&str> = all.iter().map(|policy| policy["policy"].as_str().unwrap()).collect();
    assert_eq!(names, policies.split(',').collect::<Vec<_>>());
    let slowdown = |policy: usize| all[policy]["slowdowns"][0].as_f64().unwrap();
    // Streams evict what a random reader needs; ways of its own keep it.
    assert!(slowdown(0) > 1.4 && slowdown(2) < 1.15, "{} {}", slowdown(0), slowdown(2));
    for policy in all {
        assert_eq!(policy["slowdowns"].as_array().unwrap().len(), 5);
        // The figures of a policy cover the whole run: 400 ms to warm up, and 200 ms.
        assert_eq!(policy["seconds"], 0.6);
        assert!(policy["plans"].as_u64().unwrap() >= 5, "{policy}");
        // A window of the slow reader takes so long that KPart measures no other program.
        let sampled = policy["sampling_share"].as_f64().unwrap();
        match policy["policy"].as_str().unwrap() {
            "kpart" => assert!(sampled > 0.99, "{policy}"),
            "lfoc" | "lfoc-plus" => assert!((0.0..1.0).contains(&sampled), "{policy}"),
            _ => assert_eq!(sampled, 0.0, "{policy}"),
        }
        let held = policy["programs"].as_array().unwrap().iter();
        let held: f64 = held.map(|program| program["occupancy_ways"].as_f64().unwrap()).sum();
        assert!(held <= 12.0 + 1e-6, "{policy}");
    }
    assert!(bytes == stdout(&args), "the same input gives the same bytes");
}

#[test]
fn a_run_on_the_chip_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let journal = journal.to_str().unwrap();
    let more = ["--programs", "mlr:1M,mload:30M,idle@20ms+mlr:2M", "--policy", "kpart"];
    let kept = ["--set", "sampling_window=100000", "--journal", journal, "--json"];
    let report = stdout(&[&["run"][..], &QUICK, &more, &kept].concat());
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!((&report["policy"], &report["seconds"]), (&"kpart".into(), &0.2.into()));
    assert_eq!(report["programs"][2]["program"], "idle@20ms+mlr:2M");
    assert!(report["programs"][0]["stock_slowdown"].as_f64().unwrap() > 1.0);
    fairways(&["replay", journal]).success();
}

#[test]
fn bad_input_is_reported_in_one_line() {
    let chip = ["--machine", "chip:xeon-d", "--programs", "mlr:1M"];
    for (args, said) in [
        (
            &["--machine", "chip:nonesuch", "--programs", "mlr:1M"][..],
            "--machine: chip \"nonesuch\": expected one of xeon-d",
        ),
        (
            &["--machine", "chip:xeon-d:ways=40", "--programs", "mlr:1M"],
            "--machine: chip \"xeon-d:ways=40\": ways=40: expected 1 to 32 ways",
        ),
        (&["--machine", "nonesuch"], "expected model, or chip: and a preset"),
        (&["--machine", "chip:xeon-d"], "--programs: expected programs"),
        (&["--programs", "mlr:1M"], "--programs needs --machine chip:"),
        (&["--machine", "chip:xeon-d", "--programs", "mlr:1X"], "expected a size"),
        (
            &["--machine", "chip:xeon-d", "--programs", "trace:/nonesuch"],
            "/nonesuch: can't read it",
        ),
        (&["--machine", "chip:xeon-d", "--programs", "nonesuch"], "or a profile's name"),
        (&["--machine", "chip:xeon-d", "--programs", "hash-join"], "; --profiles synthetic has it"),
        (&[&chip[..], &["--ways", "4"]].concat(), "--ways needs --machine model"),
        (&[&chip[..], &["--mix", "chess"]].concat(), "--mix needs --machine model"),
        (&[&chip[..], &["--noise", "2"]].concat(), "--noise needs --machine model"),
        (&[&chip[..], &["--time-scale", "0.3"]].concat(), "one over a whole number"),
        (
            &[&chip[..], &["--set-sampling", "0"]].concat(),
            "--set-sampling: expected a whole number",
        ),
        (&[&chip[..], &["--duration", "soon"]].concat(), "--duration: expected a time"),
        (
            &[&chip[..], &["--baselines", "mlr:2M=3"]].concat(),
            "--baselines: expected one of the programs",
        ),
        (
            &[&chip[..], &["--baselines", "mlr:1M=13"]].concat(),
            "--baselines: mlr:1M: expected a whole number",
        ),
        (
            &[&chip[..], &["--baselines", "mlr:1M=3", "--policies", "lfoc"]].concat(),
            "--baselines needs --policies static, dcat or fairways",
        ),
        (
            &[&chip[..], &["--policies", "optimum"]].concat(),
            "--policies optimum: it needs profiles",
        ),
        (
            &["--machine", "chip:xeon-d", "--programs", &["lookbusy"; 64].join(",")],
            "at most 62 programs",
        ),
    ] {
        let assert = fairways(&[&["simulate"][..], args].concat()).code(2).stdout("");
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
}
