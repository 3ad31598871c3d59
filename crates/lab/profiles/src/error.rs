//! Errors in input files.

use thiserror::Error;

/// The first error in an input file, in one line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}:{line}: {}expected {expected}, found {found}", place(.column))]
pub struct InputError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column: its name where the file has a header, otherwise its number, counted from 1.
    pub column: Option<String>,
    /// The expected content.
    pub expected: String,
    /// The content that was found.
    pub found: String,
}

fn place(column: &Option<String>) -> String {
    column.as_ref().map_or_else(String::new, |column| format!("column {column}: "))
}

/// How `text` is shown in an error: quoted, on one line, and not endless.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.is_empty() {
        return "nothing".into();
    }
    let quoted: String = text.escape_debug().take(LONGEST).collect();
    let more = if text.escape_debug().count() > LONGEST { "..." } else { "" };
    format!("\"{quoted}{more}\"")
}
