//! Connections over either kind of socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// A listening socket that never blocks.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub(super) fn bind_tcp(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    pub(super) fn bind_unix(listener: UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener))
    }

    /// The next connection; the error `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(socket) => socket.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Self::Unix(socket) => socket.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// A connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Sets whether reading and writing block.
    pub(super) fn set_waits(&self, waits: bool) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_nonblocking(!waits),
            Self::Unix(socket) => socket.set_nonblocking(!waits),
        }
    }

    /// Makes reading and writing fail after `until`.
    pub(super) fn wait_until(&self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.set_timeout(left)
    }

    fn set_timeout(&self, time: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => {
                socket.set_read_timeout(Some(time))?;
                socket.set_write_timeout(Some(time))
            }
            Self::Unix(socket) => {
                socket.set_read_timeout(Some(time))?;
                socket.set_write_timeout(Some(time))
            }
        }
    }

    /// Ends sending.
    pub(super) fn finish(&self) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Write),
            Self::Unix(socket) => socket.shutdown(Shutdown::Write),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => {
                let mut socket = socket;
                socket.read(buffer)
            }
            Stream::Unix(socket) => {
                let mut socket = socket;
                socket.read(buffer)
            }
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => {
                let mut socket = socket;
                socket.write(bytes)
            }
            Stream::Unix(socket) => {
                let mut socket = socket;
                socket.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
