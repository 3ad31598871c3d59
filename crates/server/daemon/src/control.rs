//! The daemon's control socket: a line is a JSON object, and so is each answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fairways_record::client::{Request, Response};
use fairways_record::status::MachineRecord;
use parking_lot::Mutex;

use super::clients::Clients;
use super::losses::SharedLosses;
use super::nri::NriTotals;
use super::observer::HostObserver;
use super::socket;

/// The longest request, the most clients at a time, and the longest wait for a client.
const LONGEST: u64 = 1 << 12;
const MOST: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait if no client can be accepted.
const RETRY: Duration = Duration::from_millis(100);

/// What clients may request.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    pub(super) watched: Arc<Mutex<MachineRecord>>,
    /// `None` under a policy that schedules, which knows threads instead of programs.
    pub(super) losses: Option<SharedLosses>,
    /// The totals of announced containers; `None` without NRI.
    pub(super) nri: Option<Arc<Mutex<NriTotals>>>,
}

/// Serves clients until it is dropped.
pub(super) struct Control {
    path: PathBuf,
    listener: UnixListener,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Listens on a socket that only the daemon's user may use. Replaces one that an earlier daemon
    /// left behind.
    ///
    /// # Errors
    /// If another daemon listens there, or the socket can't be made.
    pub(super) fn start(path: &Path, served: Served) -> io::Result<Self> {
        let listener = socket::bind(path, 0o600)?;
        let accepting = listener.try_clone()?;
        let ends = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ends);
        let serve = move || {
            let clients = Clients::default();
            while !over.load(Ordering::Relaxed) {
                match accepting.accept() {
                    Ok((stream, _)) => welcome(stream, &clients, &served),
                    Err(_) if over.load(Ordering::Relaxed) => {}
                    // For example, no descriptors are left. Clients wait meanwhile.
                    Err(why) => {
                        tracing::warn!("a client can't be let in: {why}");
                        std::thread::sleep(RETRY);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(serve)?;
        Ok(Self { path: path.to_owned(), listener, over: ends, thread: Some(thread) })
    }
}

/// It serves clients until the run ends.
impl HostObserver for Control {}

impl Drop for Control {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves a client on its own thread, or rejects it.
fn welcome(stream: UnixStream, clients: &Clients, served: &Served) {
    let Some(place) = clients.enter(MOST) else {
        let why = format!("expected at most {MOST} clients at a time");
        let _ = send(&stream, &Response::Error(why));
        return;
    };
    let served = served.clone();
    // Without a thread, the client is rejected.
    let _ = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
        let _place = place;
        // A client may disconnect at any time.
        let _ = attend(&stream, &served);
    });
}

/// Answers a client's requests until it disconnects.
pub(super) fn attend(stream: &UnixStream, served: &Served) -> io::Result<()> {
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
            return send(stream, &Response::Error(why));
        }
        let response = match serde_json::from_slice(&line) {
            Ok(request) => served.answer(request),
            Err(_) => {
                let wrong =
                    "expected {\"do\":\"status\"}, {\"do\":\"explain\"} or {\"do\":\"blame\"}";
                Response::Error(wrong.to_owned())
            }
        };
        send(stream, &response)?;
    }
}

impl Served {
    fn answer(&self, request: Request) -> Response {
        match request {
            Request::Status {} => Response::Status(Box::new(self.watched.lock().status.clone())),
            Request::Explain {} => {
                Response::Decisions(self.watched.lock().decisions.kept().collect())
            }
            Request::Blame { brief } => match &self.losses {
                Some(losses) => {
                    let status = self.watched.lock().status.clone();
                    Response::Blame(losses.reports(&status, !brief))
                }
                None => Response::Error(
                    "expected a policy that gives out ways: losses are not attributed to threads \
                     that take turns"
                        .to_owned(),
                ),
            },
        }
    }
}

fn send(mut stream: &UnixStream, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use fairways_record::client;
    use fairways_record::status::Status;

    use super::*;

    fn served() -> Served {
        let record = MachineRecord::new(Status { pid: 7, ..Status::default() });
        Served { watched: Arc::new(Mutex::new(record)), losses: None, nri: None }
    }

    #[test]
    fn a_request_is_answered_and_anything_else_gets_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/control");
        let control = Control::start(&path, served()).unwrap();
        assert_eq!(client::status(Some(&path)).unwrap().pid, 7);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"{\"do\":\"dance\"}\n").unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert_eq!(
            line,
            "{\"error\":\"expected {\\\"do\\\":\\\"status\\\"}, {\\\"do\\\":\\\"explain\\\"} or {\\\"do\\\":\\\"blame\\\"}\"}\n"
        );
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(control);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_stays_and_a_socket_left_behind_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "somebody's").unwrap();
        assert!(Control::start(&path, served()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's");
        let path = folder.path().join("left");
        drop(UnixListener::bind(&path).unwrap());
        let first = Control::start(&path, served()).unwrap();
        let second = Control::start(&path, served()).map(|_| ()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(first);
    }
}
