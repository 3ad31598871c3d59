//! What is to be restored, written down in the state directory before it is changed: of resctrl
//! here, of threads elsewhere.

mod dir;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod seal;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::dir::{Dir, Refused};
use crate::{Error, OpenError, Thing};

/// How long another process may still have the state directory.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is written down.
pub trait Book: Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// The file is `NAME.json`, the one before it `NAME.json.before`, its lock `NAME.lock`.
    const NAME: &'static str;
    /// Which version is understood.
    const VERSION: u32;

    /// Which version this is.
    fn version(&self) -> u32;

    /// Whether there is nothing to restore.
    fn is_empty(&self) -> bool;

    /// Checks what it names, none of which may lead elsewhere.
    ///
    /// # Errors
    /// What is wrong, in a line.
    fn check(&self) -> Result<(), String>;
}

/// What the state directory holds.
#[derive(Debug)]
pub struct Found<B> {
    /// The ledger, or where that can't be read, the one before it; `None` where there is none.
    pub ledger: Option<B>,
    /// Where one that can't be read is kept, and why: what it tells could not be restored.
    pub damaged: Option<(Thing, String)>,
}

/// The state directory, which one process has at a time.
#[derive(Debug)]
pub struct State<B> {
    path: PathBuf,
    /// `None` in a dry run.
    dir: Option<Dir>,
    /// Held while this lives; `None` in a dry run.
    _lock: Option<OwnedFd>,
    /// What is written down, or will be with what comes next.
    pub ledger: B,
    /// Whether the ledger differs from the file.
    dirty: bool,
}

/// Ledgers that can't be read are kept, so many of them.
const KEPT: u32 = 100;

impl<B: Book> State<B> {
    /// Takes the directory for this process, and reads what it holds.
    ///
    /// # Errors
    /// If it can't be used, or read, or another process has it.
    pub fn open(path: &Path) -> Result<(Self, Found<B>), OpenError> {
        let dir = Dir::open(path).map_err(|why| match why {
            Refused::Unsafe(path, why) => OpenError::Input(format!("{}: {why}", path.display())),
            Refused::Io(path, why) => Error::State { path, why: why.to_string() }.into(),
        })?;
        let name = format!("{}.lock", B::NAME);
        let failed = |why: io::Error| Error::State { path: path.join(&name), why: why.to_string() };
        let lock = dir.lock(&name).map_err(failed)?;
        if !is_locked(&lock) {
            let path = path.display();
            return Err(OpenError::Busy(format!("{path}: another fairways manages this host")));
        }
        let state = Self {
            path: path.to_owned(),
            dir: Some(dir),
            _lock: Some(lock),
            ledger: B::default(),
            dirty: false,
        };
        let found = state.read()?;
        Ok((state, found))
    }

    /// For a dry run, which writes nothing.
    #[must_use]
    pub fn dry() -> Self {
        let ledger = B::default();
        Self { path: PathBuf::new(), dir: None, _lock: None, ledger, dirty: false }
    }

    /// Where it stands.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.join(Self::name(""))
    }

    fn name(kind: &str) -> String {
        format!("{}.json{kind}", B::NAME)
    }

    fn failed(&self, why: impl ToString) -> Error {
        Error::State { path: self.path(), why: why.to_string() }
    }

    /// The ledger, or the one before it where that can't be read, or was not renamed yet when its writer was killed.
    fn read(&self) -> Result<Found<B>, Error> {
        let mut found = Found { ledger: None, damaged: None };
        for kind in ["", BEFORE] {
            let name = Self::name(kind);
            let failed =
                |why: io::Error| Error::State { path: self.path.join(&name), why: why.to_string() };
            let Some(dir) = &self.dir else { break };
            let Some(text) = dir.read(&name).map_err(failed)? else { continue };
            match seal::read(&text) {
                Ok(ledger) => {
                    found.ledger = Some(ledger);
                    break;
                }
                Err(why) => {
                    let kept = self.keep(&name).map_err(failed)?;
                    let path = self.path.join(&name).display().to_string();
                    tracing::error!(
                        target: "fairways::actuate",
                        path, kept = %kept.display(), why, "the ledger can't be read"
                    );
                    found.damaged.get_or_insert((Thing::Ledger(kept), why));
                }
            }
        }
        if let (Some(_), Some((_, why))) = (&found.ledger, &mut found.damaged) {
            why.push_str(
                "; what the one before it tells was seen to, and not what was changed last",
            );
        }
        Ok(found)
    }

    /// Keeps a ledger that can't be read, beside those that are kept already.
    fn keep(&self, name: &str) -> io::Result<PathBuf> {
        let Some(dir) = &self.dir else { return Ok(PathBuf::new()) };
        let mut names = (1..=KEPT).map(|number| Self::name(&format!(".damaged.{number}")));
        let free = names.find(|name| !self.path.join(name).exists());
        let kept = free.ok_or_else(|| {
            io::Error::other(format!("expected at most {KEPT} damaged ledgers, found more"))
        })?;
        dir.rename(name, &kept)?;
        Ok(self.path.join(kept))
    }

    /// Keeps a ledger that is of no use beside, for whoever wants to look.
    ///
    /// # Errors
    /// If it can't be renamed.
    pub fn put_aside(&self, why: &str) -> Result<(), Error> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let aside = Self::name(".stale");
        let path = self.path.join(&aside).display().to_string();
        tracing::warn!(target: "fairways::actuate", path, why, "ledger put aside");
        // The one before it is of no use either; but it is the ledger where that was not renamed yet.
        let done = dir.rename(&Self::name(""), &aside).and_then(|was_there| {
            let before = Self::name(BEFORE);
            if was_there { dir.remove(&before) } else { dir.rename(&before, &aside) }
        });
        done.map(drop).map_err(|why| self.failed(why))
    }

    /// Writes down what is about to be done. If that fails, the ledger is as before, and nothing may be done.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn record(&mut self, change: impl FnOnce(&mut B)) -> Result<(), Error> {
        let before = self.ledger.clone();
        change(&mut self.ledger);
        if self.ledger != before || self.dirty {
            self.save().inspect_err(|_| self.ledger = before)?;
        }
        Ok(())
    }

    /// Takes note of what was done; written with what comes next, since without it less is known, but nothing wrong.
    pub fn note(&mut self, change: impl FnOnce(&mut B)) {
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
        let Some(dir) = &self.dir else { return Ok(()) };
        let (name, before) = (Self::name(""), Self::name(BEFORE));
        if self.ledger.is_empty() {
            // Without the ledger, the one before it would count.
            dir.remove(&before)?;
            return dir.remove(&name).map(drop);
        }
        let new = Self::name(".new");
        dir.create(&new, &seal::write(&self.ledger)?)?;
        // Between the two the one before it counts, as of nothing new anything was done yet.
        dir.rename(&name, &before)?;
        dir.rename(&new, &name).map(drop)
    }
}

/// What the name of the ledger before the last one ends in.
const BEFORE: &str = ".before";

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
