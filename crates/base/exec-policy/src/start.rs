//! How a program is started.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::connection::ProgramConnection;

/// A way to start a policy's program, as often as it is needed.
pub(crate) trait ProgramStart: Send + Sync {
    /// Starts it with a socket as its input and output. Returns the socket's other end, and what
    /// ends the program when it is dropped.
    ///
    /// # Errors
    /// If it can't be started.
    fn start(&self) -> io::Result<(UnixStream, Box<dyn Send>)>;

    /// Whether it can't be started any more, whatever happens.
    fn is_over(&self) -> bool {
        false
    }
}

pub(crate) fn connect(start: &dyn ProgramStart) -> io::Result<ProgramConnection> {
    let (stream, program) = start.start()?;
    Ok(ProgramConnection::new(stream, program))
}

/// The program and its arguments.
pub(crate) fn words_of(command: &str) -> Result<Vec<String>, String> {
    match shell_words::split(command) {
        Ok(words) if !words.is_empty() => Ok(words),
        _ => Err(format!("expected exec:COMMAND, such as exec:./mine.py, found {command:?}")),
    }
}

/// Starts a command as a child of this process. Its errors go where those of this process go.
#[derive(Clone, Debug)]
pub(crate) struct DirectStart {
    words: Vec<String>,
}

impl DirectStart {
    /// The program and its arguments, separated as a shell does.
    ///
    /// # Errors
    /// If there is no word, or a quotation mark is missing.
    pub(crate) fn new(command: &str) -> Result<Self, String> {
        words_of(command).map(|words| Self { words })
    }
}

impl ProgramStart for DirectStart {
    fn start(&self) -> io::Result<(UnixStream, Box<dyn Send>)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&self.words[0]);
        // With a group of its own, so that what it started ends with it.
        command.args(&self.words[1..]).process_group(0);
        Ok((ours, Box::new(ChildProgram::spawn(command, theirs)?)))
    }
}

/// A child of this process, which ends when this is dropped.
pub(crate) struct ChildProgram(Child);

impl ChildProgram {
    /// Starts a command with this socket as its input and output; it has, or makes, a group of its
    /// own.
    pub(crate) fn spawn(mut command: Command, socket: UnixStream) -> io::Result<Self> {
        command.stdin(OwnedFd::from(socket.try_clone()?)).stdout(OwnedFd::from(socket));
        command.spawn().map(Self)
    }

    /// The number of its process.
    pub(crate) fn number(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        // All may have ended by themselves, or have left the group.
        let _ = self.0.kill();
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}
