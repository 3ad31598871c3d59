//! Accepts clients, reads their requests and answers them, and waits for none of them for long.
//!
//! One thread accepts all clients and waits for all requests at once. A silent connection costs a
//! descriptor, and is closed if newer ones need its place. The same thread answers probes of the
//! daemon's health, so that no other client can delay them. Pages are made and sent by other
//! threads.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::http::{Answer, LONGEST, Request, request};
use super::stream::{Listener, Stream};
use crate::clients::Clients;
use crate::config::Listen;
use crate::socket;

/// At most this many pages are made and sent at a time: enough for a Prometheus or two and some
/// people.
const MOST: usize = 16;

/// At most this many connections wait for their requests: beyond that, the one that has waited
/// longest is closed.
const WAITING: usize = 128;

/// The longest wait for a request's head, and for a client to read its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait if no client can be accepted, and how often to check whether to stop.
const RETRY: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);

/// The most bytes that are still read from a client that was refused, so that it can see the
/// reason.
const REST: usize = 1 << 16;

/// The answers to requests.
pub(super) trait Pages: Send + Sync + 'static {
    /// The answer to all requests but those for a [page](Self::page).
    fn at_once(&self, request: &Request) -> Option<Answer>;

    /// An answer that takes a while to make.
    fn page(&self, request: &Request) -> Answer;
}

/// Serves clients until it is dropped.
pub(super) struct Server {
    at: Listen,
    listener: Arc<Listener>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// A socket to remove on drop.
    path: Option<PathBuf>,
}

impl Server {
    /// Listens there. A socket that an earlier daemon left behind is replaced; every user may
    /// connect to it, as to a port.
    ///
    /// # Errors
    /// If the address is in use, or can't be used.
    pub(super) fn start(at: &Listen, pages: Arc<dyn Pages>) -> io::Result<Self> {
        let (listener, at, path) = match at {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                let at = Listen::Tcp(listener.local_addr()?);
                (Listener::bind_tcp(listener)?, at, None)
            }
            Listen::Unix(path) => {
                let listener = Listener::bind_unix(socket::bind(path, 0o666)?)?;
                (listener, at.clone(), Some(path.clone()))
            }
        };
        let (listener, over) = (Arc::new(listener), Arc::new(AtomicBool::new(false)));
        let (accepting, ends) = (Arc::clone(&listener), Arc::clone(&over));
        let serve = move || {
            let mut door = Entrance { pages, clients: Clients::default(), waiting: Vec::new() };
            while !ends.load(Ordering::Relaxed) {
                door.turn(&accepting);
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

/// A connection whose request is not complete yet, or whose answer says what is wrong with it.
struct Waiting {
    stream: Stream,
    came: Vec<u8>,
    until: Instant,
    /// How many bytes are still read after the answer: closing a socket with unread bytes would
    /// discard it (RFC 9112 §9.6).
    rest: Option<usize>,
}

/// The state of a connection after a reading.
enum Heard {
    /// The request is incomplete.
    Nothing,
    /// The client has disconnected.
    Gone,
    /// A request for a page.
    Request(Request),
    /// A probe, a wrong request, or a client that gets no page.
    AtOnce(Answer),
}

/// The connections that wait for their requests, the oldest first.
struct Entrance {
    pages: Arc<dyn Pages>,
    clients: Clients,
    waiting: Vec<Waiting>,
}

impl Entrance {
    /// Waits until something comes, and handles it.
    fn turn(&mut self, listener: &Listener) {
        let now = Instant::now();
        let first = self.waiting.first().map(|first| first.until.saturating_duration_since(now));
        let patience = Timespec::try_from(first.map_or(LOOK, |first| first.min(LOOK))).ok();
        let mut polled = vec![PollFd::new(listener, PollFlags::IN)];
        polled.extend(self.waiting.iter().map(|of| PollFd::new(&of.stream, PollFlags::IN)));
        if poll(&mut polled, patience.as_ref()).is_err() {
            return;
        }
        let came: Vec<bool> = polled.iter().map(|of| !of.revents().is_empty()).collect();
        drop(polled);
        let (is_new, came) =
            came.split_first().map_or((false, &[][..]), |(new, came)| (*new, came));
        self.hear(came);
        if is_new {
            self.let_in(listener);
        }
        let now = Instant::now();
        let late = self.waiting.partition_point(|of| of.until <= now);
        for late in self.waiting.drain(..late).filter(|of| of.rest.is_none()) {
            let why = format!("expected a request within {} s", PATIENCE.as_secs());
            reply(&late.stream, &Answer::error(408, &why));
        }
    }

    /// Accepts all waiting clients.
    fn let_in(&mut self, listener: &Listener) {
        for _ in 0..WAITING {
            match listener.accept() {
                Ok(stream) => {
                    if stream.set_waits(false).is_err() {
                        continue;
                    }
                    if self.waiting.len() >= WAITING {
                        self.waiting.remove(0);
                    }
                    let until = Instant::now() + PATIENCE;
                    let (came, rest) = (Vec::new(), None);
                    self.waiting.push(Waiting { stream, came, until, rest });
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => return,
                // For example, no descriptors are left.
                Err(_) if self.waiting.is_empty() => return std::thread::sleep(RETRY),
                Err(_) => drop(self.waiting.remove(0)),
            }
        }
    }

    /// Reads what has arrived, and answers complete requests.
    fn hear(&mut self, came: &[bool]) {
        let ready = came.iter().enumerate().filter(|(_, came)| **came);
        // In reverse order, since finished connections are removed.
        for (index, _) in ready.rev() {
            let heard = heard(&mut self.waiting[index], &*self.pages);
            match heard {
                Heard::Nothing => {}
                Heard::AtOnce(answer) if answer.code != 200 => {
                    let wrong = &mut self.waiting[index];
                    reply(&wrong.stream, &answer);
                    wrong.rest = Some(REST);
                }
                Heard::AtOnce(answer) => reply(&self.waiting.remove(index).stream, &answer),
                Heard::Request(request) => {
                    let stream = self.waiting.remove(index).stream;
                    self.welcome(stream, request);
                }
                Heard::Gone => drop(self.waiting.remove(index)),
            }
        }
    }

    /// Answers a request for a page on its own thread, or rejects it.
    fn welcome(&self, stream: Stream, request: Request) {
        let Some(place) = self.clients.enter(MOST) else {
            let why = format!("expected at most {MOST} clients at a time");
            return reply(&stream, &Answer::error(503, &why));
        };
        let pages = Arc::clone(&self.pages);
        // Without a thread, the client is rejected.
        let _ = std::thread::Builder::new().name("scrape".to_owned()).spawn(move || {
            let _place = place;
            // A client may disconnect at any time.
            let _ = send(&stream, &request.answer(pages.page(&request)));
        });
    }
}

/// Reads everything that is available on a connection.
fn heard(of: &mut Waiting, pages: &dyn Pages) -> Heard {
    let mut part = [0; 2048];
    loop {
        let got = match (&of.stream).read(&mut part) {
            Ok(0) => return Heard::Gone,
            Ok(got) => got,
            Err(why) if why.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Heard::Gone,
        };
        if let Some(rest) = &mut of.rest {
            *rest = rest.saturating_sub(got);
            if *rest == 0 {
                return Heard::Gone;
            }
            continue;
        }
        let room = LONGEST - of.came.len();
        of.came.extend_from_slice(&part[..got.min(room)]);
        match request(&of.came) {
            None => {}
            Some(Err(wrong)) => return Heard::AtOnce(wrong),
            Some(Ok(request)) => match pages.at_once(&request) {
                Some(answer) => return Heard::AtOnce(request.answer(answer)),
                None => return Heard::Request(request),
            },
        }
    }
}

/// Sends a short answer without waiting: the socket has room for it, or the client is gone.
fn reply(stream: &Stream, answer: &Answer) {
    let mut stream = stream;
    let _ = stream.write(&answer.bytes());
    let _ = stream.finish();
}

/// Sends an answer, and gives up on a client that does not read it in time.
fn send(stream: &Stream, answer: &Answer) -> io::Result<()> {
    stream.set_waits(true)?;
    let bytes = answer.bytes();
    let (until, mut rest) = (Instant::now() + PATIENCE, &bytes[..]);
    while !rest.is_empty() {
        stream.wait_until(until)?;
        match (&*stream).write(rest)? {
            0 => return Ok(()),
            sent => rest = &rest[sent..],
        }
    }
    stream.finish()
}
