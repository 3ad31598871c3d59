//! A socket that programs send lines to.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use fairways_core::LatencyBin;

use super::super::Source;
use super::{Lines, OpenError};

/// The most bytes of a datagram.
const MOST_BYTES: usize = 64 << 10;

/// How soon the thread notices that its source is gone.
const PATROL: Duration = Duration::from_millis(200);

/// Latencies in the lines of datagrams that are sent to a Unix socket; a datagram may contain
/// several.
///
/// A thread of its own receives them as they come: otherwise a sender would soon wait, as the
/// kernel queues only `net.unix.max_dgram_qlen` of them. The socket is removed with the source.
pub struct SocketSource {
    path: PathBuf,
    lines: Arc<Mutex<Lines>>,
}

impl SocketSource {
    /// Makes the socket.
    ///
    /// A socket without a listener, as a killed daemon leaves it, is replaced.
    ///
    /// # Errors
    /// If another file is at its path, or it can't be made there.
    pub fn bind(path: PathBuf) -> Result<Self, OpenError> {
        clear(&path)?;
        let bound = UnixDatagram::bind(&path)
            .and_then(|socket| socket.set_read_timeout(Some(PATROL)).map(|()| socket));
        let socket = match bound {
            Ok(socket) => socket,
            Err(error) => return Err(OpenError::Socket { path, error }),
        };
        let lines = Arc::new(Mutex::new(Lines::new(path.display().to_string())));
        let shared = Arc::downgrade(&lines);
        let source = Self { path, lines };
        let thread = thread::Builder::new().name("latencies".to_owned());
        thread.spawn(move || receive(&socket, &shared)).map_err(OpenError::Thread)?;
        Ok(source)
    }
}

/// Lines that are half read do no harm: a thread that panicked lost at most one.
fn locked(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn receive(socket: &UnixDatagram, shared: &Weak<Mutex<Lines>>) {
    let mut bytes = vec![0; MOST_BYTES];
    loop {
        let read = socket.recv(&mut bytes);
        let Some(lines) = shared.upgrade() else { return };
        match read {
            Ok(read) => {
                let mut lines = locked(&lines);
                lines.push(bytes.get(..read).unwrap_or_default());
                lines.end();
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => {
                tracing::warn!(source = locked(&lines).name, %error, "latencies are unknown");
                return;
            }
        }
    }
}

fn clear(path: &Path) -> Result<(), OpenError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(OpenError::Socket { path: path.to_owned(), error }),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            Err(OpenError::NoSocket(path.to_owned()))
        }
        Ok(_) => match UnixDatagram::unbound().and_then(|socket| socket.connect(path)) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)
                .map_err(|error| OpenError::Socket { path: path.to_owned(), error }),
            _ => Err(OpenError::InUse(path.to_owned())),
        },
    }
}

impl Source for SocketSource {
    fn answered(&mut self) -> Option<Vec<LatencyBin>> {
        locked(&self.lines).take_answered()
    }
}

impl Drop for SocketSource {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn more_datagrams_than_the_kernel_holds_are_received_between_two_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let mut source = SocketSource::bind(path.clone()).unwrap();
        assert_eq!(source.answered(), None);
        let sender = UnixDatagram::unbound().unwrap();
        for _ in 0..2000 {
            sender.send_to(b"1ms\n2ms", &path).unwrap();
        }
        let (mut requests, began) = (0, Instant::now());
        while requests < 4000 && began.elapsed() < Duration::from_secs(10) {
            let answered = source.answered().unwrap_or_default();
            requests += answered.iter().map(|answered| answered.requests).sum::<u64>();
        }
        assert_eq!(requests, 4000);
        drop(source);
        assert!(!path.exists());
    }

    #[test]
    fn only_a_socket_without_a_listener_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let left = UnixDatagram::bind(&path).unwrap();
        let taken = SocketSource::bind(path.clone()).err().unwrap();
        assert!(matches!(taken, OpenError::InUse(_)), "{taken}");
        drop(left);
        drop(SocketSource::bind(path.clone()).unwrap());
        fs::write(&path, "mine").unwrap();
        let file = SocketSource::bind(path.clone()).err().unwrap();
        assert!(matches!(file, OpenError::NoSocket(_)), "{file}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
