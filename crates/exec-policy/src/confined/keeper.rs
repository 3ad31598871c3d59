//! The keeper of a policy's programs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use super::{CONFINED, START, receive, send};
use crate::start::ChildProgram;

/// Starts and ends programs with this command, as its standard input asks for it, until that is
/// closed; then ends them all.
///
/// # Errors
/// If standard input can't be read or answered.
pub fn keep(command: &[String]) -> io::Result<()> {
    let asked: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut running = BTreeMap::new();
    let mut next = 0;
    loop {
        match receive(&asked) {
            Ok((START, _)) => match start(command) {
                Ok((socket, program)) => {
                    send(&asked, next, Some(&socket))?;
                    running.insert(next, program);
                    next += 1;
                }
                Err(why) => {
                    let code =
                        why.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
                    send(&asked, code.cast_unsigned(), None)?;
                }
            },
            Ok((number, _)) => drop(running.remove(&number)),
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(why) => return Err(why),
        }
    }
}

fn start(command: &[String]) -> io::Result<(OwnedFd, ChildProgram)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut confined = Command::new("/proc/self/exe");
    confined.arg(CONFINED).arg("--").args(command).env_clear();
    confined.envs(
        ["PATH", "LANG", "LC_ALL"]
            .iter()
            .filter_map(|&name| std::env::var_os(name).map(|value| (name, value))),
    );
    Ok((ours.into(), ChildProgram::spawn(confined, theirs)?))
}
