//! Policies: by name, or written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use fairways_command_kit::BadInput;
use fairways_command_kit::policies::{Setting, SharedParameters, json, known, make};
use fairways_core::{Action, Event, Policy, Time};
use fairways_exec_policy::{AnswerChecks, descriptor, faults};
use fairways_lab::OPTIMUM;
use fairways_policy::table::KnowledgeSource;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyType};
use pythonize::{depythonize, pythonize};
use serde_json::{Map, Value};

use crate::error::CallFailure;

/// A policy as a user chose it, which can be made afresh for each mix.
#[derive(Debug)]
pub(crate) enum Choice {
    /// One that is compiled in, `optimum`, or a program (`exec:COMMAND`).
    Named(&'static str),
    /// One written in Python.
    Python(PythonChoice),
}

/// A class, something else that makes a policy, or one policy.
#[derive(Debug)]
pub(crate) struct PythonChoice {
    name: &'static str,
    made_by: Py<PyAny>,
    is_one: bool,
    schedules: bool,
    /// Whether it gets the profiles of programs before it has measured them.
    knows_profiles: bool,
    parameters: Py<PyDict>,
}

/// The policies that a user chose, and their parameters.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) each: Vec<Choice>,
    set: SharedParameters,
    parameters: Map<String, Value>,
    faults: u64,
}

impl Choices {
    /// Reads one policy, or a list of them.
    pub(crate) fn read(
        policy: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> Result<Self, CallFailure> {
        let py = policy.py();
        let parameters = parameters.cloned().unwrap_or_else(|| PyDict::new(py));
        let each = match policy.cast::<PyList>() {
            Ok(all) => all.iter().map(|one| Choice::read(&one, &parameters)).collect(),
            Err(_) => Choice::read(policy, &parameters).map(|one| vec![one]),
        };
        let each: Vec<Choice> = each?;
        if each.is_empty() {
            return Err(CallFailure::Said("policy: expected at least one, found none".to_owned()));
        }
        let settings = parameters.iter().map(|(name, value)| {
            let text = match value.extract::<bool>() {
                Ok(is) => is.to_string(),
                Err(_) => value.str()?.to_string(),
            };
            let value = fairways_command_kit::policies::value(&text);
            Ok(Setting { name: name.extract()?, value })
        });
        let settings = settings.collect::<PyResult<Vec<Setting>>>()?;
        let named: Vec<&str> = each.iter().filter_map(Choice::compiled_in).collect();
        // A class checks its own parameters.
        let has_python = each.iter().any(|choice| matches!(choice, Choice::Python(_)));
        let set = match SharedParameters::new(&settings, &named) {
            Err(_) if has_python => SharedParameters::default(),
            set => set?,
        };
        let parameters =
            settings.into_iter().map(|Setting { name, value }| (name, value)).collect();
        Ok(Self { each, set, parameters, faults: faults().0 })
    }

    /// The names.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.each.iter().map(Choice::name).collect()
    }

    /// Whether one is written in Python, so that everything runs in one thread.
    pub(crate) fn has_python(&self) -> bool {
        self.each.iter().any(|choice| matches!(choice, Choice::Python(_)))
    }

    /// Checks that each run of several has a policy of its own.
    pub(crate) fn check_runs(&self, runs: usize) -> Result<(), CallFailure> {
        let one = self.each.iter().find_map(|choice| match choice {
            Choice::Python(choice) if choice.is_one => Some(choice.name),
            _ => None,
        });
        match one {
            Some(name) if runs > 1 => Err(CallFailure::Said(format!(
                "policy {name}: expected a class for {runs} mixes, since each begins with a new \
                 policy, found an object"
            ))),
            _ => Ok(()),
        }
    }

    /// A policy that starts afresh, and where it puts an exception; `None` for `optimum`.
    pub(crate) fn make(
        &self,
        choice: &Choice,
        is_static: bool,
    ) -> Result<Option<MadePolicy>, CallFailure> {
        match choice {
            Choice::Named(OPTIMUM) => Ok(None),
            Choice::Named(name) => {
                Ok(self.set.make(name).map(|policy| MadePolicy { policy, fault: Fault::default() }))
            }
            Choice::Python(choice) => choice.make(is_static).map(Some),
        }
    }

    /// All parameters of a policy, for a journal.
    pub(crate) fn all_parameters(&self, choice: &Choice) -> Result<Value, CallFailure> {
        match choice {
            Choice::Named(name) => Ok(make(name, self.parameters.clone())?.1),
            Choice::Python(_) => Ok(Value::Object(self.parameters.clone())),
        }
    }

    /// # Errors
    /// If a policy that is a program has failed since these were chosen.
    pub(crate) fn no_faults(&self) -> Result<(), CallFailure> {
        let (count, lines) = faults();
        if count == self.faults {
            return Ok(());
        }
        let first = usize::try_from(self.faults).ok().and_then(|first| lines.get(first));
        Err(CallFailure::Said(first.or(lines.last()).cloned().unwrap_or_default()))
    }
}

impl Choice {
    fn read(
        policy: &Bound<'_, PyAny>,
        parameters: &Bound<'_, PyDict>,
    ) -> Result<Self, CallFailure> {
        if let Ok(name) = policy.cast::<PyString>() {
            let name = name.extract::<String>()?;
            let name = match &*name {
                OPTIMUM => OPTIMUM,
                name => known(name).map_err(|BadInput(why)| format!("policy: {why}"))?.name,
            };
            return Ok(Self::Named(name));
        }
        PythonChoice::read(policy, parameters).map(Self::Python)
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Named(name) => name,
            Self::Python(choice) => choice.name,
        }
    }

    /// The name of a policy whose parameters are in a table.
    fn compiled_in(&self) -> Option<&'static str> {
        match self {
            Self::Named(name) if *name != OPTIMUM => Some(name),
            _ => None,
        }
    }

    /// Whether it decides where and when threads run.
    pub(crate) fn schedules(&self) -> bool {
        match self {
            Self::Named(name) => descriptor(name).is_some_and(|policy| policy.schedules()),
            Self::Python(choice) => choice.schedules,
        }
    }

    /// Whether it measures programs, so that it does not need their profiles; and whether it needs
    /// them.
    pub(crate) fn learns_needs(&self) -> (bool, bool) {
        match self {
            Self::Named(name) => descriptor(name).map_or((false, false), |policy| {
                (policy.learns(), policy.knows == KnowledgeSource::Profiles)
            }),
            Self::Python(choice) => (!choice.knows_profiles, choice.knows_profiles),
        }
    }
}

impl PythonChoice {
    fn read(
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
        // It lives as long as the process, like the names of the policies that are compiled in.
        let name = Box::leak(format!("python:{described}").into_boxed_str());
        Ok(Self {
            name,
            made_by: policy.clone().unbind(),
            is_one,
            schedules: decides == "turns",
            knows_profiles: knows == "profiles",
            parameters: parameters.clone().unbind(),
        })
    }

    fn make(&self, is_static: bool) -> Result<MadePolicy, CallFailure> {
        Python::attach(|py| {
            let policy = match self.is_one {
                true => self.made_by.bind(py).clone(),
                false => self.made_by.bind(py).call((), Some(self.parameters.bind(py)))?,
            };
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
type Fault = Arc<Mutex<Option<CallFailure>>>;

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

/// The policies that are compiled in: their names, each with its parameters and their defaults.
#[pyfunction]
pub(crate) fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let all = fairways_policy::POLICIES.iter().map(|policy| {
        let made = policy.make(&[]);
        let parameters = made.parameters.into_iter().map(|(name, of)| (name.to_owned(), json(of)));
        (policy.name.to_owned(), Value::Object(parameters.collect()))
    });
    Ok(pythonize(py, &all.collect::<Map<String, Value>>())?)
}
