//! Who unmounts when the emulator can't: after SIGKILL.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::{device_of, unmount};
use crate::placeholder::Starter;

/// The byte that says that nothing is left to do.
const DONE: u8 = b'd';

/// A guardian that watches, from a session of its own.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    pub(crate) fn start(starter: &Starter, dir: &Path, socket: &Path) -> io::Result<Self> {
        let device = device_of(dir)?.unwrap_or_default();
        let mut child = Command::new(&starter.program)
            .args(&starter.arguments)
            .arg(dir)
            .arg(socket)
            .arg(device)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let pipe = child.stdin.take();
        Ok(Self { child, pipe })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // It may be gone, and then has nothing to do either.
            let _ = pipe.write_all(&[DONE]);
        }
        let _ = self.child.wait();
    }
}

/// The whole life of a guardian: leaves the session of who started it, waits until its standard input ends, and then, if nobody
/// said that all is done, unmounts what is on `dir` with that device, and removes the socket.
///
/// # Errors
/// If it stays mounted.
pub fn guard(dir: &Path, socket: &Path, device: &str) -> io::Result<()> {
    // Fails only where it leads a group already; then signals to the emulator's group do not reach it either.
    let _ = rustix::process::setsid();
    let mut said = Vec::new();
    io::stdin().read_to_end(&mut said)?;
    if said.contains(&DONE) {
        return Ok(());
    }
    if device_of(dir)?.is_some_and(|there| there == device) {
        unmount(dir)?;
        let _ = std::fs::remove_file(socket);
    }
    Ok(())
}
