//! Reads a journal step by step and keeps the state of the machine and its programs.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, PlanId, Policy, Sample, Time};
use serde_json::Value;

use super::Header;
use super::reader::Reader;
use crate::status::{MachineRecord, Status, TrackedPlan, WholeMachine};

/// A journal that is read step by step; a step is an event and the policy's actions on it.
pub struct Follower {
    reader: Reader,
    /// The domain that the header names.
    domain: u32,
    /// The time of day at which the journal's clock was 0; `None` for a simulated machine.
    began: Option<Moment>,
    /// The names in the header; on a simulated machine an app's number is its place here.
    programs: Vec<String>,
    /// The next step, of which only the event is read; `None` at the end.
    next: Option<Step>,
    /// The last plan of the policy that decides instead of the journal's, and when it was made.
    planned: Option<(PlanId, Time)>,
    /// The state after the last step.
    pub record: MachineRecord,
}

/// The most plans that may follow from one event.
const MOST_ANSWERS: u32 = 100;

/// An event, and the policy's actions on it.
pub struct Step {
    /// The time on the machine's clock.
    pub at: Time,
    /// The event.
    pub event: Event,
    /// The name of the program, if one started.
    pub name: Option<String>,
    /// The policy's actions, in order.
    pub actions: Vec<Action<'static>>,
}

impl Follower {
    /// Opens a journal.
    ///
    /// # Errors
    /// If the file can't be read, or is no journal.
    pub fn open(path: &Path) -> Result<Self, BadInput> {
        Self::new(Reader::open(path)?)
    }

    /// Follows a journal from the reader's position.
    ///
    /// # Errors
    /// If the first line is not one of a journal.
    pub fn new(reader: Reader) -> Result<Self, BadInput> {
        let machine = &reader.header.machine;
        let domain = machine.get("domain").and_then(Value::as_u64);
        let programs = machine.get("programs").and_then(Value::as_array);
        let is_simulated = reader.header.kind() != "host";
        let programs = programs.filter(|_| is_simulated).into_iter().flatten();
        let programs = programs
            .map(|name: &Value| made_plain(name.as_str().unwrap_or_default().to_owned()))
            .collect();
        let status = Status {
            schema: crate::status::SCHEMA,
            version: made_plain(reader.header.fairways.clone()),
            policy: made_plain(reader.header.policy.clone()),
            mode: reader.header.observed_mode().unwrap_or("journal").to_owned(),
            ..Status::default()
        };
        let began = reader.header.began();
        let domain = domain.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        let watched = MachineRecord::new(status);
        let mut follower =
            Self { reader, domain, began, programs, next: None, planned: None, record: watched };
        if let Some(line) = follower.reader.line()? {
            follower.next = match (line.event, line.action) {
                (Some(event), None) => Some(begin(line.at, event, line.name)),
                _ => return Err(follower.wrong("expected an event")),
            };
        }
        Ok(follower)
    }

    /// The time of the next step; `None` at the end.
    pub fn next_at(&self) -> Option<Time> {
        self.next.as_ref().map(|step| step.at)
    }

    /// The location of the last line that was read.
    pub fn location(&self) -> String {
        self.reader.location()
    }

    /// The plan in force, and the ways that programs really have under it.
    pub fn in_force(&self) -> Option<&TrackedPlan> {
        self.record.status.in_force(self.domain)
    }

    /// The journal's header.
    pub fn header(&self) -> &Header {
        &self.reader.header
    }

    /// Whether the journal's end is cut short because its writer was killed.
    pub fn is_cut_short(&self) -> bool {
        self.reader.is_cut_short
    }

    /// Reads and records the next step, and returns it; `None` at the end.
    ///
    /// # Errors
    /// If a line is not one of a journal.
    pub fn step(&mut self) -> Result<Option<Step>, BadInput> {
        let Some(step) = self.read()? else { return Ok(None) };
        self.note(&step);
        Ok(Some(step))
    }

    /// Reads the next step, and records what another policy decides on it; false at the end. Its
    /// plans count as in force at once and unchanged; the answers to the journal's own plans are
    /// left out.
    ///
    /// # Errors
    /// If a line is not one of a journal.
    pub(crate) fn step_under(&mut self, policy: &mut dyn Policy) -> Result<bool, BadInput> {
        let Some(Step { at, event, name, .. }) = self.read()? else { return Ok(false) };
        if matches!(event, Event::Applied { .. } | Event::Refused { .. }) {
            return Ok(true);
        }
        let event = match (event, self.planned) {
            // Windows name the plan of this policy, not the journal's.
            (Event::Sampled(sample), Some((plan, since))) => Event::Sampled(Sample {
                plan: Some(plan),
                straddled: sample.straddled || at < since.after(sample.window),
                ..sample
            }),
            (event, _) => event,
        };
        let mut events = VecDeque::from([event]);
        let mut answered = 0;
        while let Some(event) = events.pop_front() {
            let mut actions = Vec::new();
            policy.handle(at, &event, &mut |action| actions.extend(owned(&action)));
            if answered > MOST_ANSWERS {
                return Err(self.wrong("the policy answers every plan with another one"));
            }
            events.extend(actions.iter().filter_map(|action| match action {
                Action::Partition { plan, partition, .. } => {
                    answered += 1;
                    self.planned = Some((*plan, at));
                    Some(Event::Applied { plan: *plan, actual: partition.as_ref().clone() })
                }
                _ => None,
            }));
            self.note(&Step { at, event, name: name.clone(), actions });
        }
        Ok(true)
    }

    fn note(&mut self, step: &Step) {
        let programs = &self.programs;
        self.record.status.now = self.began.and_then(|began| began.after(step.at));
        self.record.record_event(
            self.domain,
            step.at,
            &step.event,
            &WholeMachine,
            |app: fairways_core::AppId| {
                let known = usize::try_from(app.0).ok().and_then(|place| programs.get(place));
                let name = step.name.clone().or_else(|| known.cloned());
                name.unwrap_or_else(|| format!("program {}", app.0))
            },
        );
        for action in &step.actions {
            self.record.record_action(self.domain, action, &WholeMachine);
        }
    }

    /// Reads the next step; `None` at the end.
    fn read(&mut self) -> Result<Option<Step>, BadInput> {
        let Some(mut step) = self.next.take() else { return Ok(None) };
        while let Some(line) = self.reader.line()? {
            match (line.event, line.action) {
                (Some(event), None) => {
                    self.next = Some(begin(line.at, event, line.name));
                    break;
                }
                (None, Some(action)) => step.actions.push(made_plain_action(action.into_owned())),
                _ => return Err(self.wrong("expected an event or an action")),
            }
        }
        Ok(Some(step))
    }

    fn wrong(&self, why: &str) -> BadInput {
        BadInput(format!("{}: {why}", self.reader.location()))
    }
}

/// A copy of the action that owns its data; `None` if it can't be written as JSON, which never
/// happens with a policy's action.
fn owned(action: &Action<'_>) -> Option<Action<'static>> {
    serde_json::to_value(action).and_then(serde_json::from_value).ok().map(made_plain_action)
}

/// A step with this event and no actions yet.
fn begin(at: Time, event: Cow<'_, Event>, name: Option<Cow<'_, str>>) -> Step {
    let name = name.map(|name| made_plain(name.into_owned()));
    Step { at, event: event.into_owned(), name, actions: Vec::new() }
}

/// A text that is safe to print: a journal may come from anywhere, and must not control the
/// terminal.
fn made_plain(text: String) -> String {
    // Most texts are plain, and they are many: copy only the others.
    if text.chars().all(fairways_core::is_plain) { text } else { fairways_core::plain(&text) }
}

/// An action whose texts are safe to print.
fn made_plain_action(mut action: Action<'static>) -> Action<'static> {
    fn clean(text: &mut Cow<'static, str>) {
        *text = made_plain(std::mem::take(text).into_owned()).into()
    }
    match &mut action {
        Action::Partition { reason, .. }
        | Action::Allow { reason, .. }
        | Action::Priority { reason, .. }
        | Action::Quantum { reason, .. } => clean(reason),
        Action::Estimated { what, .. } => clean(what),
        Action::Classified { class, reason, .. } => {
            clean(class);
            clean(reason);
        }
        Action::Watch { .. } | Action::Wake { .. } | Action::WatchTogether { .. } => {}
    }
    action
}
