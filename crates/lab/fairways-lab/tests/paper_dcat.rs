//! `fairways-lab paper dcat` as a user runs it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const CLAIMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/experiments/claims/dcat.csv");

#[test]
fn every_claim_is_a_row_and_the_timelines_are_the_papers() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut command = Command::cargo_bin("fairways-lab").unwrap();
    command.args(["paper", "dcat", "--quick", "--json", "--out", out]);
    let report: Value =
        serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap();
    assert_eq!(report["paper"], "dcat");
    let rows = report["rows"].as_array().unwrap();
    let mut claims = 0;
    for (row, claim) in rows.iter().zip(csv::Reader::from_path(CLAIMS).unwrap().records()) {
        let claim = claim.unwrap();
        claims += 1;
        assert_eq!([&row["item"], &row["case"], &row["unit"]], [&claim[0], &claim[1], &claim[2]]);
        // Runs of Figure 17 and of Tables 3 to 6 are too long for a quick one: these rows have no
        // value. All others are measured.
        let cases = ["three PostgreSQL instances: gain of each against one instance's gain"];
        let long = ["Figure 17", "Table 3", "Table 4", "Table 5", "Table 6"].contains(&&claim[0])
            || cases.contains(&&claim[1])
            || claim[1] == *"SPEC and server experiments: baseline";
        let judged = row["kind"] == "yes" || row["kind"] == "shape";
        assert!(!judged || long == row["measured"].is_null(), "{row}");
    }
    assert_eq!(claims, 125);

    // The paper's states and thresholds are reproduced in full.
    let within = |item: &str| {
        let rows = rows.iter().filter(|row| row["item"] == item && row["kind"] != "no");
        let verdicts: Vec<&Value> = rows.map(|row| &row["in_band"]).collect();
        assert!(!verdicts.is_empty() && verdicts.iter().all(|verdict| **verdict == true), "{item}");
    };
    for item in [
        "Table 1", "§3.3", "§3.4", "§3.5", "§4", "§5.1", "Figure 1", "Figure 2", "Figure 3",
        "Figure 5",
    ] {
        within(item);
    }
    for item in
        ["Figure 8", "Figure 9", "Figure 10", "Figure 11", "Figure 12", "Figure 13", "Figure 15"]
    {
        within(item);
    }
    for figure in ["1", "7a", "7b", "8-9", "10", "10-ipc", "11", "12", "13", "14", "15", "16"] {
        let svg =
            std::fs::read_to_string(Path::new(out).join(format!("figure{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{figure}");
    }
}
