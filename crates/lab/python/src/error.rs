//! Errors.

use fairways_command_kit::BadInput;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    fairways,
    FairwaysError,
    PyValueError,
    "What is wrong with an input, or why a simulation ended: the line that the command prints."
);

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The line that the command prints.
    Said(String),
    /// An exception that Python raised: in a policy, or by a signal.
    Raised(PyErr),
    /// The work was asked to stop.
    Stopped,
}

impl CallFailure {
    /// The same, with what it is about before it.
    pub(crate) fn about(self, what: &str) -> Self {
        match self {
            Self::Said(why) => Self::Said(format!("{what}: {why}")),
            other => other,
        }
    }
}

impl From<BadInput> for CallFailure {
    fn from(BadInput(why): BadInput) -> Self {
        Self::Said(why)
    }
}

impl From<anyhow::Error> for CallFailure {
    fn from(why: anyhow::Error) -> Self {
        Self::Said(format!("{why:#}"))
    }
}

impl From<String> for CallFailure {
    fn from(why: String) -> Self {
        Self::Said(why)
    }
}

impl From<PyErr> for CallFailure {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl From<CallFailure> for PyErr {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Said(why) => FairwaysError::new_err(why),
            CallFailure::Raised(raised) => raised,
            // The thread that stopped the work raises the reason.
            CallFailure::Stopped => FairwaysError::new_err("stopped"),
        }
    }
}
