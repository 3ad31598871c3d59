//! A policy written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use fairways_core::{Action, Event, Policy, Time};
use fairways_exec_policy::{AnswerChecks, GrowingList};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pythonize::{depythonize, pythonize};

use crate::error::CallFailure;

/// A class, something else that makes a policy, or one policy.
#[derive(Debug)]
pub(crate) struct PythonChoice {
    pub(super) name: &'static str,
    made_by: Py<PyAny>,
    pub(super) is_one: bool,
    pub(super) schedules: bool,
    /// Whether it gets the profiles of programs before it has measured them.
    pub(super) knows_profiles: bool,
    parameters: Py<PyDict>,
}

impl PythonChoice {
    pub(super) fn read(
        policy: &Bound<'_, PyAny>,
        parameters: &Bound<'_, PyDict>,
    ) -> Result<Self, CallFailure> {
        let is_class = policy.is_instance_of::<PyType>();
        let is_one = !is_class && policy.hasattr("handle")?;
        if !is_one && !policy.is_callable() || is_class && !policy.hasattr("handle")? {
            let found = policy.repr()?;
            return Err(CallFailure::Said(format!(
                "policy: expected a name, or a class with a method handle(event), found {found}"
            )));
        }
        let described = match policy.getattr_opt("__name__")? {
            Some(name) => name.extract::<String>()?,
            None => policy.get_type().name()?.extract::<String>()?,
        };
        let knows: Option<String> =
            policy.getattr_opt("knows")?.map(|knows| knows.extract()).transpose()?;
        let decides: Option<String> =
            policy.getattr_opt("decides")?.map(|decides| decides.extract()).transpose()?;
        let knows = one_of("knows", knows.as_deref(), "profiles", &KNOWS)?;
        let decides = one_of("decides", decides.as_deref(), "ways", &["ways", "turns"])?;
        let name = kept(&format!("python:{described}"));
        Ok(Self {
            name,
            made_by: policy.clone().unbind(),
            is_one,
            schedules: decides == "turns",
            knows_profiles: knows == "profiles",
            parameters: parameters.clone().unbind(),
        })
    }

    /// Checks that a function's policy knows and decides what the function does.
    fn check(&self, policy: &Bound<'_, PyAny>) -> Result<(), CallFailure> {
        let ours =
            [("knows", "profiles", self.knows_profiles), ("decides", "turns", self.schedules)];
        for (what, value, is_so) in ours {
            let found: Option<String> =
                policy.getattr_opt(what)?.map(|found| found.extract()).transpose()?;
            if let Some(found) = found.filter(|found| (found == value) != is_so) {
                return Err(CallFailure::Said(format!(
                    "policy {}: {what}: found {found:?} in the policy, and another value in the \
                     function that makes it",
                    self.name
                )));
            }
        }
        Ok(())
    }

    pub(super) fn make(&self, is_static: bool) -> Result<MadePolicy, CallFailure> {
        Python::attach(|py| {
            let policy = match self.is_one {
                true => self.made_by.bind(py).clone(),
                false => self.made_by.bind(py).call((), Some(self.parameters.bind(py)))?,
            };
            self.check(&policy)?;
            let handle = policy.getattr("handle")?;
            let signature = py.import("inspect")?.call_method1("signature", (&handle,))?;
            let fault = Fault::default();
            let policy = PythonPolicy {
                name: self.name,
                handle: handle.unbind(),
                takes_time: signature.getattr("parameters")?.len()? > 1,
                hides_profiles: !is_static && !self.knows_profiles,
                checks: AnswerChecks::new(self.schedules),
                fault: Arc::clone(&fault),
            };
            Ok(MadePolicy { policy: Box::new(policy), fault })
        })
    }
}

/// The names of policies that were written in Python. They are kept for as long as the process
/// runs, like those of the policies that are compiled in.
static NAMES: GrowingList<String> = GrowingList::new();

/// The same name, which is kept for as long as the process runs.
fn kept(name: &str) -> &'static str {
    NAMES.find_or_add(|known| known == name, name.to_owned())
}

/// What a policy may know, as a program describes itself (docs/exec.md).
const KNOWS: [&str; 4] = ["nothing", "profiles", "counters", "latencies"];

fn one_of<'a>(
    what: &str,
    found: Option<&'a str>,
    default: &'a str,
    known: &[&str],
) -> Result<&'a str, CallFailure> {
    match found {
        None => Ok(default),
        Some(found) if known.contains(&found) => Ok(found),
        Some(found) => {
            let known = known.join(", ");
            Err(CallFailure::Said(format!("{what}: expected one of {known}, found {found:?}")))
        }
    }
}

/// The exception that ended a policy.
pub(crate) type Fault = Arc<Mutex<Option<CallFailure>>>;

/// A policy, and where it puts an exception.
pub(crate) struct MadePolicy {
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) fault: Fault,
}

/// # Errors
/// What a policy has raised.
pub(crate) fn raised(fault: &Fault) -> Result<(), CallFailure> {
    fault.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
}

/// Whether a policy has raised something.
pub(crate) fn has_raised(fault: &Fault) -> bool {
    fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// A policy whose decisions Python makes. It takes Python's lock for each event.
struct PythonPolicy {
    name: &'static str,
    handle: Py<PyAny>,
    takes_time: bool,
    hides_profiles: bool,
    checks: AnswerChecks,
    fault: Fault,
}

impl PythonPolicy {
    fn answer(&mut self, at: Time, event: &Event) -> Result<Vec<Action<'static>>, CallFailure> {
        self.checks.note(event);
        let hidden = match event {
            Event::Started { app, wish, profile: Some(_) } if self.hides_profiles => {
                Some(Event::Started { app: *app, wish: *wish, profile: None })
            }
            _ => None,
        };
        let event = hidden.as_ref().unwrap_or(event);
        let mut actions: Vec<Action<'static>> = Python::attach(|py| {
            let event = pythonize(py, event).map_err(PyErr::from)?;
            let answer = match self.takes_time {
                true => self.handle.bind(py).call1((event, at.nanos()))?,
                false => self.handle.bind(py).call1((event,))?,
            };
            if answer.is_none() {
                return Ok(Vec::new());
            }
            depythonize(&answer).map_err(|why| {
                let expected = "expected a list of actions";
                CallFailure::Said(format!("policy {}: {expected}: {why}", self.name))
            })
        })?;
        self.checks
            .check(&mut actions, at)
            .map_err(|why| CallFailure::Said(why).about(&format!("policy {}", self.name)))?;
        Ok(actions)
    }
}

impl Policy for PythonPolicy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        // It is out of use: the run ends after this event.
        if has_raised(&self.fault) {
            return;
        }
        match self.answer(at, event) {
            Ok(actions) => actions.into_iter().for_each(act),
            Err(why) => {
                *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            }
        }
    }
}
