use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use fairways_testing::pages::{overwrites, with_table};

use super::*;

const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/status.schema.json");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/daemon.md");

/// The fields as rows of docs/daemon.md: the key, what it is, its column, its metrics.
fn rows<T>(fields: &[Field<T>]) -> String {
    let mut rows = "| field | meaning | column | metrics |\n|---|---|---|---|\n".to_owned();
    for Field { key, help, column, metrics } in fields {
        let column = column.as_ref().map_or("", |column| column.name);
        let metrics: Vec<String> =
            metrics.iter().map(|metric| format!("`{}`", metric.sample_name())).collect();
        let _ = writeln!(rows, "| `{key}` | {help} | {column} | {} |", metrics.join(", "));
    }
    rows
}

/// `cargo xtask pages` writes them again.
#[test]
fn the_page_has_every_field() {
    let page = fs::read_to_string(PAGE).unwrap();
    let now = with_table(&page, "### Caches in JSON", &rows(DOMAIN_FIELDS));
    let now = with_table(&now, "### Programs in JSON", &rows(PROGRAM_FIELDS));
    if overwrites() {
        fs::write(PAGE, &now).unwrap();
    } else {
        assert!(page == now, "docs/daemon.md has other fields: `cargo xtask pages` writes them");
    }
}

/// `cargo xtask pages` writes it again.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    let schema = schemars::schema_for!(Status);
    let now = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if overwrites() {
        fs::write(SCHEMA_FILE, &now).unwrap();
    }
    let committed = fs::read_to_string(SCHEMA_FILE).unwrap_or_default();
    assert!(
        committed == now,
        "docs/status.schema.json does not match the types: `cargo xtask pages` writes it"
    );
}

/// What `status --json` prints fits the schema, with values and without.
#[test]
fn a_status_fits_the_schema() {
    let schema = serde_json::from_str(&fs::read_to_string(SCHEMA_FILE).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let program = ProgramStatus {
        ipc: Some(1.5),
        mask: Some("7ff".to_owned()),
        objective: Some(ObjectiveStatus { percentile: 99.0, ..ObjectiveStatus::default() }),
        ..ProgramStatus::default()
    };
    let status = Status {
        domains: vec![DomainStatus { ways: 11, ..DomainStatus::default() }],
        programs: vec![ProgramStatus::default(), program],
        ..Status::default()
    };
    let mut value = serde_json::to_value(&status).unwrap();
    assert!(schema.is_valid(&value), "{:?}", schema.iter_errors(&value).next());
    value["programs"][1]["ipc"] = "fast".into();
    assert!(!schema.is_valid(&value));
}

#[test]
fn no_two_columns_or_metrics_have_one_name() {
    let columns: Vec<&str> =
        PROGRAM_FIELDS.iter().filter_map(|field| Some(field.column.as_ref()?.name)).collect();
    assert_eq!(BTreeSet::from_iter(&columns).len(), columns.len(), "{columns:?}");
    let of_programs = PROGRAM_FIELDS.iter().flat_map(|field| field.metrics);
    let metrics = of_programs.chain(DOMAIN_FIELDS.iter().flat_map(|field| field.metrics));
    let names: Vec<String> = metrics.map(Metric::sample_name).collect();
    assert_eq!(BTreeSet::from_iter(&names).len(), names.len(), "{names:?}");
}
