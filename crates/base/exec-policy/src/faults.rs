//! What went wrong with programs: a policy has no other way to say so.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;

use crate::check::LONGEST_TEXT;

/// The longest answer, in bytes: the longest line of a journal.
pub(crate) const LONGEST: usize = 1 << 20;

/// Why a program's answer could not be used.
#[derive(Debug, Error)]
pub(crate) enum ProgramFault {
    /// It could not be started.
    #[error("can't start it: {0}")]
    Start(io::Error),
    /// It ended, or closed its input or output.
    #[error("it ended")]
    Ended,
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// It did not start, and answer about the programs that run, in time.
    #[error("it did not start, and answer about all programs that run, within {0:?}")]
    LateStart(Duration),
    /// A line was too long.
    #[error("an answer longer than {} KiB", LONGEST >> 10)]
    TooLong,
    /// It wrote what nobody had asked for.
    #[error("more than one answer to a line")]
    Unasked,
    /// It could not be read from, or written to.
    #[error("{0}")]
    Io(io::Error),
    /// Its answer is wrong. The text may hold much of it.
    #[error("{}", cut(.0))]
    Wrong(String),
}

/// A text of a program, cut short if it is longer than those that people see.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    let mut end = LONGEST_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}... (cut short)", &text[..end])
}

/// The faults kept for [`faults`]; more than these say nothing new.
const KEPT: usize = 16;

/// How many there were, and the first of them.
static FAULTS: Mutex<(u64, Vec<String>)> = Mutex::new((0, Vec::new()));

/// The last faults of programs that are not started again.
static GIVEN_UP: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reports the fault after which a program is not started again.
pub(crate) fn report_last(line: String) {
    GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner).push(line.clone());
    report(line);
}

/// The programs that are not started again since they fail, a line each.
pub(crate) fn failing() -> Vec<String> {
    GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Logs a fault, and keeps it for [`faults`].
pub(crate) fn report(line: String) {
    tracing::warn!("{line}");
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    faults.0 += 1;
    if faults.1.len() < KEPT {
        faults.1.push(line);
    }
}

/// How often policies that are programs have failed, and the first failures, a line each.
#[must_use]
pub fn faults() -> (u64, Vec<String>) {
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
