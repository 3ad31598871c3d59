//! Programs that a guest needs, and that end with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::Error;

/// A process that ends with this object.
pub(crate) struct Process(Child);

impl Process {
    /// Starts a [dependent](crate::tools::dependent) process.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self, Error> {
        command.spawn().map(Self).map_err(|e| Error::program("setpriv", e))
    }

    /// Its output and its errors, by line.
    pub(crate) fn lines(&mut self) -> Result<Receiver<String>, Error> {
        let (sender, receiver) = mpsc::channel();
        let output = self.0.stdout.take().ok_or_else(no_output)?;
        let errors = self.0.stderr.take().ok_or_else(no_output)?;
        let errors_to = sender.clone();
        thread::spawn(move || pass_on(output, &sender));
        thread::spawn(move || pass_on(errors, &errors_to));
        Ok(receiver)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pass_on(from: impl std::io::Read, to: &mpsc::Sender<String>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
        let text = String::from_utf8_lossy(&line);
        if to.send(text.trim_end_matches(['\n', '\r']).into()).is_err() {
            return;
        }
        line.clear();
    }
}

fn no_output() -> Error {
    Error::program("qemu-system-x86_64", "has no output")
}
