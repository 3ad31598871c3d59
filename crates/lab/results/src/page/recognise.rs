//! Recognises the kind of results in a file.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{LARGEST_FILE, shown};
use fairways_experiments::report::Section;
use fairways_profiles::read_table;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{chip, journal, paper, profile, run, simulate};

/// Changes when a field of the results changes its meaning or is removed.
const SCHEMA: u64 = 1;
const EXPECTED: &str =
    "the JSON of simulate, optimum, run, paper or profile, a journal, or profiles as CSV";

/// The path that means standard input.
const STANDARD: &str = "-";

/// The longest header of a journal.
const LONGEST_HEADER: u64 = 1 << 20;

/// The section of a file.
pub(super) fn section(path: &Path) -> Result<Section, BadInput> {
    if path.as_os_str() == STANDARD {
        let name = Path::new("standard input");
        return read_from(std::io::stdin().lock(), name, None);
    }
    let file = match File::open(path) {
        Err(why) if why.kind() == ErrorKind::NotFound && has_parts(path) => {
            return journal::section(path);
        }
        file => file,
    };
    let failed = |why| BadInput(format!("{}: can't read it: {why}", shown(path)));
    let file = file.map_err(failed)?;
    let is_plain = file.metadata().map_err(failed)?.is_file();
    read_from(file, path, is_plain.then_some(path))
}

/// Makes the section of what is read once; `place` is the file's path, beside which parts of a
/// journal may stand.
fn read_from(from: impl Read, name: &Path, place: Option<&Path>) -> Result<Section, BadInput> {
    let file = shown(name);
    let mut from = BufReader::new(from).take(LARGEST_FILE + 1);
    let mut bytes = Vec::new();
    let failed = |why| BadInput(format!("{file}: can't read it: {why}"));
    from.read_until(b'\n', &mut bytes).map_err(failed)?;
    if is_header(&bytes) {
        let text = "expected a journal as a file, because its parts stand beside it";
        return journal::section(place.ok_or_else(|| BadInput(format!("{file}: {text}")))?);
    }
    if let Some(path) = place.filter(|path| !bytes.ends_with(b"\n") && has_parts(path)) {
        return journal::section(path);
    }
    from.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(BadInput(format!("{file}: expected at most {LARGEST_FILE} bytes")));
    }
    let mut section = if bytes.trim_ascii_start().starts_with(b"{") {
        json(name, &bytes)?
    } else if is_table(&bytes) {
        let table = read_table(&bytes, &file).map_err(|why| BadInput(why.to_string()))?;
        profile::table(&table)
    } else {
        return Err(BadInput(format!("{file}: expected {EXPECTED}")));
    };
    section.source = file;
    Ok(section)
}

/// Whether a first line is a journal's header.
fn is_header(line: &[u8]) -> bool {
    let value: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
    value.is_some_and(|value| {
        ["part", "policy", "machine"].iter().all(|field| value.contains_key(*field))
    })
}

/// Whether finished parts of a journal stand beside the file: the newest part may have been cut
/// short in its header.
fn has_parts(path: &Path) -> bool {
    let first = fairways_record::journal::parts(path).find(|part| part.is_file());
    let file = first.and_then(|first| File::open(first).ok());
    file.is_some_and(|file| {
        let mut line = Vec::new();
        let read = BufReader::new(file).take(LONGEST_HEADER).read_until(b'\n', &mut line);
        read.is_ok() && is_header(&line)
    })
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
