//! Journals as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow_array::ArrayRef;
use fairways_core::Counter;
use fairways_record::journal::Reader;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::CallFailure;
use crate::table::{PyTable, numbers, texts, wholes};
use crate::watched::{Steps, WatchedWork, watched};

/// A line of a journal, but its first.
struct JournalRow {
    at: u64,
    what: &'static str,
    kind: &'static str,
    program: Option<String>,
    content: Value,
}

impl JournalRow {
    /// A part of the content, if there is one.
    fn part(&self, name: &str) -> Option<&Value> {
        self.content.get(self.kind)?.get(name)
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.part(name)?.as_u64()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.part(name)?.as_str()
    }

    fn counter(&self, counter: Counter) -> Option<u64> {
        self.part("counters")?.get(counter.name())?.as_u64()
    }
}

/// The events and actions of a journal, a row for each line (docs/journal.md). `json` has the whole
/// event or action.
#[pyfunction]
#[pyo3(signature = (path, *, progress = None))]
pub(crate) fn journal(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PyTable> {
    let steps = Steps { total: 0, unit: "line" };
    watched(py, progress.as_ref(), steps, |watch| table(&read(&path, watch)?))
}

fn read(path: &std::path::Path, watch: &WatchedWork) -> Result<Vec<JournalRow>, CallFailure> {
    let mut reader = Reader::open(path)?;
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut lines = Vec::new();
    while let Some(line) = reader.line()? {
        watch.go_on()?;
        let started = line.program_name().map(str::to_owned);
        let (at, event, action) = line.into_parts();
        let (what, kind, content) = match (event, action) {
            (Some(event), _) => {
                ("event", event.kind(), serde_json::to_value(&event).map_err(unwritten)?)
            }
            (None, Some(action)) => {
                ("action", action.kind(), serde_json::to_value(&action).map_err(unwritten)?)
            }
            (None, None) => continue,
        };
        let mut line = JournalRow { at: at.nanos(), what, kind, program: None, content };
        if let Some(app) = line.whole("app") {
            if let Some(name) = started {
                names.insert(app, name);
            }
            line.program = names.get(&app).cloned();
        }
        lines.push(line);
        watch.step();
    }
    Ok(lines)
}

fn unwritten(why: serde_json::Error) -> CallFailure {
    CallFailure::Said(why.to_string())
}

fn table(lines: &[JournalRow]) -> Result<PyTable, CallFailure> {
    // Numbers that are not whole are texts of decimals.
    let ways =
        |what: &'static str| numbers(lines.iter().map(move |line| line.text(what)?.parse().ok()));
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("at_ns", wholes(lines.iter().map(|line| Some(line.at)))),
        ("what", texts(lines.iter().map(|line| Some(line.what)))),
        ("kind", texts(lines.iter().map(|line| Some(line.kind)))),
        ("app", wholes(lines.iter().map(|line| line.whole("app")))),
        ("program", texts(lines.iter().map(|line| line.program.as_deref()))),
        ("plan", wholes(lines.iter().map(|line| line.whole("plan")))),
        ("class", texts(lines.iter().map(|line| line.text("class")))),
        ("reason", texts(lines.iter().map(|line| line.text("reason")))),
        ("window_ns", wholes(lines.iter().map(|line| line.whole("window")))),
    ];
    for counter in Counter::ALL {
        let values = lines.iter().map(|line| line.counter(counter));
        columns.push((counter.name(), wholes(values)));
    }
    columns.push(("occupancy_ways", ways("occupancy")));
    columns.push(("occupancy_ways_at_least", ways("occupancy_at_least")));
    let json = lines.iter().map(|line| Some(line.content.to_string()));
    columns.push(("json", texts(json)));
    PyTable::new(columns)
}
