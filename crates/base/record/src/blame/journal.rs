//! The losses that a journal shows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use fairways_attribution::{Attribution, MemoryLatency};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_core::{AppId, Event, Time};
use serde_json::Value;

use super::BlameReport;
use crate::journal::Follower;

/// The part of a journal to evaluate, in its own clock's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalSpan {
    /// The beginning; `None`: that of the journal.
    pub since: Option<Duration>,
    /// The end; `None`: the journal's end.
    pub until: Option<Duration>,
}

/// Finds the latencies of an idle machine by its kind in a journal.
pub type KnownLatency = fn(&str) -> Option<MemoryLatency>;

/// What programs lose in a span of a journal. Everything before its end shows how often programs
/// miss; programs that have ended by then are not among them. `latency` finds the latencies of a
/// machine by its kind in the header.
///
/// # Errors
/// If the file is no journal, the span is empty, or no window in it has the counters.
pub fn of_journal(
    path: &Path,
    span: JournalSpan,
    latency: KnownLatency,
) -> anyhow::Result<BlameReport> {
    let since = Time::ZERO.after(span.since.unwrap_or_default());
    let until = span.until.map(|until| Time::ZERO.after(until));
    if until.is_some_and(|until| until <= since) {
        return Err(BadInput("--until: expected a time after --since".to_owned()).into());
    }
    let mut followed = Follower::open(path)?;
    let machine = followed.header().machine.clone();
    let mut attribution = Attribution::new(latency(followed.header().kind()), since);
    let (mut names, mut last): (BTreeMap<u32, String>, Time) = (BTreeMap::new(), Time::ZERO);
    while followed.next_at().is_some_and(|at| until.is_none_or(|until| at <= until)) {
        let Some(step) = followed.step()? else { break };
        last = step.at;
        if let (Event::Started { app, .. }, Some(name)) = (&step.event, step.name) {
            names.insert(app.0, name);
        }
        if followed.header().happened(&step.event) {
            attribution.handle(step.at, &step.event);
        }
    }
    if last < since {
        let (since, end) = (since.nanos() as f64 / 1e9, last.nanos() as f64 / 1e9);
        let what = format!(
            "--since: expected a time before the journal's end at {end:.3} s, found {since} s"
        );
        return Err(BadInput(what).into());
    }
    let policy = followed.record.status.policy.clone();
    let programs = machine.get("programs").and_then(Value::as_array);
    let blame =
        BlameReport::new(&attribution, &policy, [since, until.unwrap_or(last)], |AppId(app)| {
            let name = names.get(&app).cloned().or_else(|| name_in(programs?, app));
            name.unwrap_or_else(|| format!("program {app}"))
        })
        .with_remedies(&attribution);
    if blame.is_empty() {
        let path = shown(path);
        return Err(anyhow!(
            "{path}: no window there has cycles, LLC references and misses, and stalls: {policy} \
             may watch no program, or counters were missing"
        ));
    }
    Ok(blame)
}

/// The name of a program in the header of a simulated machine's journal.
fn name_in(programs: &[Value], app: u32) -> Option<String> {
    let name = programs.get(usize::try_from(app).ok()?)?.as_str()?;
    Some(fairways_command_kit::plain::plain(name))
}
