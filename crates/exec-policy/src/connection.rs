//! Lines to a program and back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::faults::{LONGEST, ProgramFault};

/// A program that was started, and its input and output.
pub(crate) struct ProgramConnection {
    stream: UnixStream,
    /// What it wrote beyond the last answer.
    read: Vec<u8>,
    /// Ends the program when it is dropped.
    _program: Box<dyn Send>,
}

impl ProgramConnection {
    pub(crate) fn new(stream: UnixStream, program: Box<dyn Send>) -> Self {
        Self { stream, read: Vec::new(), _program: program }
    }

    /// Sends a line, without its end, and waits for the answer at most `timeout`.
    pub(crate) fn ask(
        &mut self,
        mut line: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ProgramFault> {
        let end = Instant::now() + timeout;
        if !self.read.is_empty() {
            return Err(ProgramFault::Unasked);
        }
        line.push(b'\n');
        self.stream.set_write_timeout(Some(timeout)).map_err(ProgramFault::Io)?;
        self.stream.write_all(&line).map_err(|why| failed(why, timeout))?;
        let mut piece = [0; 1 << 14];
        let mut searched = 0;
        loop {
            if let Some(found) = self.read[searched..].iter().position(|&byte| byte == b'\n') {
                let rest = self.read.split_off(searched + found + 1);
                let mut answer = std::mem::replace(&mut self.read, rest);
                answer.pop();
                return Ok(answer);
            }
            searched = self.read.len();
            if searched > LONGEST {
                return Err(ProgramFault::TooLong);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ProgramFault::Late(timeout));
            }
            self.stream.set_read_timeout(Some(left)).map_err(ProgramFault::Io)?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ProgramFault::Ended),
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(failed(why, timeout)),
            }
        }
    }
}

fn failed(why: std::io::Error, timeout: Duration) -> ProgramFault {
    match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ProgramFault::Late(timeout),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ProgramFault::Ended,
        _ => ProgramFault::Io(why),
    }
}
