//! Sends a journal's events to its policy again, and compares the decisions.

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use fairways_command_kit::BadInput;
use fairways_core::Time;
use fairways_exec_policy::policies;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::explain;
use crate::journal::{Follower, Reader, SCHEMA};
use crate::status::Decision;

/// What a replay found.
#[derive(Serialize)]
struct Found {
    schema: u32,
    policy: String,
    events: u64,
    actions: u64,
    same: bool,
    cut_short: bool,
    difference: Option<Difference>,
}

/// The first action that differs.
#[derive(Serialize)]
struct Difference {
    /// File and line.
    place: String,
    /// The time of the event that the policy acts on.
    at: Time,
    journal: Option<Value>,
    now: Option<Value>,
}

/// Sends the journal's events to its policy, and prints the first action that differs. A policy
/// that is a program of its own runs only if `runs_program`: a journal may come from anywhere.
///
/// # Errors
/// If an action differs, or the journal can't be read.
pub fn run(
    journal: &Path,
    runs_program: bool,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let found = compare(journal, runs_program)?;
    if json {
        serde_json::to_writer(&mut *out, &found)?;
        writeln!(out)?;
    } else {
        let Found { policy, events, actions, .. } = &found;
        write!(out, "{policy}: {events} events, {actions} actions, ")?;
        match &found.difference {
            None => writeln!(out, "all the same")?,
            Some(Difference { place, at, journal, now }) => {
                let shown = |action: &Option<Value>| {
                    action.as_ref().map_or("nothing".into(), Value::to_string)
                };
                writeln!(out, "the same up to {place}, after {at}")?;
                writeln!(out, "journal: {}", shown(journal))?;
                writeln!(out, "now:     {}", shown(now))?;
            }
        }
        if found.cut_short {
            writeln!(out, "the end is cut short, and was passed over")?;
        }
    }
    out.flush()?;
    if found.same {
        Ok(())
    } else {
        Err(anyhow!("the policy does otherwise than the journal has it"))
    }
}

/// Prints what another policy would have decided about the journal's events, as
/// [`explain`] does. The events stay those that followed from the journal's plans.
///
/// # Errors
/// If there is no such policy or parameter, or the journal can't be read.
pub fn run_under(
    policy: &str,
    parameters: Map<String, Value>,
    journal: &Path,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (mut policy, _) = policies::make(policy, parameters)?;
    let mut followed = Follower::open(journal)?;
    while followed.step_under(policy.as_mut())? {}
    let decisions: Vec<Decision> = followed.record.decisions.kept().collect();
    explain::print(&decisions, json, out)
}

fn compare(path: &Path, runs_program: bool) -> Result<Found, BadInput> {
    let mut reader = Reader::open(path)?;
    let header = reader.header.clone();
    let wrong = |why: &dyn std::fmt::Display| BadInput(format!("{}: {why}", reader.location()));
    if policies::is_program(&header.policy) && !runs_program {
        let what = format!("its policy is a program, {:?}: --run-program runs it", header.policy);
        return Err(wrong(&what));
    }
    let Value::Object(parameters) = header.parameters else {
        return Err(wrong(&"expected an object of parameters"));
    };
    let (mut policy, _) = policies::make(&header.policy, parameters).map_err(|why| wrong(&why))?;

    let (mut events, mut actions) = (0, 0);
    // The policy's actions that are still to be compared with the journal's.
    let mut now: VecDeque<Value> = VecDeque::new();
    let mut before = Time::ZERO;
    let mut difference = None;
    while let Some(line) = reader.line()? {
        let said = match line.into_parts() {
            (at, Some(event), None) if now.is_empty() => {
                events += 1;
                before = at;
                policy.handle(at, &event, &mut |action| {
                    now.extend(serde_json::to_value(action));
                });
                continue;
            }
            // The journal goes on with another event, but the policy has more actions.
            (_, Some(_), None) => None,
            (at, None, Some(_)) if at != before => {
                let (place, at) = (reader.location(), at.nanos());
                let said =
                    format!("expected the time of its event, {}, found {at}", before.nanos());
                return Err(BadInput(format!("{place}: {said}")));
            }
            (_, None, Some(action)) => {
                actions += 1;
                Some(
                    serde_json::to_value(action)
                        .map_err(|why| BadInput(format!("{}: {why}", reader.location())))?,
                )
            }
            _ => {
                let place = reader.location();
                return Err(BadInput(format!("{place}: expected an event or an action")));
            }
        };
        let done = now.pop_front();
        if said != done {
            let place = reader.location();
            difference = Some(Difference { place, at: before, journal: said, now: done });
            break;
        }
    }
    // Actions that are missing because the last line was cut short are no difference.
    if difference.is_none() && !reader.is_cut_short && !now.is_empty() {
        let (place, done) = (reader.location(), now.pop_front());
        difference = Some(Difference { place, at: before, journal: None, now: done });
    }
    let (same, cut_short) = (difference.is_none(), reader.is_cut_short);
    Ok(Found {
        schema: SCHEMA,
        policy: header.policy,
        events,
        actions,
        same,
        cut_short,
        difference,
    })
}
