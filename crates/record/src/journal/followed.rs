//! A journal, followed: how the machine and its programs were, line by line.

use std::borrow::Cow;
use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::moment::Moment;
use fairways_core::{Action, Event, Time};
use serde_json::Value;

use super::Header;
use super::reader::Reader;
use crate::status::{InForce, Plain, Status, Watched};

/// A journal that is read step by step, a step being an event and what the policy did about it.
pub struct Followed {
    reader: Reader,
    /// The domain that its header names.
    domain: u32,
    /// When its clock was 0, by the time of day; `None` of a simulated machine.
    began: Option<Moment>,
    /// The programs that its header names, which apps of a simulated machine are by their order.
    programs: Vec<String>,
    /// The event of the step that is read next.
    next: Option<Step>,
    /// What is known after the last step.
    pub watched: Watched,
}

/// An event, and what the policy did about it.
pub struct Step {
    /// When, on the machine's clock.
    pub at: Time,
    /// What happened.
    pub event: Event,
    /// What the program is called that started.
    pub name: Option<String>,
    /// What the policy did, in order.
    pub actions: Vec<Action<'static>>,
}

impl Followed {
    /// Opens a journal.
    ///
    /// # Errors
    /// If it can't be read, or is none.
    pub fn open(path: &Path) -> Result<Self, BadInput> {
        Self::new(Reader::open(path)?)
    }

    /// One that is read from here on.
    ///
    /// # Errors
    /// If its first line is none of a journal.
    pub fn new(reader: Reader) -> Result<Self, BadInput> {
        let machine = &reader.header.machine;
        let domain = machine.get("domain").and_then(Value::as_u64);
        let programs = machine.get("programs").and_then(Value::as_array);
        let is_simulated = machine.get("kind").and_then(Value::as_str) != Some("host");
        let programs = programs.filter(|_| is_simulated).into_iter().flatten();
        let named = |name: &Value| plain(name.as_str().unwrap_or_default().to_owned());
        let programs = programs.map(named).collect();
        let status = Status {
            schema: crate::status::SCHEMA,
            version: plain(reader.header.fairways.clone()),
            policy: plain(reader.header.policy.clone()),
            mode: "journal".to_owned(),
            ..Status::default()
        };
        let began = reader.header.began();
        let domain = domain.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        let watched = Watched::new(status);
        let mut followed = Self { reader, domain, began, programs, next: None, watched };
        if let Some(line) = followed.reader.line()? {
            followed.next = match (line.event, line.action) {
                (Some(event), None) => Some(begin(line.at, event, line.name)),
                _ => return Err(followed.wrong("expected an event")),
            };
        }
        Ok(followed)
    }

    /// The time of the next step; `None` at the end.
    pub fn next_at(&self) -> Option<Time> {
        self.next.as_ref().map(|step| step.at)
    }

    /// Where the line is that was read last.
    pub fn place(&self) -> String {
        self.reader.place()
    }

    /// The plan in force, and what it has come to.
    pub fn in_force(&self) -> Option<&InForce> {
        self.watched.status.in_force(self.domain)
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.reader.header
    }

    /// Whether the end was cut short, for whoever wrote it was killed.
    pub fn cut_short(&self) -> bool {
        self.reader.cut_short
    }

    /// Takes in the next event and what was done about it, which is returned; `None` at the end.
    ///
    /// # Errors
    /// If a line is not one of a journal.
    pub fn step(&mut self) -> Result<Option<Step>, BadInput> {
        let Some(step) = self.read()? else { return Ok(None) };
        let programs = &self.programs;
        let name = |app: fairways_core::AppId| {
            let known = usize::try_from(app.0).ok().and_then(|place| programs.get(place));
            let name = step.name.clone().or_else(|| known.cloned());
            name.unwrap_or_else(|| format!("program {}", app.0))
        };
        self.watched.status.now = self.began.and_then(|began| began.after(step.at));
        self.watched.event(self.domain, step.at, &step.event, &Plain, name);
        for action in &step.actions {
            self.watched.action(self.domain, action, &Plain);
        }
        Ok(Some(step))
    }

    /// The next step; `None` at the end.
    fn read(&mut self) -> Result<Option<Step>, BadInput> {
        let Some(mut step) = self.next.take() else { return Ok(None) };
        while let Some(line) = self.reader.line()? {
            match (line.event, line.action) {
                (Some(event), None) => {
                    self.next = Some(begin(line.at, event, line.name));
                    break;
                }
                (None, Some(action)) => step.actions.push(shown(action.into_owned())),
                _ => return Err(self.wrong("expected an event or an action")),
            }
        }
        Ok(Some(step))
    }

    fn wrong(&self, why: &str) -> BadInput {
        BadInput(format!("{}: {why}", self.reader.place()))
    }
}

/// A step of which the event is known.
fn begin(at: Time, event: Cow<'_, Event>, name: Option<Cow<'_, str>>) -> Step {
    let name = name.map(|name| plain(name.into_owned()));
    Step { at, event: event.into_owned(), name, actions: Vec::new() }
}

/// A text that is safe to print: a journal of somebody else must not control the terminal.
fn plain(text: String) -> String {
    if text.chars().all(fairways_core::is_plain) {
        text
    } else {
        fairways_command_kit::plain::plain(&text)
    }
}

/// An action whose texts are safe to print.
fn shown(mut action: Action<'static>) -> Action<'static> {
    let clean =
        |text: &mut Cow<'static, str>| *text = plain(std::mem::take(text).into_owned()).into();
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
