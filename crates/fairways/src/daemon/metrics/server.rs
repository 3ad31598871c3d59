//! Who asks is let in, heard and answered, and never waited for long.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::http::{Answer, LONGEST, respond};
use crate::config::Listen;
use crate::daemon::clients::Clients;
use crate::daemon::socket;

/// No more clients are served at a time: a Prometheus or two, and who looks.
const MOST: usize = 16;

/// A request's head has come in this time, and an answer is taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait where no client can be let in.
const RETRY: Duration = Duration::from_millis(100);

/// So much that a client still sends is read, so that it sees why it was turned away.
const REST: usize = 1 << 16;

/// Tells what there is at a path, for who takes these kinds.
pub(super) type Pages = Arc<dyn Fn(&str, &str) -> Option<Answer> + Send + Sync>;

/// Serves clients until it is dropped.
pub(super) struct Server {
    at: Listen,
    listener: Arc<Listener>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// A socket to be removed.
    path: Option<PathBuf>,
}

impl Server {
    /// Listens there. A socket that a daemon left behind is replaced; it is open to all, as a port is.
    ///
    /// # Errors
    /// If it is taken, or can't be used.
    pub(super) fn start(at: &Listen, pages: Pages) -> io::Result<Self> {
        let (listener, at, path) = match at {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                let at = Listen::Tcp(listener.local_addr()?);
                (Listener::Tcp(listener), at, None)
            }
            Listen::Unix(path) => {
                let listener = socket::bind(path, 0o666)?;
                (Listener::Unix(listener), at.clone(), Some(path.clone()))
            }
        };
        let (listener, over) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (accepting, ends) = (Arc::clone(&listener), Arc::clone(&over));
        let serve = move || {
            let clients = Clients::default();
            while !ends.load(Ordering::Relaxed) {
                match accepting.accept() {
                    Ok(stream) => welcome(stream, &clients, &pages),
                    // Out of descriptors, say. Clients wait meanwhile.
                    Err(_) if !ends.load(Ordering::Relaxed) => std::thread::sleep(RETRY),
                    Err(_) => {}
                }
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
        Ok(Self { at, listener, over, thread: Some(thread), path })
    }

    /// Where it listens.
    pub(super) const fn at(&self) -> &Listen {
        &self.at
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = rustix::net::shutdown(self.listener.as_fd(), rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Attends to a client on a thread of its own, or turns it away.
fn welcome(stream: Stream, clients: &Clients, pages: &Pages) {
    let Some(place) = clients.enter(MOST) else {
        let answer = Answer::error(503, &format!("expected at most {MOST} clients at a time"));
        // There is room for so little, or the client has gone.
        let _ = stream.set_timeout(Duration::from_millis(1));
        let _ = (&stream).write_all(&answer.bytes());
        return;
    };
    let pages = Arc::clone(pages);
    // Without a thread it is turned away.
    let _ = std::thread::Builder::new().name("scrape".to_owned()).spawn(move || {
        let _place = place;
        // A client that breaks off has seen enough.
        let _ = attend(&stream, &*pages);
    });
}

fn attend(stream: &Stream, pages: &dyn Fn(&str, &str) -> Option<Answer>) -> io::Result<()> {
    let answer = hear(stream, pages)?;
    let bytes = answer.bytes();
    let (until, mut rest) = (Instant::now() + PATIENCE, &bytes[..]);
    while !rest.is_empty() {
        stream.wait_until(until)?;
        match (&*stream).write(rest)? {
            0 => return Ok(()),
            sent => rest = &rest[sent..],
        }
    }
    stream.finish()?;
    if answer.code == 200 {
        return Ok(());
    }
    // What is not read when a socket is closed takes the answer along (RFC 9112 §9.6).
    let mut part = [0; 4096];
    for _ in 0..REST / part.len() {
        stream.wait_until(until)?;
        if (&*stream).read(&mut part)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Waits for a request, and answers it.
fn hear(stream: &Stream, pages: &dyn Fn(&str, &str) -> Option<Answer>) -> io::Result<Answer> {
    let (until, mut came) = (Instant::now() + PATIENCE, Vec::new());
    let mut part = [0; 2048];
    loop {
        let got = match stream.wait_until(until).and_then(|()| (&*stream).read(&mut part)) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(got) => got,
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let why = format!("expected a request within {} s", PATIENCE.as_secs());
                return Ok(Answer::error(408, &why));
            }
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        let room = LONGEST - came.len();
        came.extend_from_slice(&part[..got.min(room)]);
        if let Some(answer) = respond(&came, pages) {
            return Ok(answer);
        }
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(of) => of.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Self::Unix(of) => of.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(of) => of.as_fd(),
            Self::Unix(of) => of.as_fd(),
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Nothing takes longer from now on than until then.
    fn wait_until(&self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.set_timeout(left)
    }

    fn set_timeout(&self, time: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(of) => {
                of.set_read_timeout(Some(time))?;
                of.set_write_timeout(Some(time))
            }
            Self::Unix(of) => {
                of.set_read_timeout(Some(time))?;
                of.set_write_timeout(Some(time))
            }
        }
    }

    /// Nothing more is sent.
    fn finish(&self) -> io::Result<()> {
        match self {
            Self::Tcp(of) => of.shutdown(Shutdown::Write),
            Self::Unix(of) => of.shutdown(Shutdown::Write),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(of) => {
                let mut of = of;
                of.read(buffer)
            }
            Stream::Unix(of) => {
                let mut of = of;
                of.read(buffer)
            }
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(of) => {
                let mut of = of;
                of.write(bytes)
            }
            Stream::Unix(of) => {
                let mut of = of;
                of.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
