//! How a measurement came about.

use serde::{Deserialize, Serialize};

/// The run that was measured: enough to repeat it, and to notice that something has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRun {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The file that ran: for a script, its interpreter; for a trace, its file.
    pub file: String,
    /// The SHA-256 of that file, in hexadecimal digits; empty for a trace from a pipe.
    pub sha256: String,
    /// The package that it is from, and its version, if the system knows.
    pub version: Option<String>,
    /// The QEMU that ran it; empty for a trace that another tool wrote.
    pub qemu: String,
    /// The simulated chip.
    pub machine: String,
    /// Instructions before the first that was counted.
    pub skip: u64,
    /// Instructions that were counted.
    pub instructions: u64,
    /// Slices that they are divided into, and the instructions from a slice's begin to the next's.
    pub slices: u32,
    /// See `slices`; 0 if there is one.
    pub apart: u64,
    /// The exit code, unless the program was ended after the last instruction that was counted.
    pub exit_code: Option<i32>,
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
