//! The lock between managers of one resctrl.
//!
//! Source: resctrl.rst, "Locking between applications": flock(2) on the mount's root, around every operation of several files.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock, fstat, major, minor};
use rustix::io::Errno;

use super::Error;
use super::tree::Tree;

/// How often it is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _root: OwnedFd,
}

impl Lock {
    /// Takes the lock, or gives up after `patience`, which goes by attempts: who was stopped meanwhile has not waited.
    pub(super) fn take(tree: &Tree, proc: &Path, patience: Duration) -> Result<Self, Error> {
        let root = tree.another()?;
        let mut waited = Duration::ZERO;
        loop {
            match flock(&root, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _root: root }),
                Err(Errno::AGAIN | Errno::INTR) if waited < patience => {
                    sleep(PAUSE);
                    waited += PAUSE;
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    return Err(Error::Locked {
                        root: tree.root().to_owned(),
                        seconds: patience.as_secs(),
                        holder: holder(&root, proc).unwrap_or_default(),
                    });
                }
                Err(errno) => {
                    return Err(Error::Io {
                        doing: "flock".to_owned(),
                        path: tree.root().to_owned(),
                        errno,
                        status: Vec::new(),
                    });
                }
            }
        }
    }
}

/// Who holds it, as /proc/locks tells (proc_locks(5)): `, by NAME (PID)`.
fn holder(root: &impl AsFd, proc: &Path) -> Option<String> {
    let about = fstat(root).ok()?;
    let (major, minor) = (major(about.st_dev), minor(about.st_dev));
    let file = format!("{major:02x}:{minor:02x}:{}", about.st_ino);
    let locks = fs::read_to_string(proc.join("locks")).ok()?;
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ours = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&file.as_str());
        ours.then(|| words.get(4).copied().unwrap_or_default().to_owned())
    };
    let pid = locks.lines().find_map(of)?;
    let name = fs::read_to_string(proc.join(&pid).join("comm")).unwrap_or_default();
    Some(format!(", by {} ({pid})", name.trim()))
}
