//! `fairways-lab optimum` as a user runs it.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use assert_cmd::Command;
use serde_json::Value;

fn optimum(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().arg("optimum").args(args).assert()
}

fn json(args: &[&str]) -> Value {
    let assert = optimum(&[args, &["--json"]].concat()).success();
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

/// The report with the times taken out.
fn timeless(args: &[&str]) -> Value {
    let mut report = json(args);
    for mix in report["mixes"].as_array_mut().unwrap() {
        mix["policies"][0]["seconds"] = 0.into();
    }
    report
}

#[test]
fn nothing_that_a_policy_decides_is_fairer() {
    let found = json(&[]);
    let simulate =
        Command::cargo_bin("fairways-lab").unwrap().args(["simulate", "--json"]).assert();
    let decided: Value = serde_json::from_slice(&simulate.get_output().stdout).unwrap();
    let mixes = |report: &Value| report["mixes"].as_array().unwrap().clone();
    assert_eq!(mixes(&found).len(), 12);
    for (best, decided) in mixes(&found).iter().zip(mixes(&decided)) {
        assert_eq!((&best["mix"], &best["apps"]), (&decided["mix"], &decided["apps"]));
        let best = &best["policies"][0];
        assert_eq!((&best["policy"], &best["proven"]), (&"optimum".into(), &true.into()));
        assert_eq!(best["bound"], best["unfairness"]);
        for policy in decided["policies"].as_array().unwrap() {
            let unfairness = |of: &Value| of["unfairness"].as_f64().unwrap();
            assert!(unfairness(best) <= unfairness(policy) + 1e-12, "{best} {policy}");
        }
    }
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let [one, four] = ["1", "4"].map(|n| timeless(&["--threads", n, "--ways", "11"]));
    assert_eq!(one, four);
}

/// The fairest plan slows three programs down, and speeds none up.
#[test]
fn what_is_hardly_less_fair_and_faster_is_better_where_that_is_tolerated() {
    let mix = "--profiles synthetic --ways 16 --mix protein-align,key-value-store,\
               video-transcode,speech-decode,lp-simplex,place-anneal";
    let mix: Vec<&str> = mix.split_whitespace().collect();
    let [fairest, tolerant] = ["0", "1"].map(|percent| {
        json(&[&mix[..], &["--tolerance", percent]].concat())["mixes"][0]["policies"][0].clone()
    });
    let [least, fairest_stp] = ["unfairness", "stp"].map(|of| fairest[of].as_f64().unwrap());
    let [unfairness, stp, bound] =
        ["unfairness", "stp", "bound"].map(|of| tolerant[of].as_f64().unwrap());
    assert!(unfairness <= 1.01 * least && tolerant["proven"] == true);
    assert!(stp > 1.04 * fairest_stp, "{fairest} {tolerant}");
    assert!((bound - least).abs() < 1e-9);
    for more in [&["--objective", "stp"][..], &["--bandwidth-mbps", "9000"]] {
        let words = [&["optimum"][..], &mix, &["--tolerance", "1"], more].concat();
        let output = Command::cargo_bin("fairways-lab").unwrap().args(&words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("fairways-lab: --tolerance: expected "), "{said}");
    }
}

#[test]
fn each_objective_is_at_its_best_under_its_own_name() {
    let mix = [
        "--profiles",
        "synthetic",
        "--mix",
        "triad,hash-join,btree-lookup,graph-walk,chess",
        "--ways",
        "11",
    ];
    let best = |objective: &str| {
        json(&[&mix[..], &["--objective", objective]].concat())["mixes"][0]["policies"][0].clone()
    };
    let all = ["unfairness", "stp", "max-slowdown", "antt"].map(best);
    let most = |report: &Value| {
        let slowdowns = report["slowdowns"].as_array().unwrap();
        slowdowns.iter().map(|slowdown| slowdown.as_f64().unwrap()).fold(0.0, f64::max)
    };
    let number = |report: &Value, field: &str| report[field].as_f64().unwrap();
    for other in &all {
        assert!(number(&all[0], "unfairness") <= number(other, "unfairness") + 1e-12);
        assert!(number(&all[1], "stp") >= number(other, "stp") - 1e-12);
        assert!(most(&all[2]) <= most(other) + 1e-12);
        assert!(number(&all[3], "antt") <= number(other, "antt") + 1e-12);
    }
    let apart = json(&[&mix[..], &["--kind", "partitioning"]].concat());
    let apart = &apart["mixes"][0]["policies"][0];
    assert_eq!(apart["partition"].as_array().unwrap().len(), 5);
    assert!(number(apart, "unfairness") >= number(&all[0], "unfairness") - 1e-12);
}

#[test]
fn a_search_cut_short_says_what_it_knows() {
    let report = json(&[
        "--profiles",
        "synthetic",
        "--mixes",
        "tests/data/fourteen.mixes",
        "--time-limit",
        "0",
    ]);
    let found = &report["mixes"][0]["policies"][0];
    let number = |field: &str| found[field].as_f64().unwrap();
    assert_eq!(found["proven"], false);
    assert!(number("bound") >= 1.0 && number("bound") <= number("unfairness"));
}

/// Each row of the table says it, too.
#[test]
fn csv_says_whether_a_plan_is_proven() {
    for (limit, proven) in [(&["--time-limit", "0"][..], "false"), (&[], "true")] {
        let mix = ["--mix", "lbm,svm-train,cadical,gzip"];
        let words = [&mix[..], limit].concat();
        let report = json(&words);
        let found = &report["mixes"][0]["policies"][0];
        assert_eq!(found["proven"].to_string(), proven);
        let assert = optimum(&[&words[..], &["--csv"]].concat()).success();
        let mut rows = csv::Reader::from_reader(&assert.get_output().stdout[..]);
        let rows: Vec<BTreeMap<String, String>> = rows.deserialize().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4);
        for row in rows {
            assert_eq!(row["proven"], proven);
            let bound: f64 = row["bound"].parse().unwrap();
            // The bound when time is up depends on the time.
            if limit.is_empty() {
                assert_eq!(Some(bound), found["bound"].as_f64());
            }
            assert!((1.0..=row["unfairness"].parse().unwrap()).contains(&bound), "{row:?}");
        }
    }
}

#[test]
fn what_is_impossible_is_reported_in_one_line() {
    let three = ["--profiles", "synthetic", "--mix", "triad,hash-join,chess"];
    for (flags, said) in [
        (&["--ways", "2", "--kind", "partitioning"][..], "do not fit into 2 ways"),
        (&["--clusters-max", "2", "--kind", "partitioning"], "3 programs need a cluster each"),
        (&["--kind", "partitioning", "--min-bits", "9"], "3 clusters of at least 9 ways each"),
        (&["--time-limit", "-1"], "--time-limit: expected a number from 0"),
        (&["--threads", "0"], "--threads: expected a whole number"),
        (&["--clusters-max", "0"], "--clusters-max: expected a whole number"),
        (&["--mix", "nonesuch"], "--mix: expected one of"),
        (&["--mix", "field-solver"], "expected programs without phases"),
    ] {
        let assert = optimum(&[&three[..], flags].concat()).code(2).stdout("");
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{flags:?}: {stderr}");
    }
    let many = vec!["chess"; 21].join(",");
    let assert = optimum(&["--profiles", "synthetic", "--mix", &many]).code(2);
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("expected at most 20 programs, found 21"), "{stderr}");
    assert!(stderr.contains("--time-limit S"), "{stderr}");
}

#[test]
fn more_programs_than_can_be_known_are_searched_for_a_while() {
    let names = "triad,hash-join,btree-lookup,graph-walk,chess,copy-large";
    let many = [names; 4].join(",");
    let mix = ["--profiles", "synthetic", "--mix", &many, "--ways", "11", "--time-limit", "0.5"];
    for (objective, field, sign) in
        [("unfairness", "unfairness", 1.0), ("stp", "stp", -1.0), ("antt", "antt", 1.0)]
    {
        let report = json(&[&mix[..], &["--objective", objective]].concat());
        let found = &report["mixes"][0]["policies"][0];
        let number = |field: &str| found[field].as_f64().unwrap() * sign;
        assert_eq!(found["proven"], false, "{found}");
        assert!(number("bound") < number(field), "{found}");
        let together = json(&[&mix[..], &["--clusters-max", "1"]].concat());
        let together = together["mixes"][0]["policies"][0][field].as_f64().unwrap() * sign;
        assert!(number(field) < together, "{found} {together}");
    }
}

#[test]
fn memory_with_a_limit_is_part_of_the_problem() {
    let mix = [
        "--profiles",
        "synthetic",
        "--mix",
        "triad,hash-join,btree-lookup,copy-large,chess",
        "--ways",
        "11",
    ];
    let best = |more: &[&str]| {
        let report = json(&[&mix[..], &["--objective", "stp"], more].concat());
        let found = report["mixes"][0]["policies"][0].clone();
        assert_eq!(found["proven"], true);
        found["stp"].as_f64().unwrap()
    };
    let plenty = best(&[]);
    let enough = best(&["--bandwidth-mbps", "1e9"]);
    assert!((enough / plenty - 1.0).abs() < 1e-9, "{enough} {plenty}");
    for model in ["simple", "stalls"] {
        let little = best(&["--bandwidth-mbps", "10000", "--bandwidth-model", model]);
        assert!(little < plenty - 0.01, "{model}: {little} {plenty}");
    }
    let assert = optimum(&[&mix[..], &["--bandwidth-mbps", "10"]].concat()).code(2).stdout("");
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("expected memory that can serve 5 programs"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

/// The levels of the clusters of a plan that have one.
fn levels_of(policy: &Value) -> Vec<u64> {
    let clusters = policy["partition"].as_array().unwrap().iter();
    clusters.filter_map(|cluster| cluster["bandwidth_level"].as_u64()).collect()
}

/// Levels can only help, and what they help is at its best under its own name; the plan says them.
#[test]
fn levels_are_searched_with_the_ways() {
    let mix = ["--profiles", "synthetic", "--mix", "triad,copy-large,hash-join,btree-lookup,chess"];
    for model in ["simple", "stalls"] {
        let memory = ["--bandwidth-mbps", "12000", "--bandwidth-model", model, "--ways", "8"];
        for (objective, sign) in
            [("unfairness", 1.0), ("max-slowdown", 1.0), ("stp", -1.0), ("antt", 1.0)]
        {
            let none: &[&str] = &[];
            let flags = [none, &["--bandwidth-levels", "50"], &["--bandwidth-levels", "70,50,20"]];
            let found = flags.map(|more| {
                let args = [&mix[..], &memory, &["--objective", objective], more].concat();
                json(&args)["mixes"][0]["policies"][0].clone()
            });
            assert!(found.iter().all(|found| found["proven"] == true), "{found:?}");
            let [ways_only, few, many] =
                found.each_ref().map(|found| sign * found["bound"].as_f64().unwrap());
            assert!(few <= ways_only + 1e-9 && many <= few + 1e-9, "{objective}, {model}");
            assert_eq!(levels_of(&found[0]), [0; 0]);
            if objective == "unfairness" {
                assert!(many < ways_only * 0.9 && !levels_of(&found[2]).is_empty(), "{found:?}");
            }
        }
    }
}

#[test]
fn levels_that_cannot_be_are_bad_input() {
    let nine = "gzip,bzip2,xz,lbm,svm-train,cadical,sqlite3,glpsol,zstd";
    for (args, said) in [
        (&["--bandwidth-levels", "50"][..], "--bandwidth-levels needs --bandwidth-mbps"),
        (
            &["--bandwidth-levels", "0", "--bandwidth-mbps", "9000"],
            "--bandwidth-levels: expected a whole number from 1 to 99, found \"0\"",
        ),
        (
            &["--bandwidth-levels", "50,20,50", "--bandwidth-mbps", "9000"],
            "--bandwidth-levels: expected each level once, found 50 twice",
        ),
        (
            &["--bandwidth-levels", "50", "--bandwidth-mbps", "90000", "--time-limit", "1"],
            "expected at most 8 programs, found 9 with --bandwidth-levels",
        ),
    ] {
        let assert = optimum(&[&["--mix", nine], args].concat()).code(2).stdout("");
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
}

#[test]
fn the_optimum_stands_among_policies() {
    let simulate = |args: &[&str]| {
        let all = [&["simulate", "--policies", "stock,optimum,lfoc"], args].concat();
        Command::cargo_bin("fairways-lab").unwrap().args(all).assert()
    };
    let mix = ["--profiles", "synthetic", "--mix", "triad,hash-join,btree-lookup,chess", "--json"];
    for over_time in [&[][..], &["--dynamic"], &["--bandwidth-mbps", "10000"]] {
        let assert = simulate(&[&mix[..], over_time].concat()).success();
        let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        let policies = report["mixes"][0]["policies"].as_array().unwrap();
        let unfairness: Vec<f64> =
            policies.iter().map(|policy| policy["unfairness"].as_f64().unwrap()).collect();
        assert_eq!(policies[1]["policy"], "optimum");
        assert!(unfairness[1] <= unfairness[0] && unfairness[1] <= unfairness[2], "{unfairness:?}");
    }
    let assert = simulate(&["--profiles", "synthetic", "--dynamic", "--mix", "triad,field-solver"])
        .code(2)
        .stdout("");
    let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("found \"field-solver\"") && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn the_best_plan_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("best.svg");
    let words = ["--mix", "lbm,svm-train,gzip", "--plot", path.to_str().unwrap()];
    optimum(&words).success();
    let drawn = std::fs::read_to_string(&path).unwrap();
    // The background, 11 ways of one cluster each, and a bar for each program.
    assert_eq!(drawn.matches("<rect").count(), 1 + 11 + 3, "{drawn}");
    let lines: Vec<&str> = drawn.lines().map(str::trim).collect();
    assert!(lines.contains(&"optimum"), "{drawn}");
    let said = optimum(&["--plot", "/nonesuch/best.svg"]).code(2);
    let said = String::from_utf8(said.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("fairways-lab: --plot: /nonesuch/best.svg: can't write it"), "{said}");
}
