//! Copies what a host is examined by, so that it can be examined elsewhere.
//!
//! The copy is made by a shell script, which people can read and run without this program; the list
//! of what is read stands only there.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The script that makes a copy, for a POSIX shell: `sh collect.sh FOLDER [ROOT]`.
pub const SCRIPT: &str = include_str!("collect.sh");

/// The file that a copy has at its top, and its content in this version.
const MARK: (&str, &str) = ("collected", "fairways collect 1");

/// Copies what is read of the host whose files are below `root` into `to`, a folder or a file whose
/// name ends in `.tar`. Nothing of that name may be there.
///
/// # Errors
/// If there is no shell, or the script fails: its first line on standard error.
pub fn collect(to: &Path, root: &Path) -> io::Result<()> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "collect"]).arg(to).arg(root);
    let output = shell.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed without a word");
    Err(io::Error::other(said.trim_start_matches("collect: ").to_owned()))
}

/// Checks that a folder is a copy that this version reads.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn check(folder: &Path) -> Result<(), String> {
    let (name, expected) = MARK;
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) if text.trim_end() == expected => Ok(()),
        Ok(_) => Err(format!("expected {expected:?} in its file {name}: another version made it")),
        Err(_) => Err(format!("expected a copy that fairways collect made, with a file {name}")),
    }
}
