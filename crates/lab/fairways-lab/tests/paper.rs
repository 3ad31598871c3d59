//! `fairways-lab paper` as a user runs it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

fn paper(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().arg("paper").args(args).assert()
}

fn report(args: &[&str]) -> Value {
    serde_json::from_slice(&paper(args).success().get_output().stdout).unwrap()
}

const CLAIMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/experiments/claims/lfoc.csv");

/// The claims for which a quick run with the embedded programs has no value, in their order: Figure
/// 7, because it runs fewer mixes for a shorter time, and claims about things that do not exist
/// here.
const WITHOUT_VALUE: [(&str, &str); 13] = [
    ("Table 1", "class counts of the 55 profiled programs (streaming/sensitive/light)"),
    ("§5", "instructions per run"),
    ("§5", "workloads in all"),
    ("§3", "profiled prefix"),
    ("§5", "private L2"),
    ("Figure 7", "LFOC over Dunn, best (P4), unfairness reduction"),
    ("Figure 7", "LFOC over Dunn, mean unfairness reduction, S and P"),
    ("Figure 7", "mixes where LFOC unfairness is below Dunn"),
    ("Figure 7", "LFOC over stock, mean unfairness reduction, S and P"),
    ("Figure 7", "LFOC mean STP over Dunn mean STP"),
    ("Figure 7", "Dunn mean unfairness over stock on P minus the same on S"),
    ("Figure 7", "KPart-DynaWay online"),
    ("§5.1 note 2", "KPart in its own paper, throughput gain"),
];

/// A number if it reads as one, `null` if it is empty.
fn number_or_text(text: &str) -> Value {
    match text.parse::<f64>() {
        _ if text.is_empty() => Value::Null,
        Ok(number) => json!(number),
        Err(_) => json!(text),
    }
}

#[test]
fn every_claim_is_a_row_and_every_figure_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/on/the/way");
    let flags = ["lfoc", "--quick", "--json", "--threads"];
    let flags_of_models = ["2", "--profiles", "synthetic", "--out", out.to_str().unwrap()];
    let found = report(&[&flags[..], &flags_of_models].concat());
    assert_eq!(found["paper"], "lfoc");
    assert!(found["seconds"].as_f64().unwrap() > 0.0);
    let rows = found["rows"].as_array().unwrap();
    let mut claims = 0;
    for (row, claim) in rows.iter().zip(csv::Reader::from_path(CLAIMS).unwrap().records()) {
        let claim = claim.unwrap();
        claims += 1;
        let fields: Vec<&String> = row.as_object().unwrap().keys().collect();
        let mut all = [
            "item",
            "case",
            "unit",
            "published",
            "measured",
            "low",
            "high",
            "kind",
            "counts_as",
            "in_band",
            "by_seed",
            "seeds_in_band",
            "corpus",
        ];
        all.sort_unstable();
        assert_eq!(fields, all);
        for (field, column) in
            [("item", 0), ("case", 1), ("unit", 2), ("published", 3), ("kind", 6)]
        {
            assert_eq!(row[field], claim[column], "{row}");
        }
        assert_eq!(row["low"], number_or_text(&claim[4]), "{row}");
        assert_eq!(row["high"], number_or_text(&claim[5]), "{row}");
        let in_band = match (&row["measured"], &row["low"], &row["high"]) {
            (Value::Null, ..) | (_, Value::Null, _) => Value::Null,
            (Value::String(measured), low, _) => json!(low == measured),
            (measured, low, high) => {
                let [x, low, high] = [measured, low, high].map(|value| value.as_f64().unwrap());
                json!(low <= x * (1.0 + 1e-9) && x <= high * (1.0 + 1e-9))
            }
        };
        assert_eq!(
            row["in_band"],
            if row["kind"] == "no" { Value::Null } else { in_band },
            "{row}"
        );
    }
    assert_eq!(claims, 82);
    let row = |case: &str| rows.iter().find(|row| row["case"] == case).unwrap();
    assert_eq!(row("clusterings of 11 programs on 20 ways")["measured"], 5_616_700_277_f64);
    let without: Vec<(&str, &str)> = rows[..claims]
        .iter()
        .filter(|row| row["measured"].is_null())
        .map(|row| (row["item"].as_str().unwrap(), row["case"].as_str().unwrap()))
        .collect();
    assert_eq!(without, WITHOUT_VALUE);
    let without_claim = &rows[claims..];
    assert!(!without_claim.is_empty());
    assert!(without_claim.iter().all(|row| row["published"] == "" && row["in_band"].is_null()));
    for figure in ["1", "2", "3", "4", "6-unfairness", "6-stp", "7-unfairness", "7-stp"] {
        let svg = std::fs::read_to_string(out.join(format!("figure{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{figure}");
    }
    assert!(out.join("table2.svg").is_file());

    // The same for any number of threads, except for what is timed, and beside the corpus, where it
    // runs unless profiles are given.
    assert!(rows.iter().all(|row| row["corpus"].is_null()));
    let mut again = report(&[&flags[..], &["1"]].concat());
    let on_corpus = take_corpus(&mut again);
    let untimed = |report: &Value| {
        let rows = report["rows"].as_array().unwrap().iter();
        rows.filter(|row| row["item"] != "Table 2").cloned().collect::<Vec<_>>()
    };
    assert_eq!(untimed(&found), untimed(&again));
    // Programs have a part in these, and real ones a verdict wherever the models have one.
    for (row, corpus) in rows.iter().zip(&on_corpus) {
        let item = row["item"].as_str().unwrap();
        let has_programs = ["Figure 2", "Figure 3", "Figure 4", "Figure 6"].contains(&item);
        assert!(!has_programs || !corpus.is_null(), "{row}");
        assert!(
            corpus.is_null() || corpus["in_band"].is_null() == row["in_band"].is_null(),
            "{row}"
        );
        assert!(!item.starts_with("Table") || corpus.is_null(), "{row}");
    }
}

/// Takes the results on the corpus out of a report.
fn take_corpus(report: &mut Value) -> Vec<Value> {
    let rows = report["rows"].as_array_mut().unwrap();
    rows.iter_mut().map(|row| row["corpus"].take()).collect()
}

/// How long a chase waits beside streams at this percent, over an idle bus.
fn latency(rows: &[Value], bus: &str, percent: u32) -> f64 {
    let item = format!("8 streams on a bus of 40 GB/s, bus={bus}");
    let case = format!("latency of a chase over idle, streams at {percent} %");
    let row = rows.iter().find(|row| row["item"] == item && row["case"] == case);
    row.unwrap()["measured"].as_f64().unwrap()
}

/// The items of `bandwidth` that are about policies.
const AIMS: [&str; 3] =
    ["policies on a full bus", "policies on a bus with room", "an objective beside streams"];

/// All of its outcomes lie in their bands, quick or not; the least step of a limit wins a chase the
/// most on a bus with measured latencies, and hardly anything on the queue.
#[test]
fn what_was_measured_of_bandwidth_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let found = report(&["bandwidth", "--quick", "--json", "--out", out]);
    let rows = found["rows"].as_array().unwrap();
    // Policies are not run in a quick run.
    for row in rows {
        let is_of_policies = AIMS.contains(&row["item"].as_str().unwrap());
        assert_eq!(row["measured"].is_null(), is_of_policies, "{row}");
    }
    let outcomes: Vec<_> = rows.iter().filter(|row| !row["in_band"].is_null()).collect();
    assert!(outcomes.len() == 6 && outcomes.iter().all(|row| row["in_band"] == true));
    let [queue, ice_lake] =
        ["queue", "ice-lake"].map(|bus| [30, 10].map(|percent| latency(rows, bus, percent)));
    assert!(queue[0] < 1.1 && queue[1] > 0.95 * queue[0], "{queue:?}");
    assert!(ice_lake[0] > 1.4 && ice_lake[1] < 1.25, "{ice_lake:?}");
    let svg = std::fs::read_to_string(folder.path().join("latency.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("ice-lake"));
}

/// The aims that the policy misses on the embedded programs, in this quick run
/// (docs/policies/fairways.md).
const MISSED_AIMS: [(&str, &str); 4] = [
    // The tolerance lets it be less fair by 1 %.
    ("static, 11 ways", "fairways, unfairness over the optimum, mean"),
    ("static, 11 ways", "fairways, unfairness over the optimum, worst mix"),
    ("static, 11 ways", "fairways, STP over that of lfoc-plus, mean"),
    ("static, 20 ways", "fairways, STP over that of lfoc-plus, mean"),
];

/// Every aim has a value and a verdict, and the means of all policies are drawn.
#[test]
fn aims_of_fairways_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let found = report(&["fairways", "--quick", "--json", "--out", out]);
    let rows = found["rows"].as_array().unwrap();
    let outcomes: Vec<_> = rows.iter().filter(|row| row["kind"] == "yes").collect();
    assert!(outcomes.iter().all(|row| !row["measured"].is_null()), "{outcomes:?}");
    let missed: Vec<(&str, &str)> = outcomes
        .iter()
        .filter(|row| row["in_band"] == false)
        .map(|row| (row["item"].as_str().unwrap(), row["case"].as_str().unwrap()))
        .collect();
    assert_eq!(missed, MISSED_AIMS);
    for name in ["unfairness-11-ways", "stp-20-ways"] {
        let svg = std::fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("optimum"), "{name}");
    }
}

/// The project's claims are those that were set before anything was measured.
#[test]
fn the_bands_are_those_set_beforehand() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let folder = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, Into::into);
    for paper in ["lfoc.csv", "dcat.csv", "casc.csv", "cache-fair.csv", "locpart.csv"] {
        let Ok(given) = std::fs::read(folder.join("claims").join(paper)) else {
            assert!(
                std::env::var_os("FAIRWAYS_REQUIRE_SHARED").is_none(),
                "no claims in {folder:?}"
            );
            return;
        };
        let ours = Path::new(CLAIMS).with_file_name(paper);
        assert!(std::fs::read(&ours).unwrap() == given, "{} differs", ours.display());
    }
}

#[test]
fn bad_input_is_reported_in_one_line_before_anything_runs() {
    for (args, said) in [
        (&["lfoc", "--profiles", "nonesuch.csv"][..], "nonesuch.csv"),
        (&["lfoc", "--threads", "0"], "--threads: expected a whole number"),
        (&["lfoc", "--out", "/dev/null/x"], "--out: /dev/null/x"),
        (&["all", "--out", "/dev/null/x"], "--out: /dev/null/x"),
        (&["lfoc", "--seed", "x"], "--seed"),
    ] {
        let assert = paper(args).code(2).stdout("");
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{args:?}: {stderr}");
    }
    paper(&["nonesuch"]).code(2).stdout("");
}
