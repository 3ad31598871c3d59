//! A connection to an emulator's control socket (docs/emulator.md), for its
//! [clock](crate::clock::EmulatorClock), its [counters](counters::Emulated), and its
//! [services](service::Service).

pub mod counters;
pub mod service;
mod words;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairways_core::{AppId, Counters};
use serde_json::{Value, json};

pub(crate) use words::{ClockState, ProgramLatencies, Status};
use words::{ProgramCounters, field};

/// A connection that the parts of a host share.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Mutex<Socket>>);

#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    /// Every program's counters, by process; `None`: time has passed since they were last read.
    pub(crate) seen: Option<BTreeMap<i32, Counters>>,
    /// What is counted of each program.
    pub(crate) counted: BTreeMap<AppId, Vec<Joined>>,
    /// The counts of the threads that each program no longer has.
    pub(crate) kept: BTreeMap<AppId, Counters>,
}

/// A program's thread, and its counts before it was the program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined {
    pub(crate) pid: i32,
    pub(crate) from: Counters,
}

impl Connection {
    /// Connects to the emulator that listens there.
    ///
    /// # Errors
    /// If none does; the error names the socket.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let named = |why: io::Error| {
            let path = socket.display();
            io::Error::new(why.kind(), format!("{path}: no emulator listens there: {why}"))
        };
        let stream = BufReader::new(UnixStream::connect(socket).map_err(named)?);
        let (counted, kept) = (BTreeMap::new(), BTreeMap::new());
        let socket = Socket { path: socket.to_owned(), stream, seen: None, counted, kept };
        Ok(Self(Arc::new(Mutex::new(socket))))
    }

    pub(crate) fn socket(&self) -> MutexGuard<'_, Socket> {
        // A request and its answer are one whole line each, or the connection is broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Socket {
    /// Sends a request, and waits for this field of the answer.
    pub(crate) fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        request: &Value,
        answer: &str,
    ) -> io::Result<T> {
        let named = |why: &str| format!("emulator at {}: {why}", self.path.display());
        let broken = |why: io::Error| io::Error::new(why.kind(), named(&why.to_string()));
        let mut line = request.to_string();
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(broken)?;
        line.clear();
        if self.stream.read_line(&mut line).map_err(broken)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, named("it is gone")));
        }
        field(&line, answer).map_err(|why| io::Error::other(named(&why)))
    }

    /// What every program's counters show, by process.
    pub(crate) fn counters(&mut self) -> io::Result<&BTreeMap<i32, Counters>> {
        let seen = match self.seen.take() {
            Some(seen) => seen,
            None => {
                let all: Vec<ProgramCounters> = self.ask(&json!({"do": "counters"}), "counters")?;
                all.into_iter().map(|of| (of.pid, of.counters)).collect()
            }
        };
        Ok(self.seen.insert(seen))
    }

    /// Lets time pass, up to a moment that the request states.
    pub(crate) fn advance(&mut self, request: &Value) -> io::Result<Status> {
        self.seen = None;
        self.ask(request, "status")
    }
}
