//! The keeper of a policy's programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};

use super::stderr::pass_on;
use super::{CONFINED, START, receive, send};
use crate::PREFIX;
use crate::start::ChildProgram;

/// How long the last lines of programs may take to be shown.
const LAST_LINES: Duration = Duration::from_secs(5);

/// Starts and ends programs with this command, as its standard input asks for it, until that is
/// closed; then ends them all.
///
/// # Errors
/// If standard input can't be read or answered.
pub fn keep(command: &[String]) -> io::Result<()> {
    let asked: OwnedFd = io::stdin().as_fd().try_clone_to_owned()?;
    let mut running = BTreeMap::new();
    let (lines, ended): (Sender<()>, Receiver<()>) = channel();
    loop {
        match receive(&asked) {
            Ok((START, _)) => match start(command, &lines) {
                Ok((socket, program)) => {
                    let number = program.number();
                    send(&asked, number, Some(&socket))?;
                    running.insert(number, program);
                }
                Err(why) => {
                    let code =
                        why.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
                    send(&asked, code.cast_unsigned(), None)?;
                }
            },
            Ok((number, _)) => drop(running.remove(&number)),
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => {
                drop((running, lines));
                // Until each thread has dropped its sender: the last lines say why a program
                // ended.
                let _ = ended.recv_timeout(LAST_LINES);
                return Ok(());
            }
            Err(why) => return Err(why),
        }
    }
}

/// Starts a command as the first process of a PID namespace of its own, where this process may make
/// one: when it ends, for whatever reason, the kernel ends all that it has started.
fn spawn_alone(command: Command, socket: UnixStream) -> io::Result<ChildProgram> {
    let own = File::open("/proc/self/ns/pid")?;
    let is_new = unshare(CloneFlags::CLONE_NEWPID).is_ok();
    let program = ChildProgram::spawn(command, socket);
    if is_new {
        // Otherwise this process could start no thread, and no other program.
        setns(own, CloneFlags::CLONE_NEWPID)?;
    }
    program
}

/// Starts the command. A thread that holds a sender of `lines` shows its standard error.
fn start(command: &[String], lines: &Sender<()>) -> io::Result<(OwnedFd, ChildProgram)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut confined = Command::new("/proc/self/exe");
    confined.arg(CONFINED).arg("--").args(command).env_clear();
    confined.envs(
        ["PATH", "LANG", "LC_ALL"]
            .iter()
            .filter_map(|&name| std::env::var_os(name).map(|value| (name, value))),
    );
    let (errors, its_errors) = io::pipe()?;
    confined.stderr(its_errors);
    let program = spawn_alone(confined, theirs)?;
    let (name, lines) = (format!("{PREFIX}{}", shell_words::join(command)), lines.clone());
    thread::Builder::new().spawn(move || {
        pass_on(BufReader::new(errors), &mut io::stderr(), &name, Instant::now);
        drop(lines);
    })?;
    Ok((ours.into(), program))
}
