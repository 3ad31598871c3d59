//! Policies that are programs of their own, on simulated machines.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use fairways_testing::needs::{Need, has};
use serde_json::Value;

const UCP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../base/exec-policy/examples/ucp.py");

fn fairways(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().args(args).assert()
}

fn printed(done: &assert_cmd::assert::Assert) -> [String; 2] {
    let output = done.get_output();
    [&output.stdout, &output.stderr].map(|text| String::from_utf8(text.clone()).unwrap())
}

fn has_python(test: &str) -> bool {
    has(test, &[Need::Program("python3")])
}

/// A number below this one (Knuth's linear congruential generator).
fn drawn(random: &mut u64, below: u64) -> usize {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    usize::try_from((*random >> 33) % below).unwrap()
}

/// Mixes of three to eight programs, one a line.
fn mixes(count: u64) -> String {
    let programs = [
        "lbm",
        "gzip",
        "perl",
        "z3",
        "cadical",
        "brotli",
        "zstd",
        "pari",
        "qhull",
        "libquantum",
        "lua",
        "xz",
        "glpsol",
        "ngspice",
        "copy",
        "scan",
    ];
    let mut random = 7_u64;
    let mut text = String::new();
    for mix in 0..count {
        let size = 3 + drawn(&mut random, 6);
        let names: Vec<&str> = (0..size).map(|_| programs[drawn(&mut random, 16)]).collect();
        text += &format!("mix{mix},{}\n", names.join(","));
    }
    text
}

/// UCP in Python makes the plan that UCP in Rust makes, on 100 mixes.
#[test]
fn a_policy_in_python_decides_as_the_one_in_rust() {
    if !has_python("a_policy_in_python_decides_as_the_one_in_rust") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mixes.csv");
    fs::write(&file, mixes(100)).unwrap();
    let (file, policies) = (file.to_str().unwrap(), format!("ucp,exec:{UCP}"));
    let done = fairways(&["simulate", "--mixes", file, "--policies", &policies, "--json"]);
    let found: Value = serde_json::from_str(&printed(&done.success())[0]).unwrap();
    let mixes = found["mixes"].as_array().unwrap();
    assert_eq!(mixes.len(), 100);
    for mix in mixes {
        let [ucp, python] = [0, 1].map(|place| &mix["policies"][place]);
        assert_eq!(python["policy"], format!("exec:{UCP}"));
        assert_eq!(ucp["partition"], python["partition"], "{}", mix["mix"]);
    }
}

/// The policy of docs/exec.md gives two programs half of the ways each.
#[test]
fn the_policy_of_the_page_does_what_it_says() {
    if !has_python("the_policy_of_the_page_does_what_it_says") {
        return;
    }
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/exec.md"));
    let page = page.unwrap();
    let code = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("halves.py");
    fs::write(&path, code).unwrap();
    let policy = format!("exec:python3 {}", path.display());
    for (mix, masks) in [("gzip,lbm", &["0x7e0", "0x1f"][..]), ("gzip,lbm,xz", &["0x7ff"])] {
        let words = ["simulate", "--mix", mix, "--policies", &policy, "--json"];
        let found: Value = serde_json::from_str(&printed(&fairways(&words).success())[0]).unwrap();
        let clusters = found["mixes"][0]["policies"][0]["partition"].as_array().unwrap();
        let found: Vec<&str> = clusters.iter().map(|of| of["mask"].as_str().unwrap()).collect();
        assert_eq!(found, masks, "{mix}");
    }
}

/// On a chip, too, and a journal of it replays.
#[test]
fn a_policy_in_python_runs_on_a_chip_and_from_a_journal() {
    if !has_python("a_policy_in_python_runs_on_a_chip_and_from_a_journal") {
        return;
    }
    let machine = ["--machine", "chip:xeon-d:cores=4:sets=1024", "--time-scale", "0.02"];
    let programs = ["--programs", "mlr:500K,mload:20M,lookbusy", "--duration", "500ms"];
    let policies = format!("ucp,exec:{UCP}");
    let simulate = ["simulate", "--policies", &policies, "--json", "--warm-up", "500ms"];
    let done = fairways(&[&simulate[..], &machine, &programs].concat());
    let found: Value = serde_json::from_str(&printed(&done.success())[0]).unwrap();
    let outcomes = found["policies"].as_array().unwrap();
    assert_eq!(outcomes.len(), 2, "{found}");
    assert_eq!(outcomes[0]["slowdowns"], outcomes[1]["slowdowns"]);
    assert_eq!(outcomes[1]["policy"], format!("exec:{UCP}"));

    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.journal");
    let (journal, policy) = (journal.to_str().unwrap(), format!("exec:{UCP}"));
    let run = ["run", "--policy", &policy, "--quiet", "--journal", journal];
    fairways(&[&run[..], &machine, &programs].concat()).success();
    // A journal may come from anywhere: the program that it names is not run by itself.
    let [_, error] = printed(&fairways(&["replay", journal]).code(2));
    assert!(error.contains("--run-program runs it"), "{error}");
    let [again, _] = printed(&fairways(&["replay", journal, "--run-program"]).success());
    assert!(again.contains("all the same"), "{again}");
    // What another policy would have made of it.
    let [other, _] = printed(&fairways(&["replay", journal, "--policy", "equal"]).success());
    assert!(other.contains("the same number of ways"), "{other}");
    let [other, _] =
        printed(&fairways(&["replay", journal, "--policy", "equal", "--json"]).success());
    let other: Value = serde_json::from_str(&other).unwrap();
    let decisions = other["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 3, "{other}");
}

fn script(folder: &Path, text: &str) -> String {
    let path = folder.join("policy.sh");
    fs::write(&path, text).unwrap();
    format!("exec:sh {}", path.display())
}

/// A policy that fails is named, and the exit code is 1; the results are printed all the same.
#[test]
fn a_failure_is_named_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    // It describes itself, and ends after two answers.
    let policy = script(
        folder.path(),
        r#"read l
           case "$l" in
             *describe*) echo '{"describe":{"summary":"all ways","knows":"nothing"}}'; exit;;
           esac
           echo '{"actions":[]}'
           read l
           echo '{"actions":[]}'"#,
    );
    let run = ["run", "--machine", "model", "--mix", "gzip,lbm", "--duration", "2s", "--quiet"];
    let [out, error] = printed(&fairways(&[&run[..], &["--policy", &policy]].concat()).code(1));
    assert!(out.contains("gzip"), "{out}");
    assert!(error.contains("policy.sh: it ended; its last plan stays in force"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    // It describes itself as the others do, and has parameters.
    let [table, _] = printed(&fairways(&["policies", &policy]).success());
    assert!(table.contains("all ways") && table.contains("answer_timeout"), "{table}");
    let set = ["--set", "answer_timout=2s"];
    let [_, error] = printed(&fairways(&[&run[..], &["--policy", &policy], &set].concat()).code(2));
    assert!(error.contains("did you mean \"answer_timeout\"?"), "{error}");
}

#[test]
fn a_name_or_a_program_that_is_wrong_is_refused_in_one_line() {
    for (policy, said) in [
        ("exec:", "expected exec:COMMAND"),
        ("exec:/nonesuch", "can't start it: No such file"),
        ("exec:true", "it ended"),
        ("exec:sh -c 'read l; echo hello'", "expected a description"),
        ("exec:'a", "expected exec:COMMAND"),
        ("exe:a", "or exec:COMMAND"),
    ] {
        for verb in [
            &["simulate", "--policies", policy][..],
            &["run", "--machine", "model", "--policy", policy],
            &["policies", policy],
        ] {
            let [out, error] = printed(&fairways(verb).code(2));
            assert!(error.contains(said) && error.lines().count() == 1, "{verb:?}: {error}");
            assert_eq!(out, "");
        }
    }
}
