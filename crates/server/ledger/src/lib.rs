//! What is changed on a host: written down in the state directory before it is changed, so that it
//! can be put back even if the process was killed meanwhile; and the outcome for each thing.
//!
//! A [`Book`] is the contents of one ledger, and says what its entries are: there is one for
//! resctrl's groups and masks, and one for threads. A [`State`] is such a ledger with its files:
//! [`State::record`] writes what is about to be changed, and only then may it be changed.
//!
//! The files are in a directory that no other user can write, have a checksum, and are the old ones
//! or the new ones at any time. One process has them at a time.

mod directory;
mod error;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod restored;
mod seal;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::{LedgerError, OpenError};
use files::LedgerFiles;
pub use restored::{Restored, Thing};

/// What distinguishes this boot from others, by the file that shows it
/// (`/proc/sys/kernel/random/boot_id`).
///
/// # Errors
/// If it can't be read.
pub fn boot(file: &Path) -> Result<String, LedgerError> {
    let boot = fs::read_to_string(file)
        .map_err(|why| LedgerError { path: file.to_owned(), why: why.to_string() })?;
    Ok(boot.trim().to_owned())
}

/// Why a ledger of another boot is put aside: nothing that it records is there any more.
pub const OTHER_BOOT: &str = "it is of another boot";

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
    files: Option<LedgerFiles>,
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
        let files = LedgerFiles::open(path, B::NAME)?;
        let found = files.read()?;
        Ok((Self { files: Some(files), ledger: B::default(), dirty: false }, found))
    }

    /// For a dry run: nothing is changed, so that nothing is to be restored.
    #[must_use]
    pub fn dry() -> Self {
        Self { files: None, ledger: B::default(), dirty: false }
    }

    /// Where the ledger is; empty in a dry run.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.files.as_ref().map(LedgerFiles::ledger).unwrap_or_default()
    }

    /// Keeps a ledger that is of no use beside, so that it can be looked at.
    ///
    /// # Errors
    /// If it can't be renamed.
    pub fn put_aside(&self, why: &str) -> Result<(), LedgerError> {
        self.files.as_ref().map_or(Ok(()), |files| files.put_aside(why))
    }

    /// Writes down what is about to be done. If that fails, the ledger is as before, and nothing
    /// may be done.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn record(&mut self, change: impl FnOnce(&mut B)) -> Result<(), LedgerError> {
        let Some(files) = &self.files else { return Ok(()) };
        let before = self.ledger.clone();
        change(&mut self.ledger);
        if self.ledger != before || self.dirty {
            files.write(&self.ledger).inspect_err(|_| self.ledger = before)?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Notes what was done. It is written with the next change: without it less is known, but
    /// nothing wrong.
    pub fn note(&mut self, change: impl FnOnce(&mut B)) {
        if self.files.is_some() {
            change(&mut self.ledger);
            self.dirty = true;
        }
    }

    /// Writes what was only noted.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn settle(&mut self) -> Result<(), LedgerError> {
        if self.dirty { self.record(|_| {}) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const VERSION: u32 = 1;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Numbers {
        version: u32,
        all: Vec<u32>,
    }

    impl Book for Numbers {
        const NAME: &'static str = "numbers";
        const VERSION: u32 = VERSION;

        fn version(&self) -> u32 {
            self.version
        }

        fn is_empty(&self) -> bool {
            self.all.is_empty()
        }

        fn check(&self) -> Result<(), String> {
            let is_wrong = self.all.contains(&0);
            if is_wrong { Err("expected no 0".to_owned()) } else { Ok(()) }
        }
    }

    fn open(folder: &Path) -> (State<Numbers>, Option<Numbers>, bool) {
        let (mut state, found) = State::<Numbers>::open(folder).unwrap();
        state.ledger.version = VERSION;
        (state, found.ledger, found.damaged.is_some())
    }

    /// What is recorded is there for the next process; what is only noted, with the next record.
    #[test]
    fn a_change_is_in_the_file_before_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (mut state, none, _) = open(folder.path());
        assert_eq!(none, None);
        state.record(|ledger| ledger.all.push(1)).unwrap();
        state.note(|ledger| ledger.all.push(2));
        drop(state);
        let (mut state, found, _) = open(folder.path());
        assert_eq!(found.unwrap().all, [1]);
        state.ledger.all = vec![1];
        state.note(|ledger| ledger.all.push(3));
        state.settle().unwrap();
        drop(state);
        assert_eq!(open(folder.path()).1.unwrap().all, [1, 3]);
    }

    /// A record that can't be written changes nothing, and one that is damaged is not believed: the
    /// one before it is.
    #[test]
    fn what_is_not_written_or_not_believed_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (mut state, ..) = open(folder.path());
        state.record(|ledger| ledger.all.push(1)).unwrap();
        fs::create_dir(folder.path().join("numbers.json.new")).unwrap();
        assert!(state.record(|ledger| ledger.all.push(2)).is_err());
        assert_eq!(state.ledger.all, [1]);
        fs::remove_dir(folder.path().join("numbers.json.new")).unwrap();
        // It is of no use to the next process: names in it lead elsewhere.
        state.record(|ledger| ledger.all.push(0)).unwrap();
        drop(state);
        let (_, found, is_damaged) = open(folder.path());
        assert_eq!((found.unwrap().all, is_damaged), (vec![1], true));
    }
}
