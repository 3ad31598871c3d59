//! Unmounts after the emulator when it can't: after SIGKILL.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use fairways_linux::mounts::mounts_of;

use super::unmount_device;
use crate::placeholder::Starter;

/// The byte that reports that nothing is left to do.
const DONE: u8 = b'd';

/// A guardian that watches, in a session of its own.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    pub(crate) fn start(
        starter: &Starter,
        (dir, device): (&Path, &str),
        socket: &Path,
    ) -> io::Result<Self> {
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
        if !wait(&mut self.child, PATIENCE) {
            // It was stopped by a signal.
            let _ = self.child.kill();
            wait(&mut self.child, PATIENCE);
        }
    }
}

/// How long to wait for a process that has nothing left to do.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits for a process at most this long; returns whether it has ended.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> bool {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if started.elapsed() < limit => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(None) => return false,
            // There is no process to wait for.
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

/// The whole life of a guardian: leaves the session of its starter, waits until its standard input
/// ends, and then, unless that reported that all is done, unmounts the device, which was mounted on
/// `dir` at first, and removes the socket.
///
/// # Errors
/// If it stays mounted.
pub fn guard(dir: &Path, socket: &Path, device: &str) -> io::Result<()> {
    // Fails only where it leads a group already; then signals to the emulator's group do not reach
    // it either.
    let _ = rustix::process::setsid();
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    if input.contains(&DONE) || mounts_of(device)?.is_empty() {
        return Ok(());
    }
    let gone = unmount_device(device);
    gone.map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", dir.display())))?;
    let _ = std::fs::remove_file(socket);
    Ok(())
}
