//! The daemon's control socket: a line is a JSON object, and so is each answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::status::Status;

/// No request is longer, no more clients are served at a time, and none is waited for longer.
const LONGEST: u64 = 1 << 12;
const MOST: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);

/// What a client asks: `{"do": "status"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// How the daemon and its programs are.
    Status {},
}

/// What the daemon answers: `{"status": {...}}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Response {
    /// To status.
    Status(Box<Status>),
    /// It could not be done: why, in a line.
    Error(String),
}

/// Serves clients until it is dropped.
pub(super) struct Control {
    path: PathBuf,
    listener: UnixListener,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens on a socket that the daemon's user alone may use. One that a daemon left behind is replaced.
    ///
    /// # Errors
    /// If a daemon listens there, or the socket can't be made.
    pub(super) fn start(path: &Path, status: Arc<Mutex<Status>>) -> io::Result<Self> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon listens there"));
        }
        match std::fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            _ => {}
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let accepting = listener.try_clone()?;
        let serve = move || {
            let clients = Arc::new(AtomicUsize::new(0));
            // Who shuts it down ends it.
            while let Ok((stream, _)) = accepting.accept() {
                welcome(stream, &clients, &status);
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(serve)?;
        Ok(Self { path: path.to_owned(), listener, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Attends to a client on a thread of its own, or turns it away.
fn welcome(stream: UnixStream, clients: &Arc<AtomicUsize>, status: &Arc<Mutex<Status>>) {
    if clients.fetch_add(1, Ordering::Relaxed) >= MOST {
        clients.fetch_sub(1, Ordering::Relaxed);
        let why = format!("expected at most {MOST} clients at a time");
        let _ = say(&stream, &Response::Error(why));
        return;
    }
    let (here, status) = (Arc::clone(clients), Arc::clone(status));
    let attending = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
        // A client that breaks off has asked enough.
        let _ = attend(&stream, &status);
        here.fetch_sub(1, Ordering::Relaxed);
    });
    if attending.is_err() {
        clients.fetch_sub(1, Ordering::Relaxed);
    }
}

fn attend(stream: &UnixStream, status: &Mutex<Status>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        if reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            let why = format!("expected a line of less than {LONGEST} bytes");
            return say(stream, &Response::Error(why));
        }
        let response = match serde_json::from_slice(&line) {
            Ok(Request::Status {}) => Response::Status(Box::new(status.lock().clone())),
            Err(_) => Response::Error("expected {\"do\":\"status\"}".to_owned()),
        };
        say(stream, &response)?;
    }
}

fn say(mut stream: &UnixStream, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Asks the daemon that listens there.
///
/// # Errors
/// If nobody answers, or not in these words.
pub(super) fn ask(path: &Path, request: Request) -> io::Result<Response> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    line.clear();
    BufReader::new(stream).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}
