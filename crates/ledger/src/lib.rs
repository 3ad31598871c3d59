//! What is to be restored, written down in the state directory before it is changed: of resctrl
//! here, of threads elsewhere.

mod dir;
mod folder;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod seal;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::folder::Folder;
use crate::{Error, OpenError, Thing};

/// The contents of a ledger.
pub trait Book: Clone + Default + PartialEq + Serialize + DeserializeOwned {
    /// The file is `NAME.json`, the one before it `NAME.json.before`, its lock `NAME.lock`.
    const NAME: &'static str;
    /// The version that is understood.
    const VERSION: u32;

    /// The version of this ledger.
    fn version(&self) -> u32;

    /// Whether there is nothing to restore.
    fn is_empty(&self) -> bool;

    /// Checks the names in it, none of which may lead elsewhere.
    ///
    /// # Errors
    /// The reason, in a line.
    fn check(&self) -> Result<(), String>;
}

/// What the state directory holds.
#[derive(Debug)]
pub struct Found<B> {
    /// The ledger, or where that can't be read, the one before it; `None` where there is none.
    pub ledger: Option<B>,
    /// Where an unreadable ledger is kept, and the reason: what it records could not be restored.
    pub damaged: Option<(Thing, String)>,
}

/// What is to be restored, and the state directory where it is written down.
#[derive(Debug)]
pub struct State<B> {
    /// `None` in a dry run, which has nothing to write down.
    folder: Option<Folder>,
    /// What is written down, or will be with the next change.
    pub ledger: B,
    /// Whether the ledger differs from the file.
    dirty: bool,
}

impl<B: Book> State<B> {
    /// Takes the directory for this process, and reads what it holds.
    ///
    /// # Errors
    /// If it can't be used, or read, or another process has it.
    pub fn open(path: &Path) -> Result<(Self, Found<B>), OpenError> {
        let folder = Folder::open(path, B::NAME)?;
        let found = folder.read()?;
        Ok((Self { folder: Some(folder), ledger: B::default(), dirty: false }, found))
    }

    /// For a dry run: nothing is changed, so that nothing is to be restored.
    #[must_use]
    pub fn dry() -> Self {
        Self { folder: None, ledger: B::default(), dirty: false }
    }

    /// Where the ledger is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.as_ref().map(Folder::ledger).unwrap_or_default()
    }

    /// Keeps a ledger that is of no use beside, so that it can be looked at.
    ///
    /// # Errors
    /// If it can't be renamed.
    pub fn put_aside(&self, why: &str) -> Result<(), Error> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.put_aside(why))
    }

    /// Writes down what is about to be done. If that fails, the ledger is as before, and nothing
    /// may be done.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn record(&mut self, change: impl FnOnce(&mut B)) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let before = self.ledger.clone();
        change(&mut self.ledger);
        if self.ledger != before || self.dirty {
            folder.write(&self.ledger).inspect_err(|_| self.ledger = before)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Notes what was done. It is written with the next change: without it less is known, but
    /// nothing wrong.
    pub fn note(&mut self, change: impl FnOnce(&mut B)) {
        if self.folder.is_some() {
            change(&mut self.ledger);
            self.dirty = true;
        }
    }

    /// Writes what was only noted.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        if self.dirty { self.record(|_| {}) } else { Ok(()) }
    }
}
