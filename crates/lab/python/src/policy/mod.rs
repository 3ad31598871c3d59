//! Policies: by name, or written in Python.

mod python;

use fairways_command_kit::BadInput;
use fairways_exec_policy::policies::{Setting, SharedParameters, json, known, make};
use fairways_exec_policy::{descriptor, faults};
use fairways_experiments::OPTIMUM;
use fairways_policy::table::KnowledgeSource;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pythonize::pythonize;
use serde_json::{Map, Value};

use crate::error::CallFailure;
use python::PythonChoice;
pub(crate) use python::{Fault, MadePolicy, has_raised, raised};

/// A policy as a user chose it, which can be made afresh for each mix.
#[derive(Debug)]
pub(crate) enum Choice {
    /// One that is compiled in, `optimum`, or a program (`exec:COMMAND`).
    Named(&'static str),
    /// One written in Python.
    Python(PythonChoice),
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
            let value = fairways_exec_policy::policies::value(&text);
            Ok(Setting { name: name.extract()?, value })
        });
        let settings = settings.collect::<PyResult<Vec<Setting>>>()?;
        let named: Vec<&str> = each.iter().filter_map(Choice::compiled_in).collect();
        // A class checks its own parameters.
        let has_python = each.iter().any(|choice| matches!(choice, Choice::Python(_)));
        let (of_named, own): (Vec<Setting>, Vec<Setting>) =
            settings.into_iter().partition(|setting| {
                let mut all = named.iter().filter_map(|name| descriptor(name));
                !has_python || all.any(|of| of.parameter(&setting.name).is_some())
            });
        let set = SharedParameters::new(&of_named, &named)?;
        let settings = of_named.into_iter().chain(own);
        let parameters = settings.map(|Setting { name, value }| (name, value)).collect();
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
