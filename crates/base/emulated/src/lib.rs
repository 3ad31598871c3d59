//! How an emulator's clients speak with it: the requests and answers of its control socket, the
//! faults that can be armed, and where the socket is (docs/emulator.md).

mod client;
mod fault;
mod words;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

pub use client::{Client, ClientError};
pub use fault::{Effect, Fault, FaultError, Operation};
pub use words::{
    ArmedFault, ClockState, ProgramCounters, ProgramLatencies, ProgramState, Request, Response,
    Retired, SCHEMA, Status,
};

/// The socket for a directory.
#[must_use]
pub fn beside(dir: &Path) -> PathBuf {
    let mut path: OsString = dir.components().as_path().as_os_str().to_owned();
    path.push(".sock");
    path.into()
}

/// The socket of a mounted directory, or the path itself where it is a socket.
#[must_use]
pub fn socket_of(dir: &Path) -> PathBuf {
    let about = fs::symlink_metadata(dir);
    if about.is_ok_and(|about| about.file_type().is_socket()) {
        return dir.to_owned();
    }
    beside(&fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()))
}
