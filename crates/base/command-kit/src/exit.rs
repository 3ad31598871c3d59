//! How a command ends: its exit code, and its message on standard error.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process;
use std::sync::OnceLock;

use crate::plain;

/// Bad usage or bad input.
pub const USAGE: u8 = 2;
/// This host cannot be managed: its hardware, its kernel or resctrl's mount is missing.
pub const NOT_SUPPORTED: u8 = 3;
/// Another manager uses the resources to manage.
pub const BUSY: u8 = 4;
/// This process lacks a right.
pub const PERMISSION: u8 = 5;
/// SIGINT or SIGTERM, after an orderly end.
pub const INTERRUPTED: u8 = 130;

/// The list of exit codes in `--help`, with success (0) and failure (1); docs/uses.md has it, too.
pub const HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 bad usage or bad input, 3 this host is not supported, 4 others hold its cache, 5 no permission, \
130 interrupted";

/// The name before each message.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// Sets the name of this program, which begins each message; only the first call counts.
pub fn set_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

/// The name of this program, `fairways` if none was set.
fn program() -> &'static str {
    PROGRAM.get().copied().unwrap_or("fairways")
}

/// The user stopped the command (SIGINT or SIGTERM): exit code 130, after an orderly end.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl Error for Interrupted {}

/// A command that was run has ended with this code; nothing more is printed.
#[derive(Debug)]
pub struct ExitCode(pub u8);

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl Error for ExitCode {}

/// Bad usage or bad input: exit code 2.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for BadInput {}

/// The exit code of a command that ended with this error.
pub fn code_of(error: &anyhow::Error) -> u8 {
    if let Some(ExitCode(code)) = error.downcast_ref() {
        *code
    } else if error.is::<BadInput>() {
        USAGE
    } else if error.is::<Interrupted>() {
        INTERRUPTED
    } else {
        1
    }
}

/// Whether the reader of the output has closed it.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>().and_then(|e| e.io_error_kind()))
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// Prints a warning in one line on standard error.
pub fn warn(message: &str) {
    let _ = writeln!(io::stderr(), "{}: warning: {}", program(), plain::lines(message));
}

/// Prints why a command fails in one line on standard error, and returns its exit code.
pub fn fail(message: &str, code: u8) -> process::ExitCode {
    let _ = writeln!(io::stderr(), "{}: {}", program(), plain::lines(message));
    process::ExitCode::from(code)
}
