//! The journal: every event and every action of a run, a JSON line each, so that it can be looked
//! into, and replayed. docs/journal.md describes it.

mod reader;
mod replay;
#[cfg(test)]
mod tests;
mod writer;

use fairways_core::{Action, Event, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use replay::replay;
pub(crate) use writer::Writer;

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;

/// Line 1 of every part of a journal.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Header {
    schema: u32,
    /// The version that wrote it.
    fairways: String,
    /// Which part of the journal the file is, counted from 0.
    part: u32,
    policy: String,
    parameters: Value,
    machine: Value,
}

/// A line that is written.
#[derive(Serialize)]
struct Said<'a> {
    at: Time,
    #[serde(flatten)]
    what: What<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum What<'a> {
    Event(&'a Event),
    Action(&'a Action<'a>),
}

/// A line that is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: Time,
    event: Option<Event>,
    action: Option<Value>,
}
