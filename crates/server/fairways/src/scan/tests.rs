//! The reports of given measurements.

use fairways_daemon::config::Config;
use fairways_programs::Selector;

use super::measure::{Measured, Row};
use super::report::Report;
use super::users::User;

fn row(
    select: &str,
    occupancy_bytes: Option<u64>,
    bytes_per_second: Option<f64>,
    cpus: f64,
) -> Row {
    let selector: Selector = select.parse().unwrap();
    let name = select.split_once(':').unwrap().1.to_owned();
    Row {
        user: User { name, selector, pids: vec![7], cpus: Some(cpus) },
        occupancy_bytes,
        is_at_least: false,
        bytes_per_second,
        misses_per_second: None,
        mpki: None,
    }
}

fn report(rows: Vec<Row>, cache_bytes: Option<u64>) -> Report {
    let (without, nothing_free) = (None, None);
    let (interrupted, ended) = (false, Ok(()));
    let measured = Measured { rows, cache_bytes, without, nothing_free, interrupted, ended };
    Report::new(&Config::default(), measured)
}

#[test]
fn the_configuration_has_the_programs_that_use_the_cache() {
    let rows = vec![
        row("unit:web.service", Some(50 << 20), Some(1e6), 0.1),
        row("process:copies", Some(0), Some(5e9), 1.0),
        row("unit:quiet.service", Some(1000), Some(1e6), 1.0),
        row("unit:unknown.service", None, None, 0.5),
        row("unit:idle.service", None, None, 0.01),
    ];
    let text = report(rows, Some(100 << 20)).configuration();
    let config: Config = toml::from_str(&text).unwrap();
    let names: Vec<&str> = config.program.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["web.service", "copies", "unknown.service"]);
    assert_eq!(text.matches("Any user can give a process this name").count(), 1, "{text}");
}

#[test]
fn a_lower_bound_of_what_a_program_holds_is_shown_as_one() {
    let row = row("unit:web.service", Some(50 << 20), None, 0.5);
    let report = report(vec![Row { is_at_least: true, ..row }], Some(100 << 20));
    fairways_command_kit::table::keep_whole();
    let (mut table, mut json) = (Vec::new(), Vec::new());
    report.print(&mut table).unwrap();
    let text = String::from_utf8(table).unwrap();
    let line = text.lines().find(|line| line.contains("unit:web.service")).unwrap();
    assert!(line.contains(" ≥50.0 ") && line.contains(" ≥50 % "), "{line}");
    report.json(&mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let program = &json["programs"][0];
    assert!(program["occupancy_bytes"].is_null(), "{json}");
    assert_eq!(program["occupancy_bytes_at_least"], 50 << 20);
}

#[test]
fn what_was_not_measured_is_a_dash_and_null() {
    let mut out = Vec::new();
    let report = report(vec![row("unit:web.service", None, None, 0.5)], None);
    fairways_command_kit::table::keep_whole();
    report.print(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let line = text.lines().find(|line| line.contains("unit:web.service")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells, ["web.service", "unit:web.service", "1", "0.50", "-", "-", "-", "-", "-"]);
    let mut out = Vec::new();
    report.json(&mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert!(json["programs"][0]["occupancy_bytes"].is_null(), "{json}");
}

#[test]
fn without_programs_the_configuration_explains_what_one_is() {
    let text = report(Vec::new(), None).configuration();
    let config: Config = toml::from_str(&text).unwrap();
    assert!(config.program.is_empty() && text.contains("# [[program]]"), "{text}");
}
