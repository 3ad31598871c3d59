//! A journal, followed: how the machine and its programs were, line by line.

use std::collections::VecDeque;
use std::path::Path;

use fairways_core::{Event, PlanId, Time};
use serde_json::Value;

use super::actions::{Owned, Texts, plain};
use super::reader::Reader;
use crate::BadInput;
use crate::moment::Moment;
use crate::status::{Plain, Status, Watched};

/// A journal that is read step by step, a step being an event and what the policy did about it.
pub(crate) struct Followed {
    reader: Reader,
    /// The domain that its header names.
    domain: u32,
    /// When its clock was 0, by the time of day; `None` of a simulated machine.
    began: Option<Moment>,
    /// The programs that its header names, which apps of a simulated machine are by their order.
    programs: Vec<String>,
    texts: Texts,
    /// The event of the step that is read next.
    next: Option<(Time, Event, Option<String>)>,
    /// Steps that were read ahead, to see what became of plans; the last of them may be wrong.
    ahead: VecDeque<Result<Step, BadInput>>,
    /// What is known after the last step.
    pub(crate) watched: Watched,
}

/// An event, and what the policy did about it.
struct Step {
    at: Time,
    event: Event,
    /// What the program is called that started.
    name: Option<String>,
    actions: Vec<Owned>,
}

impl Followed {
    /// Opens a journal.
    ///
    /// # Errors
    /// If it can't be read, or is none.
    pub(crate) fn open(path: &Path) -> Result<Self, BadInput> {
        let reader = Reader::open(path)?;
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
        let mut followed = Self {
            reader,
            domain,
            began,
            programs,
            texts: Texts::default(),
            next: None,
            ahead: VecDeque::new(),
            watched,
        };
        followed.next = match followed.reader.next()? {
            None => None,
            Some(line) => match (line.event, line.action) {
                (Some(event), None) => Some((line.at, event, line.name)),
                _ => return Err(followed.wrong("expected an event")),
            },
        };
        Ok(followed)
    }

    /// The time of the next step; `None` at the end.
    pub(crate) fn next_at(&self) -> Option<Time> {
        match self.ahead.front() {
            Some(Ok(step)) => Some(step.at),
            // It is stepped to, and told then.
            Some(Err(_)) => Some(Time::from_nanos(self.watched.status.now_ns)),
            None => self.next.as_ref().map(|(at, ..)| *at),
        }
    }

    /// Whether the end was cut short, for whoever wrote it was killed.
    pub(crate) fn cut_short(&self) -> bool {
        self.reader.cut_short
    }

    /// Takes in the next event and what was done about it; false at the end.
    ///
    /// # Errors
    /// If a line is not one of a journal.
    pub(crate) fn step(&mut self) -> Result<bool, BadInput> {
        let Some(step) = self.ahead.pop_front().or_else(|| self.read().transpose()) else {
            return Ok(false);
        };
        let Step { at, event, name, actions } = step?;
        let refused = self.refused(actions.iter().filter_map(Owned::plan).collect());
        let programs = &self.programs;
        let name = |app: fairways_core::AppId| {
            let known = usize::try_from(app.0).ok().and_then(|place| programs.get(place));
            name.map(plain)
                .or_else(|| known.cloned())
                .unwrap_or_else(|| format!("program {}", app.0))
        };
        self.watched.status.now = self.began.and_then(|began| began.after(at));
        self.watched.event(self.domain, at, &event, &Plain, name);
        for action in actions {
            let (domain, watched) = (self.domain, &mut self.watched);
            let holds = action.plan().is_none_or(|plan| !refused.contains(&plan));
            action
                .say(&mut self.texts, &mut |action| watched.action(domain, &action, &Plain, holds));
        }
        Ok(true)
    }

    /// Which of these plans, the last, were refused: that is told right after them, before anything else.
    fn refused(&mut self, mut plans: Vec<PlanId>) -> Vec<PlanId> {
        let mut refused = Vec::new();
        let mut at = 0;
        while !plans.is_empty() {
            if self.ahead.len() == at {
                let next = self.read().transpose();
                self.ahead.extend(next);
            }
            let Some(Ok(Step { event: Event::Refused { plan, .. }, .. })) = self.ahead.get(at)
            else {
                break;
            };
            if let Some(place) = plans.iter().position(|of| of == plan) {
                refused.push(plans.swap_remove(place));
            }
            at += 1;
        }
        refused
    }

    /// The next step; `None` at the end.
    fn read(&mut self) -> Result<Option<Step>, BadInput> {
        let Some((at, event, name)) = self.next.take() else { return Ok(None) };
        let mut actions = Vec::new();
        while let Some(line) = self.reader.next()? {
            let action = match (line.event, line.action) {
                (Some(event), None) => {
                    self.next = Some((line.at, event, line.name));
                    break;
                }
                (None, Some(action)) => action,
                _ => return Err(self.wrong("expected an event or an action")),
            };
            let action = serde_json::from_value(action)
                .map_err(|why| self.wrong(&format!("expected an action: {why}")))?;
            actions.push(action);
        }
        Ok(Some(Step { at, event, name, actions }))
    }

    fn wrong(&self, why: &str) -> BadInput {
        BadInput(format!("{}: {why}", self.reader.place()))
    }
}
