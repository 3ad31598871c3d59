//! What is wrong with a trace.

use std::path::Path;

use thiserror::Error;

/// A file that is no trace, or one that was cut off, in a line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}: {what}")]
pub struct TraceError {
    file: String,
    what: String,
}

impl TraceError {
    pub(crate) fn new(path: &Path, what: &str) -> Self {
        let file = path.display().to_string().replace(char::is_control, "?");
        Self { file, what: what.replace(char::is_control, "?") }
    }
}

/// What is wrong, without the file.
pub(crate) type Result<T> = std::result::Result<T, String>;
