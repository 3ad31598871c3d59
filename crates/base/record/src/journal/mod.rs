//! The journal: every event and every action of a run, a JSON line each, so that a run can be
//! inspected and replayed. docs/journal.md describes it.

mod follower;
mod parts;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::borrow::Cow;

use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use follower::{Follower, Step};
pub use parts::parts;
pub use reader::Reader;
pub use writer::{Start, Writer};

/// Changes when a field is removed or changes its meaning; new fields do not change it.
pub const SCHEMA: u32 = 2;

/// The most bytes of a part, by default.
pub const LARGEST_PART: u64 = 256 << 20;

/// Line 1 of every part of a journal.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Header {
    schema: u32,
    /// The version of Fairways that wrote the journal.
    fairways: String,
    /// The number of the part in this file, from 0.
    pub part: u32,
    /// The part with which this run began: a daemon continues after the parts of earlier daemons.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first: u32,
    /// The policy's name.
    pub policy: String,
    /// All the policy's parameters, as an object.
    pub parameters: Value,
    /// The machine's kind, and what belongs to that kind (docs/journal.md).
    pub machine: Value,
}

impl Header {
    /// The machine's kind: `host`, `model`, or a chip and its preset.
    pub fn kind(&self) -> &str {
        self.machine.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// The time of day at which the machine's clock was 0; `None` for a simulated machine.
    pub fn began(&self) -> Option<Moment> {
        Moment::deserialize(self.machine.get("began")?).ok()
    }

    /// Whether a daemon only observed its plans. Its journal then has answers as if the plans were
    /// in force, so that the policy goes on deciding.
    pub fn is_observed(&self) -> bool {
        self.observed_mode().is_some()
    }

    /// The daemon's mode, if it only observed its plans.
    pub(crate) fn observed_mode(&self) -> Option<&'static str> {
        let mode = self.machine.get("mode").and_then(Value::as_str);
        ["observe", "dry-run", "counters-only"].into_iter().find(|observed| mode == Some(observed))
    }

    /// Whether an event happened on the machine, and is not an answer for the policy's sake only.
    pub fn happened(&self, event: &Event) -> bool {
        !(self.is_observed() && matches!(event, Event::Applied { .. }))
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
const fn is_zero(part: &u32) -> bool {
    *part == 0
}

/// Every other line: an event, or an action that follows from the event before it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line<'a> {
    /// When, in nanoseconds since the machine began.
    pub(crate) at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<Cow<'a, Event>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action: Option<Cow<'a, Action<'a>>>,
    /// The name of the program, if one started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<Cow<'a, str>>,
}

impl Line<'static> {
    /// The name of the program, if one started.
    #[must_use]
    pub fn program_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The time, and the event or the action.
    pub fn into_parts(self) -> (Time, Option<Event>, Option<Action<'static>>) {
        let action = self.action.map(Cow::into_owned);
        (self.at, self.event.map(Cow::into_owned), action)
    }
}
