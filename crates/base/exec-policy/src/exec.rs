//! A policy that is a program.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Action, Event, Policy, Time};
use fairways_policy::parameter::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use crate::answer::AnswerChecks;
use crate::connection::{Deadline, ProgramConnection};
use crate::faults::{ProgramFault, report, report_last};
use crate::parameters::json_of;
use crate::start::{ProgramStart, connect};

/// How long a program may take to describe itself, or to start and learn what it must know: an
/// interpreter reads its libraries.
pub(crate) const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The parameter of every such policy: how long it may take to answer.
pub(crate) const TIMEOUT: &str = "answer_timeout";

/// How many times in a row a program that fails is started again.
const RESTARTS: u32 = 5;

/// How long it must do well for its failures to be forgotten.
const FORGIVEN_AFTER: Duration = Duration::from_secs(60);

/// A policy that is a program: it gets events as JSON lines, and answers each with actions.
///
/// While it fails, the last plan stays in force. It is started again after 1, 2, 4, 8 and 16 s by
/// its machine's clock, and then no more.
pub struct ExecPolicy {
    name: &'static str,
    start: Arc<dyn ProgramStart>,
    parameters: Map<String, serde_json::Value>,
    pub(crate) timeout: Duration,
    /// [`FIRST_ANSWER`], but in tests.
    pub(crate) first_answer: Duration,
    pub(crate) running: Option<ProgramConnection>,
    checks: AnswerChecks,
    /// Failures in a row, and when the last one was.
    pub(crate) failures: u32,
    failed_at: Time,
    /// Whether the alarm at which it is started again may still ring.
    is_restart_set: bool,
    /// When the alarm of the program that runs is to ring.
    own_alarm: Option<Time>,
    #[cfg(test)]
    pub(crate) last_fault: Option<String>,
}

#[derive(Serialize)]
struct EventLine<'a> {
    at: Time,
    event: &'a Event,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionsAnswer {
    actions: Vec<Action<'static>>,
}

impl fmt::Debug for ExecPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ExecPolicy {
    pub(crate) fn new(
        name: &'static str,
        start: Arc<dyn ProgramStart>,
        schedules: bool,
        parameters: &[(&str, Value<'_>)],
    ) -> Self {
        let timeout = parameters.iter().find_map(|parameter| match parameter {
            (TIMEOUT, Value::Time(timeout)) => Some(*timeout),
            _ => None,
        });
        let own = parameters.iter().filter(|(name, _)| *name != TIMEOUT);
        Self {
            name,
            start,
            parameters: own.map(|(name, value)| ((*name).to_owned(), json_of(*value))).collect(),
            timeout: timeout.unwrap_or(Duration::from_secs(1)),
            first_answer: FIRST_ANSWER,
            running: None,
            checks: AnswerChecks::new(schedules),
            failures: 0,
            failed_at: Time::ZERO,
            is_restart_set: false,
            own_alarm: None,
            #[cfg(test)]
            last_fault: None,
        }
    }

    /// When a program that is not running may be started; `None` if it stays off.
    fn due(&self) -> Option<Time> {
        match self.failures {
            0 => Some(Time::ZERO),
            failures if failures > RESTARTS => None,
            failures => Some(self.failed_at.after(Duration::from_secs(1 << (failures - 1)))),
        }
    }

    /// Sets the alarm at which the program is started again, if it is: without one it would be off
    /// until some event arrives.
    fn set_restart(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(at) = self.due() {
            self.is_restart_set = true;
            act(Action::Wake { at });
        }
    }

    /// Whether this is the alarm of a restart, or of an earlier program: not the program's own.
    fn is_restart(&mut self, at: Time, event: &Event) -> bool {
        if !matches!(event, Event::Woke) {
            return false;
        }
        let is_own = self.own_alarm.take_if(|own| *own <= at).is_some();
        std::mem::take(&mut self.is_restart_set) && !is_own
    }

    /// Starts the program, and reports what it must know before `event`.
    fn begin(
        &mut self,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Result<(), ProgramFault> {
        let deadline = Deadline::of_start(self.first_answer);
        let mut running = connect(&*self.start).map_err(ProgramFault::Start)?;
        self.checks.plans.restart();
        let start = json!({ "start": { "parameters": self.parameters } });
        let answer = running.ask(start.to_string().into_bytes(), deadline)?;
        let earlier = if self.failures == 0 { Vec::new() } else { self.checks.present.events() };
        self.running = Some(running);
        self.carry_out(&answer, at, act)?;
        // `event` may be one of them already, about a program that has ended, or not its alarm.
        let of_now = !matches!(
            event,
            Event::Machine(_)
                | Event::Cpus(_)
                | Event::Started { .. }
                | Event::Wished { .. }
                | Event::Exited { .. }
                | Event::Woke
        );
        for event in &earlier {
            self.ask(at, event, deadline, act)?;
        }
        if of_now || self.failures == 0 { self.ask(at, event, deadline, act) } else { Ok(()) }
    }

    /// Reports an event, and passes on the actions of the answer, which arrives in
    /// [`Self::timeout`] and before `limit`.
    fn ask(
        &mut self,
        at: Time,
        event: &Event,
        limit: Deadline,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Result<(), ProgramFault> {
        let (Some(running), Some(event)) = (&mut self.running, self.checks.plans.seen(event))
        else {
            return Ok(());
        };
        let line = serde_json::to_vec(&EventLine { at, event: &event })
            .map_err(|why| ProgramFault::Wrong(why.to_string()))?;
        let answer = running.ask(line, Deadline::after(self.timeout).earlier(limit))?;
        self.carry_out(&answer, at, act)
    }

    fn carry_out(
        &mut self,
        answer: &[u8],
        at: Time,
        act: &mut dyn FnMut(Action<'_>),
    ) -> Result<(), ProgramFault> {
        let mut answer: ActionsAnswer = serde_json::from_slice(answer).map_err(|why| {
            ProgramFault::Wrong(format!("expected {{\"actions\": [...]}}: {why}"))
        })?;
        self.checks.check(&mut answer.actions, at).map_err(ProgramFault::Wrong)?;
        for action in answer.actions {
            if let Action::Wake { at } = action {
                self.own_alarm = Some(at);
            }
            act(action);
        }
        Ok(())
    }

    /// Ends the program, and reports why.
    fn fail(&mut self, at: Time, why: &ProgramFault, act: &mut dyn FnMut(Action<'_>)) {
        self.running = None;
        self.own_alarm = None;
        let is_over = self.start.is_over();
        self.failures = if is_over { RESTARTS + 1 } else { self.failures + 1 };
        self.failed_at = at;
        let name = self.name;
        let next = match self.failures {
            failures if failures > RESTARTS => "and it is not started again".to_owned(),
            failures => {
                format!("and it is started again after {} s", 1_u32 << (failures - 1))
            }
        };
        let line = format!("{name}: {why}; its last plan stays in force, {next}");
        #[cfg(test)]
        self.last_fault.replace(line.clone());
        // What can't be started any more is reported as such already.
        if self.failures > RESTARTS && !is_over {
            report_last(line)
        } else {
            report(line)
        }
        self.set_restart(act);
    }
}

impl Policy for ExecPolicy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.checks.note(event);
        let is_restart = self.is_restart(at, event);
        let done = match self.running {
            Some(_) if is_restart => return,
            Some(_) => self.ask(at, event, Deadline::after(self.timeout), act),
            None if self.due().is_some_and(|due| at >= due) => self.begin(at, event, act),
            None if is_restart => return self.set_restart(act),
            None => return,
        };
        match done {
            Err(why) => self.fail(at, &why, act),
            Ok(()) if at >= self.failed_at.after(FORGIVEN_AFTER) => self.failures = 0,
            Ok(()) => {}
        }
    }
}
