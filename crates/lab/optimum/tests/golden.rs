//! Against the optima that two independent programs found by full enumeration.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use fairways_core::Llc;
use fairways_optimum::{Goal, Problem, SharingKind, solve};
use fairways_profiles::{read_mixes, read_table};

/// The folder `shared` beside the project, or the one that `FAIRWAYS_SHARED` names.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let folder = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from);
    if folder.join("golden/optimum.csv").is_file() {
        return Some(folder);
    }
    assert!(std::env::var_os("FAIRWAYS_REQUIRE_SHARED").is_none(), "golden/optimum.csv is missing");
    let _ = writeln!(std::io::stderr(), "SKIPPED golden optima: set FAIRWAYS_SHARED");
    None
}

#[test]
fn every_golden_optimum() {
    let Some(shared) = shared() else { return };
    let read = |file: &str| std::fs::read(shared.join(file)).unwrap();
    let table = read_table(&read("data/spec-skylake/metrics.csv"), "metrics.csv").unwrap();
    let mixes =
        read_mixes(&read("golden/mixes.csv"), "mixes.csv", |name| table.find(name)).unwrap();
    let rows = read("golden/optimum.csv");
    let mut rows = csv::Reader::from_reader(&rows[..]);
    let mut compared = 0;
    for row in rows.records() {
        let row = row.unwrap();
        let mix = mixes.iter().find(|mix| mix.name == row[0]).unwrap();
        assert_eq!(&row[3], "none");
        let kind = match &row[2] {
            "partitioning" => SharingKind::Partitioning,
            "clustering" => SharingKind::Clustering,
            other => panic!("{other}"),
        };
        let objective = match &row[4] {
            "min-unfairness" => Goal::Unfairness,
            "max-stp" => Goal::Stp,
            other => panic!("{other}"),
        };
        let llc = Llc { clos: 32, ..Llc::with_ways(table.ways()) };
        let problem = Problem::new(&table, &mix.programs, llc, kind, objective);
        let found = solve(&problem, None, |_, _| ()).unwrap();
        assert!(found.is_proven);
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let off = (found.metrics.unfairness - number(5)).abs();
        let stp_off = (found.metrics.stp - number(6)).abs();
        assert!(off < 1e-6 && stp_off < 1e-6, "{row:?}: {:?} {:?}", found.metrics, found.plans);
        compared += 1;
    }
    assert_eq!(compared, 84);
}
