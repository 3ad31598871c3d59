//! Results of papers as tables.

use std::path::PathBuf;

use arrow_array::ArrayRef;
use fairways_command_kit::input::{read, shown};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::error::CallFailure;
use crate::table::{PyTable, number_lists, numbers, texts, truths};

/// The rows that `fairways-lab paper PAPER --json` prints, a row for each claim (docs/paper.md).
/// Fields of `corpus` have columns of their own (`corpus_measured`). A value that is a text is in a
/// second column (`measured_text`).
#[pyfunction]
pub(crate) fn paper_results(py: Python<'_>, path: PathBuf) -> PyResult<PyTable> {
    Ok(py.detach(|| table(&path))?)
}

fn table(path: &std::path::Path) -> Result<PyTable, CallFailure> {
    let file = shown(path);
    let found: Value =
        serde_json::from_slice(&read(path)?).map_err(|why| wrong(&file, why.to_string()))?;
    let rows = found.get("rows").and_then(Value::as_array);
    let rows = rows.ok_or_else(|| wrong(&file, "no rows".to_owned()))?;
    let rows: Option<Vec<Map<String, Value>>> = rows.iter().map(flat).collect();
    let rows = rows.ok_or_else(|| wrong(&file, "a row that is no object".to_owned()))?;
    let mut names: Vec<&String> = Vec::new();
    for name in rows.iter().flat_map(Map::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let columns = names.into_iter().map(|name| {
        let values: Vec<&Value> =
            rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
        columns_of(name, &values).map_err(|()| wrong(&file, format!("{name} of several kinds")))
    });
    let columns: Vec<Vec<(String, ArrayRef)>> = columns.collect::<Result<_, CallFailure>>()?;
    PyTable::new(columns.into_iter().flatten().collect())
}

fn wrong(file: &str, why: String) -> CallFailure {
    let expected = "expected what fairways-lab paper --json prints";
    CallFailure::Said(format!("{file}: {expected}: {why}"))
}

/// A row whose fields are no objects: those of an object have its name before theirs.
fn flat(row: &Value) -> Option<Map<String, Value>> {
    let mut flat = Map::new();
    for (name, value) in row.as_object()? {
        match value {
            Value::Object(inner) => flat.extend(
                inner.iter().map(|(field, value)| (format!("{name}_{field}"), value.clone())),
            ),
            value => {
                flat.insert(name.clone(), value.clone());
            }
        }
    }
    Some(flat)
}

/// The column of these values; two, if some are numbers and some texts.
fn columns_of(name: &str, values: &[&Value]) -> Result<Vec<(String, ArrayRef)>, ()> {
    match [
        any(values, Value::is_number),
        any(values, Value::is_string),
        any(values, Value::is_boolean),
        any(values, Value::is_array),
    ] {
        [true, has_texts, false, false] => {
            let numbers = numbers(values.iter().map(|value| value.as_f64()));
            let text = has_texts.then(|| {
                (format!("{name}_text"), texts(values.iter().map(|value| value.as_str())))
            });
            Ok([(name.to_owned(), numbers)].into_iter().chain(text).collect())
        }
        [false, true, false, false] => {
            Ok(vec![(name.to_owned(), texts(values.iter().map(|value| value.as_str())))])
        }
        [false, false, true, false] => {
            Ok(vec![(name.to_owned(), truths(values.iter().map(|value| value.as_bool())))])
        }
        [false, false, false, true] => {
            let rows = values.iter().map(|value| {
                let row = value.as_array()?;
                row.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>()
            });
            let rows: Vec<Option<Vec<f64>>> = rows.collect();
            Ok(vec![(name.to_owned(), number_lists(rows.iter().map(Option::as_deref)))])
        }
        // Nothing but null says nothing.
        [false, false, false, false] => Ok(Vec::new()),
        _ => Err(()),
    }
}

fn any(values: &[&Value], is: fn(&Value) -> bool) -> bool {
    values.iter().any(|value| is(value))
}
