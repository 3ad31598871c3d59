//! Lines to a program and back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::faults::{LONGEST, ProgramFault};

/// The most bytes written at once: the kernel applies a timeout to each buffer of a long write, so
/// that a slow reader would draw it out.
const PIECE: usize = 1 << 14;

/// When a program is late.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    end: Instant,
    /// How long it was, for people.
    length: Duration,
    /// Whether it is for a start as a whole.
    is_start: bool,
}

impl Deadline {
    pub(crate) fn after(length: Duration) -> Self {
        Self { end: Instant::now() + length, length, is_start: false }
    }

    pub(crate) fn of_start(length: Duration) -> Self {
        Self { is_start: true, ..Self::after(length) }
    }

    const fn passed(self) -> ProgramFault {
        match self.is_start {
            true => ProgramFault::LateStart(self.length),
            false => ProgramFault::Late(self.length),
        }
    }

    pub(crate) fn earlier(self, other: Self) -> Self {
        if self.end <= other.end { self } else { other }
    }

    /// The time left, which is not 0.
    fn left(self) -> Result<Duration, ProgramFault> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.passed()) } else { Ok(left) }
    }
}

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

    /// Sends a line, without its end, and waits for the answer until `deadline` at most.
    pub(crate) fn ask(
        &mut self,
        mut line: Vec<u8>,
        deadline: Deadline,
    ) -> Result<Vec<u8>, ProgramFault> {
        if !self.read.is_empty() {
            return Err(ProgramFault::Unasked);
        }
        line.push(b'\n');
        self.write(&line, deadline)?;
        let mut piece = [0; PIECE];
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
            self.stream.set_read_timeout(Some(deadline.left()?)).map_err(ProgramFault::Io)?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ProgramFault::Ended),
                Ok(count) => self.read.extend_from_slice(&piece[..count]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(failed(why, deadline)),
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Deadline) -> Result<(), ProgramFault> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(deadline.left()?)).map_err(ProgramFault::Io)?;
            match self.stream.write(&bytes[..bytes.len().min(PIECE)]) {
                Ok(0) => return Err(ProgramFault::Ended),
                Ok(count) => bytes = &bytes[count..],
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(failed(why, deadline)),
            }
        }
        Ok(())
    }
}

fn failed(why: std::io::Error, deadline: Deadline) -> ProgramFault {
    match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => deadline.passed(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ProgramFault::Ended,
        _ => ProgramFault::Io(why),
    }
}
