//! The files of one ledger in the state directory.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::directory::{Dir, Refused};
use super::error::{LedgerError, OpenError};
use super::restored::Thing;
use super::{Book, Found, seal};

/// How long another process may still have the state directory.
const PATIENCE: Duration = Duration::from_millis(500);

/// The ending of the name of the ledger before the last one.
const BEFORE: &str = ".before";

/// How many ledgers that can't be read are kept.
const KEPT: u32 = 100;

/// The files of a ledger, which one process has at a time.
#[derive(Debug)]
pub(super) struct LedgerFiles {
    /// The state directory.
    path: PathBuf,
    /// The name of the ledger, without an ending.
    name: &'static str,
    dir: Dir,
    /// The lock, which is kept as long as this exists.
    _lock: OwnedFd,
}

impl LedgerFiles {
    /// Takes them for this process.
    pub(super) fn open(path: &Path, name: &'static str) -> Result<Self, OpenError> {
        let dir = Dir::open(path).map_err(|why| match why {
            Refused::Unsafe(path, why) => OpenError::Input(format!("{}: {why}", path.display())),
            Refused::Io(path, why) => LedgerError { path, why: why.to_string() }.into(),
        })?;
        let lock_name = format!("{name}.lock");
        let lock = dir.lock(&lock_name).map_err(|why| failed(path.join(&lock_name), why))?;
        if !is_locked(&lock) {
            let path = path.display();
            return Err(OpenError::Busy(format!("{path}: another fairways manages this host")));
        }
        Ok(Self { path: path.to_owned(), name, dir, _lock: lock })
    }

    /// Where the ledger is.
    pub(super) fn ledger(&self) -> PathBuf {
        self.path.join(self.file(""))
    }

    fn file(&self, kind: &str) -> String {
        format!("{}.json{kind}", self.name)
    }

    /// The ledger, or the one before it where that can't be read, or was not renamed yet when its
    /// writer was killed.
    pub(super) fn read<B: Book>(&self) -> Result<Found<B>, LedgerError> {
        let mut found = Found { ledger: None, damaged: None };
        for kind in ["", BEFORE] {
            let name = self.file(kind);
            let path = self.path.join(&name);
            let text = self.dir.read(&name).map_err(|why| failed(path.clone(), why))?;
            let Some(text) = text else { continue };
            match seal::read(&text) {
                Ok(ledger) => {
                    found.ledger = Some(ledger);
                    break;
                }
                Err(why) => {
                    let kept = self.keep(&name).map_err(|why| failed(path.clone(), why))?;
                    let path = path.display().to_string();
                    tracing::error!(
                        target: "fairways::actuate",
                        path, kept = %kept.display(), why, "the ledger can't be read"
                    );
                    found.damaged.get_or_insert((Thing::Ledger(kept), why));
                }
            }
        }
        if let (Some(_), Some((_, why))) = (&found.ledger, &mut found.damaged) {
            why.push_str("; what the one before it records was restored, but not the last changes");
        }
        Ok(found)
    }

    /// Keeps a ledger that can't be read, beside those that are kept already.
    fn keep(&self, name: &str) -> io::Result<PathBuf> {
        let mut names = (1..=KEPT).map(|number| self.file(&format!(".damaged.{number}")));
        let free = names.find(|name| !self.path.join(name).exists());
        let kept = free.ok_or_else(|| {
            io::Error::other(format!("expected at most {KEPT} damaged ledgers, found more"))
        })?;
        self.dir.rename(name, &kept)?;
        Ok(self.path.join(kept))
    }

    /// Keeps a ledger that is of no use beside.
    pub(super) fn put_aside(&self, why: &str) -> Result<(), LedgerError> {
        let aside = self.file(".stale");
        let path = self.path.join(&aside).display().to_string();
        tracing::warn!(target: "fairways::actuate", path, why, "ledger put aside");
        // The one before it is of no use either; but it is the ledger if that was not renamed yet.
        let done = self.dir.rename(&self.file(""), &aside).and_then(|was_there| {
            let before = self.file(BEFORE);
            if was_there { self.dir.remove(&before) } else { self.dir.rename(&before, &aside) }
        });
        done.map(drop).map_err(|why| failed(self.ledger(), why))
    }

    /// Writes the ledger, so that the file is the old one or the new one at any time. An empty
    /// ledger is removed.
    pub(super) fn write(&self, ledger: &impl Book) -> Result<(), LedgerError> {
        self.try_to_write(ledger).map_err(|why| failed(self.ledger(), why))
    }

    /// Nothing is synced to the disk: a ledger that is lost with the whole system is for a boot
    /// that is over, and of no use.
    fn try_to_write(&self, ledger: &impl Book) -> io::Result<()> {
        let (name, before) = (self.file(""), self.file(BEFORE));
        if ledger.is_empty() {
            // Without the ledger, the one before it would count.
            self.dir.remove(&before)?;
            return self.dir.remove(&name).map(drop);
        }
        let new = self.file(".new");
        self.dir.create(&new, &seal::write(ledger)?)?;
        // Between the two renames the one before counts, which is right: nothing new was done yet.
        self.dir.rename(&name, &before)?;
        self.dir.rename(&new, &name).map(drop)
    }
}

fn failed(path: PathBuf, why: impl ToString) -> LedgerError {
    LedgerError { path, why: why.to_string() }
}

/// Locks a file for this process. Waits a little for a process that is just ending, or has only
/// just forked.
fn is_locked(file: &OwnedFd) -> bool {
    let until = Instant::now() + PATIENCE;
    while flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(PATIENCE / 50);
    }
    true
}
