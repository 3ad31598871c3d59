//! What is changed, written down before it is.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{Error, OpenError};

const VERSION: u32 = 1;

/// Everything that Fairways has made or changed, or was about to, in one mounted resctrl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ledger {
    version: u32,
    /// `/proc/sys/kernel/random/boot_id`: another boot knows nothing of this.
    pub(super) boot: String,
    /// `st_dev` of the mount, which another one may have after it.
    pub(super) device: u64,
    /// `st_ino` of its `info`, which another mount may have, too, where kernfs numbers from the mount on. (The times of kernfs are those at
    /// which a file was looked up, as far as is known, and tell nothing.)
    pub(super) info: Option<u64>,
    pub(super) groups: Vec<Made>,
    pub(super) values: Vec<Changed>,
    pub(super) tasks: Vec<Taken>,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Made {
    /// Its name; a MON group is where it is, and no two have one name.
    pub(super) name: String,
    /// Whether it is a MON group.
    pub(super) monitors: bool,
    /// `st_ino`, by which another group of that name is told; `null` until it was made.
    pub(super) inode: Option<u64>,
}

/// A mask of the root's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changed {
    /// The line of `schemata`.
    pub(super) line: String,
    pub(super) domain: u32,
    /// The mask's bits before.
    pub(super) before: u32,
    /// What was written, or may have been, the last one last.
    pub(super) ours: Vec<u32>,
}

/// A thread that was in another manager's group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Taken {
    pub(super) thread: i32,
    /// When it started, by which another thread of that id is told (proc_pid_stat(5), field 22; clock ticks since boot).
    pub(super) started: u64,
    /// The path of the group that it was in.
    pub(super) group: String,
    /// That group's `st_ino`.
    pub(super) inode: u64,
}

/// The state directory, which one process has at a time.
#[derive(Debug)]
pub(super) struct State {
    dir: PathBuf,
    /// Held while this lives; `None` in a dry run.
    _lock: Option<OwnedFd>,
    pub(super) ledger: Ledger,
    /// Whether the ledger differs from the file.
    dirty: bool,
}

impl State {
    /// Takes the directory for this process, and reads what it holds: `None` where there is no ledger.
    pub(super) fn open(dir: &Path) -> Result<(Self, Option<Ledger>), OpenError> {
        let path = dir.join("resctrl.lock");
        let failed = |why: io::Error| Error::State { path: path.clone(), why: why.to_string() };
        fs::create_dir_all(dir).map_err(failed)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = OwnedFd::from(file.map_err(failed)?);
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let dir = dir.display();
            return Err(OpenError::Busy(format!("{dir}: another fairways manages this host")));
        }
        let state = Self {
            dir: dir.to_owned(),
            _lock: Some(lock),
            ledger: Ledger::default(),
            dirty: false,
        };
        let found = state.read()?;
        Ok((state, found))
    }

    /// For a dry run, which writes nothing.
    pub(super) fn dry() -> Self {
        Self { dir: PathBuf::new(), _lock: None, ledger: Ledger::default(), dirty: false }
    }

    fn path(&self) -> PathBuf {
        self.dir.join("resctrl.json")
    }

    fn failed(&self, why: impl ToString) -> Error {
        Error::State { path: self.path(), why: why.to_string() }
    }

    /// A ledger that can't be read is put aside as one that is stale: nothing can be restored from it.
    fn read(&self) -> Result<Option<Ledger>, Error> {
        let text = match fs::read(self.path()) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|why| self.failed(why))?,
        };
        let ledger = serde_json::from_slice::<Ledger>(&text);
        match ledger {
            Ok(ledger) if ledger.version == VERSION => Ok(Some(ledger)),
            Ok(Ledger { version, .. }) => {
                self.put_aside(&format!("version {version}: expected {VERSION}"))
            }
            Err(why) => self.put_aside(&format!("not a ledger: {why}")),
        }
    }

    /// Keeps a ledger that is of no use beside, for whoever wants to look.
    pub(super) fn put_aside(&self, why: &str) -> Result<Option<Ledger>, Error> {
        let aside = self.dir.join("resctrl.json.stale");
        tracing::warn!(target: "fairways::actuate", path = %aside.display(), why, "ledger put aside");
        match fs::rename(self.path(), aside) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(self.failed(why)),
            _ => Ok(None),
        }
    }

    /// Begins a ledger for this boot and mount; nothing is written yet.
    pub(super) fn begin(&mut self, boot: String, device: u64, info: Option<u64>) {
        self.ledger = Ledger { version: VERSION, boot, device, info, ..Ledger::default() };
    }

    /// Writes down what is about to be done. If that fails, the ledger is as before, and nothing may be done.
    pub(super) fn record(&mut self, change: impl FnOnce(&mut Ledger)) -> Result<(), Error> {
        let before = self.ledger.clone();
        change(&mut self.ledger);
        if self.ledger != before || self.dirty {
            self.save().inspect_err(|_| self.ledger = before)?;
        }
        Ok(())
    }

    /// Takes note of what was done; written with what comes next, since without it less is known, but nothing wrong.
    pub(super) fn note(&mut self, change: impl FnOnce(&mut Ledger)) {
        change(&mut self.ledger);
        self.dirty = true;
    }

    /// Writes what was only taken note of.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
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
        let Ledger { groups, values, tasks, .. } = &self.ledger;
        if groups.is_empty() && values.is_empty() && tasks.is_empty() {
            return match fs::remove_file(self.path()) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
                _ => Ok(()),
            };
        }
        let new = self.dir.join("resctrl.json.new");
        fs::write(&new, serde_json::to_vec_pretty(&self.ledger)?)?;
        fs::rename(&new, self.path())
    }
}
