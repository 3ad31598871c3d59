//! Placeholders: a real process for each simulated program, so that clients find it, move it, and
//! see it end.

use std::ffi::{CString, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// How a placeholder is started: this program with these arguments, and the simulated program's
/// name behind them. It must print a line, and end when its standard input does; [`hold_place`] is
/// all that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The program.
    pub program: PathBuf,
    /// The arguments before the name.
    pub arguments: Vec<OsString>,
}

/// Bytes of a thread's name, without the 0 (`TASK_COMM_LEN` less one, prctl(2)).
const COMM: usize = 15;

/// The output of a placeholder once it has its name.
const READY: &[u8] = b"\n";

/// Plays a program that does nothing, until its starter is gone: the whole life of a placeholder.
///
/// # Errors
/// If the name can't be set, or standard input can't be read.
pub fn hold_place(name: &str) -> io::Result<()> {
    let kept: Vec<u8> = name.bytes().filter(|&byte| byte != 0).take(COMM).collect();
    rustix::thread::set_name(&CString::new(kept)?)?;
    io::stdout().write_all(READY)?;
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// A placeholder that runs, or did.
#[derive(Debug)]
pub(crate) struct Placeholder {
    child: Child,
    ended: bool,
}

impl Placeholder {
    pub(crate) fn start(starter: &Starter, name: &str) -> io::Result<Self> {
        let mut child = Command::new(&starter.program)
            .arg0(name)
            .args(&starter.arguments)
            .arg(name)
            // A group of its own: Ctrl-C is for the emulator.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = [0; READY.len()];
        let ready = child.stdout.take().map(|mut stdout| stdout.read_exact(&mut line));
        let placeholder = Self { child, ended: false };
        match ready {
            Some(Ok(())) => Ok(placeholder),
            _ => Err(io::Error::other("it ended at once")),
        }
    }

    /// Its thread's id, which is its process's.
    pub(crate) fn thread(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.ended = self.ended || self.child.try_wait().is_ok_and(|status| status.is_some());
        self.ended
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        if !self.ended {
            // It may have ended by itself.
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.ended = true;
        }
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        self.end();
    }
}
