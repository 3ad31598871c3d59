//! Reads a server's answers within limits: the server may be hostile, or broken.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a server may take for a connection, and for each part of an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// How long a whole answer may take.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// Why there is no histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It may work the next time.
    Passing(String),
    /// A limit was broken: the server is not asked for a while.
    Limit(String),
}

impl Trouble {
    /// The trouble with a place, such as a server.
    pub(super) fn at(place: &str, why: &io::Error) -> Self {
        let message = format!("{place}: {why}");
        match why.get_ref().is_some_and(|why| why.is::<BrokenLimit>()) {
            true => Self::Limit(message),
            false => Self::Passing(message),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Passing(why) | Self::Limit(why)) = self;
        f.write_str(why)
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self::Passing(why)
    }
}

/// A limit that was broken.
#[derive(Debug)]
struct BrokenLimit(String);

impl fmt::Display for BrokenLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BrokenLimit {}

/// The error of a broken limit, with what was expected.
pub(super) fn broken(expected: String) -> io::Error {
    io::Error::other(BrokenLimit(expected))
}

/// A connection whose reads can have a timeout.
pub(super) trait Timed: Read + Write + Send {
    fn set_timeout(&self, time: Duration) -> io::Result<()>;
}

impl Timed for TcpStream {
    fn set_timeout(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Timed for UnixStream {
    fn set_timeout(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// A connection on which answers have a limit of bytes, and of time.
pub(super) struct Bounded {
    stream: Box<dyn Timed>,
    most: u64,
    left: u64,
    until: Instant,
}

impl Bounded {
    /// Allows answers of at most `most` bytes.
    pub(super) fn new(stream: Box<dyn Timed>, most: u64) -> Self {
        Self { stream, most, left: most, until: Instant::now() + LONGEST }
    }

    /// Starts the limits again, for another answer.
    pub(super) fn renew(&mut self) {
        self.left = self.most;
        self.until = Instant::now() + LONGEST;
    }

    fn wait(&self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(broken(format!("expected an answer within {} s", LONGEST.as_secs())));
        }
        self.stream.set_timeout(left.min(TIMEOUT))
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 && !buffer.is_empty() {
            return Err(broken(format!("expected an answer of at most {} bytes", self.most)));
        }
        let read = self.stream.read(&mut buffer[..room])?;
        self.left -= u64::try_from(read).unwrap_or(self.left);
        Ok(read)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
