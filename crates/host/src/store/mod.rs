//! What is to be restored, written down in the state directory before it is changed.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::actuate::{Error, OpenError};

/// How long another process may still have the state directory.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is written down.
pub(crate) trait Book: Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// The file is `NAME.json`, its lock `NAME.lock`.
    const NAME: &'static str;
    /// Which version is understood.
    const VERSION: u32;

    /// Which version this is.
    fn version(&self) -> u32;

    /// Whether there is nothing to restore.
    fn is_empty(&self) -> bool;
}

/// The state directory, which one process has at a time.
#[derive(Debug)]
pub(crate) struct State<B> {
    dir: PathBuf,
    /// Held while this lives; `None` in a dry run.
    _lock: Option<OwnedFd>,
    pub(crate) ledger: B,
    /// Whether the ledger differs from the file.
    dirty: bool,
}

impl<B: Book> State<B> {
    /// Takes the directory for this process, and reads what it holds: `None` where there is no ledger.
    pub(crate) fn open(dir: &Path) -> Result<(Self, Option<B>), OpenError> {
        let path = dir.join(format!("{}.lock", B::NAME));
        let failed = |why: io::Error| Error::State { path: path.clone(), why: why.to_string() };
        fs::create_dir_all(dir).map_err(failed)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = OwnedFd::from(file.map_err(failed)?);
        if !is_locked(&lock) {
            let dir = dir.display();
            return Err(OpenError::Busy(format!("{dir}: another fairways manages this host")));
        }
        let state =
            Self { dir: dir.to_owned(), _lock: Some(lock), ledger: B::default(), dirty: false };
        let found = state.read()?;
        Ok((state, found))
    }

    /// For a dry run, which writes nothing.
    pub(crate) fn dry() -> Self {
        Self { dir: PathBuf::new(), _lock: None, ledger: B::default(), dirty: false }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(format!("{}.json", B::NAME))
    }

    fn failed(&self, why: impl ToString) -> Error {
        Error::State { path: self.path(), why: why.to_string() }
    }

    /// A ledger that can't be read is put aside as one that is stale: nothing can be restored from it.
    fn read(&self) -> Result<Option<B>, Error> {
        let text = match fs::read(self.path()) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|why| self.failed(why))?,
        };
        let ledger = serde_json::from_slice::<B>(&text);
        match ledger {
            Ok(ledger) if ledger.version() == B::VERSION => Ok(Some(ledger)),
            Ok(ledger) => {
                let (version, expected) = (ledger.version(), B::VERSION);
                self.put_aside(&format!("version {version}: expected {expected}"))
            }
            Err(why) => self.put_aside(&format!("not a ledger: {why}")),
        }
    }

    /// Keeps a ledger that is of no use beside, for whoever wants to look.
    pub(crate) fn put_aside(&self, why: &str) -> Result<Option<B>, Error> {
        let aside = self.dir.join(format!("{}.json.stale", B::NAME));
        tracing::warn!(target: "fairways::actuate", path = %aside.display(), why, "ledger put aside");
        match fs::rename(self.path(), aside) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(self.failed(why)),
            _ => Ok(None),
        }
    }

    /// Writes down what is about to be done. If that fails, the ledger is as before, and nothing may be done.
    pub(crate) fn record(&mut self, change: impl FnOnce(&mut B)) -> Result<(), Error> {
        let before = self.ledger.clone();
        change(&mut self.ledger);
        if self.ledger != before || self.dirty {
            self.save().inspect_err(|_| self.ledger = before)?;
        }
        Ok(())
    }

    /// Takes note of what was done; written with what comes next, since without it less is known, but nothing wrong.
    pub(crate) fn note(&mut self, change: impl FnOnce(&mut B)) {
        change(&mut self.ledger);
        self.dirty = true;
    }

    /// Writes what was only taken note of.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        if self.dirty { self.save() } else { Ok(()) }
    }

    /// Writes the ledger, so that the file is the former one or this at any time; or removes it where nothing is in it.
    fn save(&mut self) -> Result<(), Error> {
        let done = self.write();
        done.map_err(|why| self.failed(why))?;
        self.dirty = false;
        Ok(())
    }

    /// Nothing is synced to the disk: what is lost with the whole system is of a boot that is over, and of no use.
    fn write(&self) -> io::Result<()> {
        if self.ledger.is_empty() {
            return match fs::remove_file(self.path()) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
                _ => Ok(()),
            };
        }
        let new = self.dir.join(format!("{}.json.new", B::NAME));
        fs::write(&new, serde_json::to_vec_pretty(&self.ledger)?)?;
        fs::rename(&new, self.path())
    }
}

/// Locks a file for this process. One that ends just now, or has only just forked, is waited for a little.
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
