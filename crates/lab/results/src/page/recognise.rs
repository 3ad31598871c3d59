//! Recognises the kind of a simulation's results.

use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_page::Section;
use fairways_profiles::read_table;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{chip, paper, profile, run, simulate};

/// Changes when a field of the results changes its meaning or is removed.
const SCHEMA: u64 = 1;
pub(super) const EXPECTED: &str =
    "the JSON of simulate, optimum, run, paper or profile, a journal, or profiles as CSV";

/// The section of JSON or of profiles; `None` if a file is neither.
pub(super) fn section(name: &Path, bytes: &[u8]) -> Result<Option<Section>, BadInput> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return json(name, bytes).map(Some);
    }
    if !is_table(bytes) {
        return Ok(None);
    }
    let table = read_table(bytes, &shown(name)).map_err(|why| BadInput(why.to_string()))?;
    Ok(Some(profile::table(&table)))
}

/// Whether the file begins as profiles do: with a header that has their columns, after comments.
fn is_table(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let mut lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let header = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    fn bare(column: &[u8]) -> Vec<u8> {
        column.trim_ascii().iter().copied().filter(|byte| *byte != b'"').collect()
    }
    header.split(|&byte| byte == b',').any(|column| bare(column).trim_ascii() == b"BENCH")
}

fn json(path: &Path, bytes: &[u8]) -> Result<Section, BadInput> {
    let value: Value = serde_json::from_slice(bytes).map_err(|why| {
        let (file, line, column) = (shown(path), why.line(), why.column());
        // serde_json repeats the line and the column.
        let why = why.to_string();
        let why = why.split(" at line ").next().unwrap_or_default();
        BadInput(format!(
            "{file}:{line}:{column}: expected the whole of some results as JSON: {why}"
        ))
    })?;
    fn has(fields: &[&str], value: &Value) -> bool {
        fields.iter().all(|field| value.get(field).is_some())
    }
    let found = if has(&["paper", "rows"], &value) {
        return read(path, "paper", value)
            .and_then(|results| with_path(path, paper::section(results)));
    } else if has(&["mixes"], &value) {
        "simulate"
    } else if has(&["machine", "policies"], &value) {
        "simulate --machine chip"
    } else if has(&["policy", "seconds", "programs"], &value) {
        "run"
    } else if has(&["program", "by_ways"], &value) {
        "profile"
    } else {
        let file = shown(path);
        return Err(BadInput(format!("{file}: expected {EXPECTED}, found JSON of something else")));
    };
    match value.get("schema").and_then(Value::as_u64) {
        Some(SCHEMA) => {}
        schema => {
            let schema = schema.map_or("none".to_owned(), |schema| schema.to_string());
            let file = shown(path);
            return Err(BadInput(format!(
                "{file}: expected schema {SCHEMA} of {found}, found {schema}"
            )));
        }
    }
    match found {
        "simulate" => read(path, found, value)
            .and_then(|results| with_path(path, simulate::section(&results))),
        "run" => read(path, found, value).map(|results| run::section(&results)),
        "profile" => {
            read(path, found, value).and_then(|results| with_path(path, profile::section(&results)))
        }
        _ => read(path, found, value).and_then(|results| with_path(path, chip::section(&results))),
    }
}

fn read<T: DeserializeOwned>(path: &Path, what: &str, value: Value) -> Result<T, BadInput> {
    serde_json::from_value(value).map_err(|why| {
        let file = shown(path);
        BadInput(format!("{file}: expected the JSON of {what}: {why}"))
    })
}

/// Adds the path to an error.
fn with_path(path: &Path, section: Result<Section, String>) -> Result<Section, BadInput> {
    section.map_err(|why| BadInput(format!("{}: {why}", shown(path))))
}
