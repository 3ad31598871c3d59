//! The state directory: no other user can have put anything into it, and nothing in it leads
//! elsewhere.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use fairways_linux::owners::{Ownership, STICKY};

/// No ledger is larger: one of a thread takes about 200 bytes.
const LARGEST: u64 = 256 << 20;

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that only root and the user of this process can write.
#[derive(Debug)]
pub(super) struct Dir(OwnedFd);

/// Why a directory or a file in it is not used.
#[derive(Debug)]
pub(super) enum Refused {
    /// Another user could have written it.
    Unsafe(PathBuf, String),
    /// The kernel's error.
    Io(PathBuf, io::Error),
}

impl Dir {
    /// Opens it, name by name, without following links. Missing directories are made, for their
    /// owner alone.
    pub(super) fn open(path: &Path) -> Result<Self, Refused> {
        let failed = |why: io::Error| Refused::Io(path.to_owned(), why);
        let whole = std::path::absolute(path).map_err(failed)?;
        let mut place = PathBuf::from("/");
        let mut at =
            openat(CWD, &place, FOLDER, Mode::empty()).map_err(|why| failed(why.into()))?;
        let names: Vec<Component<'_>> = whole.components().skip(1).collect();
        let mut is_shut = false;
        for (left, name) in (0..names.len()).rev().zip(names) {
            place.push(name);
            at = enter(&at, name.as_os_str().as_ref(), &place)?;
            let about = owned(&fstat(&at).map_err(|why| Refused::Io(place.clone(), why.into()))?);
            // In a sticky folder no other user can replace what is ours, as the next name is or is
            // refused.
            let is_sticky = left > 0 && about.mode & STICKY != 0;
            let may_be = about.is_trusted() && (is_sticky || is_shut);
            about.check().or_else(|why| if may_be { Ok(()) } else { Err(why) }).map_err(|why| {
                let what = if left > 0 { "a folder above the state directory: " } else { "" };
                Refused::Unsafe(place.clone(), format!("{what}{why}"))
            })?;
            is_shut |= about.is_shut();
        }
        Ok(Self(at))
    }

    /// A file to lock, made if it is not there.
    pub(super) fn lock(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::NONBLOCK;
        Ok(self.file(name, flags)?.into())
    }

    /// A file's bytes; `None` where there is none.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match self.file(name, OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|size| size <= LARGEST) {
            Ok(Some(bytes))
        } else {
            Err(io::Error::other(format!("expected at most {LARGEST} bytes, found more")))
        }
    }

    /// Writes a new file. An old one of that name is removed first; nothing is written where it
    /// leads.
    pub(super) fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let mut file = match self.file(name, flags) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(name)?;
                self.file(name, flags)?
            }
            file => file?,
        };
        file.write_all(bytes)
    }

    /// Renames a file. Returns whether it was there.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<bool> {
        is_there(renameat(&self.0, from, &self.0, to))
    }

    /// Removes a file. Returns whether it was there.
    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        is_there(unlinkat(&self.0, name, AtFlags::empty()))
    }

    /// A regular file in it that no other user can have written.
    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file =
            openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR).map_err(|why| match why {
                Errno::LOOP => io::Error::other("expected a file, found a link"),
                why => why.into(),
            })?;
        let about = fstat(&file)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("expected a file, found something else"));
        }
        let about = owned(&about);
        if !about.is_trusted() {
            let why = about.check().err().unwrap_or_default();
            return Err(io::Error::other(why));
        }
        Ok(file.into())
    }
}

/// Opens a folder in another, and makes it if it is not there.
fn enter(at: &OwnedFd, name: &Path, place: &Path) -> Result<OwnedFd, Refused> {
    let open = || openat(at, name, FOLDER, Mode::empty());
    let found = match open() {
        Err(Errno::NOENT) => match mkdirat(at, name, Mode::RWXU) {
            // Another process made it meanwhile.
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(why) => Err(why),
        },
        found => found,
    };
    found.map_err(|why| match why {
        Errno::LOOP | Errno::NOTDIR => Refused::Unsafe(
            place.to_owned(),
            "expected a state directory without links on the way, found something else than a folder"
                .to_owned(),
        ),
        why => Refused::Io(place.to_owned(), why.into()),
    })
}

fn owned(about: &Stat) -> Ownership {
    Ownership { uid: about.st_uid, gid: about.st_gid, mode: about.st_mode }
}

fn is_there(done: rustix::io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(why) => Err(why.into()),
    }
}
