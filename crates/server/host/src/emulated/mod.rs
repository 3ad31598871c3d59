//! A connection to an emulator's control socket (docs/emulator.md), for its
//! [clock](crate::clock::EmulatorClock), its [counters](counters::Emulated), and its
//! [services](service::Service).

pub mod counters;
pub mod service;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairways_core::{AppId, Counters};
use fairways_emulated::{Client, ClientError};

/// A connection that the parts of a host share.
#[derive(Clone, Debug)]
pub struct Connection(Arc<Mutex<Socket>>);

#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    client: Client,
    /// The counters of every program, by process; `None` once time has passed since the last
    /// reading.
    pub(crate) seen: Option<BTreeMap<i32, Counters>>,
    /// The counted threads of each program.
    pub(crate) counted: BTreeMap<AppId, Vec<Joined>>,
    /// By program: the counts of threads that no longer belong to it.
    pub(crate) kept: BTreeMap<AppId, Counters>,
}

/// A program's thread, with its counts before it belonged to the program.
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
        let client = Client::connect(socket).map_err(io::Error::other)?;
        let (counted, kept) = (BTreeMap::new(), BTreeMap::new());
        let socket = Socket { path: socket.to_owned(), client, seen: None, counted, kept };
        Ok(Self(Arc::new(Mutex::new(socket))))
    }

    pub(crate) fn socket(&self) -> MutexGuard<'_, Socket> {
        // A request and its answer are one whole line each, or the connection is broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Socket {
    /// Makes a request to the emulator; an error names its socket.
    pub(crate) fn ask<T>(
        &mut self,
        ask: impl FnOnce(&mut Client) -> Result<T, ClientError>,
    ) -> io::Result<T> {
        ask(&mut self.client)
            .map_err(|why| io::Error::other(format!("emulator at {}: {why}", self.path.display())))
    }

    /// The counters of every program, by process.
    pub(crate) fn counters(&mut self) -> io::Result<&BTreeMap<i32, Counters>> {
        let seen = match self.seen.take() {
            Some(seen) => seen,
            None => {
                let all = self.ask(|client| client.counters(None))?;
                all.into_iter().map(|of| (of.pid, of.counters)).collect()
            }
        };
        Ok(self.seen.insert(seen))
    }
}
