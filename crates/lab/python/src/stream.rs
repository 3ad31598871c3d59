//! Streams: what leaves a program's private caches.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, StringArray, UInt32Array};
use fairways_command_kit::input::{read, shown};
use fairways_profiles::{RecordedStream, StreamBlockContent, StreamEventKind, StreamTotals};
use pyo3::prelude::*;
use pythonize::pythonize;

use crate::error::CallFailure;
use crate::table::PyTable;
use crate::watched::{Steps, watched};

/// A stream that `fairways-lab record` wrote (docs/streams.md).
#[pyclass(frozen, module = "fairways", name = "Stream")]
pub(crate) struct PyStream {
    stream: RecordedStream,
}

/// The kinds of events, in the order of their numbers.
const KINDS: [&str; 4] = ["load", "store", "write_back", "gap"];

#[pymethods]
impl PyStream {
    /// The program's name.
    #[getter]
    fn program(&self) -> &str {
        &self.stream.manifest.program
    }

    /// What the stream says about itself: the run, the private caches, totals, blocks.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.stream.manifest)?)
    }

    /// The events, a row for each: the instructions since the event before, the line, the kind.
    #[pyo3(signature = (*, progress = None))]
    fn table(&self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<PyTable> {
        let blocks = self.stream.manifest.blocks.len();
        let steps = Steps { total: blocks as u64, unit: "block" };
        watched(py, progress.as_ref(), steps, |watch| {
            let (mut totals, mut parts) = (StreamTotals::default(), Vec::new());
            for place in 0..blocks {
                watch.go_on()?;
                let block = self.stream.block(place).map_err(|why| why.to_string())?;
                totals.add(&block);
                watch.step();
                parts.push(part(&block)?);
            }
            self.stream.check_totals(&totals).map_err(|why| why.to_string())?;
            let empty = StreamBlockContent { events: Vec::new(), references: 0, l2_hits: 0 };
            PyTable::of_parts(parts).map_or_else(|| part(&empty), Ok)
        })
    }

    fn __repr__(&self) -> String {
        let events: u64 =
            self.stream.manifest.blocks.iter().map(|block| u64::from(block.events)).sum();
        format!("<fairways.Stream of {}: {events} events>", self.program())
    }
}

fn part(block: &StreamBlockContent) -> Result<PyTable, CallFailure> {
    let events = &block.events;
    let kinds: Int8Array = events.iter().map(|event| Some(number(event.kind))).collect();
    let names = Arc::new(StringArray::from_iter_values(KINDS));
    let kinds = DictionaryArray::<Int8Type>::try_new(kinds, names);
    PyTable::new(vec![
        ("instructions", whole_column(events.iter().map(|event| event.instructions).collect())),
        ("line", whole_column(events.iter().map(|event| event.line).collect())),
        ("kind", Arc::new(kinds.map_err(|why| why.to_string())?)),
    ])
}

const fn number(kind: StreamEventKind) -> i8 {
    match kind {
        StreamEventKind::Load => 0,
        StreamEventKind::Store => 1,
        StreamEventKind::WriteBack => 2,
        StreamEventKind::Gap => 3,
    }
}

/// Reads a stream; its events are unpacked when they are asked for.
#[pyfunction]
pub(crate) fn read_stream(py: Python<'_>, path: PathBuf) -> PyResult<PyStream> {
    let stream = py.detach(|| -> Result<RecordedStream, CallFailure> {
        let bytes = read(&path)?;
        Ok(RecordedStream::read(&bytes, &shown(&path)).map_err(|why| why.to_string())?)
    });
    Ok(PyStream { stream: stream? })
}

fn whole_column(values: Vec<u32>) -> ArrayRef {
    Arc::new(UInt32Array::from(values))
}
