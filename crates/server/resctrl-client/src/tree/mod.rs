//! Resctrl's files, each operation one system call on the file.

pub(crate) mod io_alloc;
pub(crate) mod lock;
pub(crate) mod mon_data;
pub(crate) mod schemata;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fairways_resctrl::language::Status;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, read, retry_on_intr, write};

use crate::error::Error;

/// A mounted resctrl. Paths are relative to its root; the root's own is empty.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    dir: OwnedFd,
    /// `st_dev` and `st_ino` of the root, by which another mount at the same place is recognized.
    identity: (u64, u64),
    /// The `st_ino` of our groups, by path. If a group there was replaced by another one of the
    /// same name, nothing is written below its path.
    ours: RefCell<BTreeMap<String, u64>>,
    /// Whether monitoring ids belong to their class ([`Tree::has_rmids_per_class`]).
    has_rmids_per_class: Cell<bool>,
    /// The holders of the lock that are no longer waited for.
    pub(crate) ignored: RefCell<BTreeSet<String>>,
    /// Why the lock was not available at the last attempt.
    pub(crate) locked: RefCell<Option<String>>,
}

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
const WRITE: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC);
const HANDLE: OFlags =
    OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);
const LIST: OFlags = READ.union(OFlags::DIRECTORY);

impl Tree {
    pub(crate) fn open(root: &Path) -> Result<Self, Error> {
        let failed = |errno| Error::Io {
            doing: "open".to_owned(),
            path: root.to_owned(),
            errno,
            status: Vec::new(),
        };
        let dir = openat(CWD, root, LIST, Mode::empty()).map_err(failed)?;
        let about = rustix::fs::fstat(&dir).map_err(failed)?;
        Ok(Self {
            root: root.to_owned(),
            dir,
            identity: (about.st_dev, about.st_ino),
            ours: RefCell::default(),
            has_rmids_per_class: Cell::default(),
            ignored: RefCell::default(),
            locked: RefCell::default(),
        })
    }

    /// Records a group that we made.
    pub(crate) fn keep(&self, path: &str, inode: u64) {
        self.ours.borrow_mut().insert(path.to_owned(), inode);
    }

    /// `st_ino` of a group that we made, if known.
    pub(crate) fn made(&self, path: &str) -> Option<u64> {
        self.ours.borrow().get(path).copied()
    }

    /// Forgets a group that is gone or belongs to another manager, with the groups in it.
    pub(crate) fn forget(&self, path: &str) {
        let below = format!("{path}/");
        self.ours.borrow_mut().retain(|of, _| of != path && !of.starts_with(&below));
    }

    /// Whether another group is where we made one.
    pub(crate) fn is_replaced(&self, path: &str) -> Result<bool, Error> {
        let made = self.ours.borrow().get(path).copied();
        let Some(made) = made else { return Ok(false) };
        Ok(self.inode(path)?.is_some_and(|now| now != made))
    }

    /// The innermost group of ours above a path, opened if it is still the one that we made, and
    /// the rest of the path from there.
    fn below<'a>(&self, doing: &str, path: &'a str) -> Result<(Start<'_>, &'a str), Error> {
        let found = path.match_indices('/').rev().find_map(|(at, _)| {
            let inode = self.ours.borrow().get(&path[..at]).copied();
            inode.map(|inode| (at, inode))
        });
        let Some((at, inode)) = found else { return Ok((Start::Root(self.dir.as_fd()), path)) };
        let failed = |errno| self.failed(doing, path, errno);
        let group = openat(&self.dir, &path[..at], HANDLE, Mode::empty()).map_err(failed)?;
        if rustix::fs::fstat(&group).map_err(failed)?.st_ino != inode {
            return Err(self.replaced(&path[..at]));
        }
        Ok((Start::Group(group), &path[at + 1..]))
    }

    /// Fails if the path is a group of ours that was replaced.
    fn still_ours(&self, path: &str) -> Result<(), Error> {
        if self.is_replaced(path)? { Err(self.replaced(path)) } else { Ok(()) }
    }

    fn replaced(&self, path: &str) -> Error {
        Error::Replaced { path: self.root.join(path) }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// `st_dev` of the mount.
    pub(crate) const fn device(&self) -> u64 {
        self.identity.0
    }

    /// Whether this is still what is mounted at the root's path.
    pub(crate) fn is_mounted(&self) -> bool {
        statat(CWD, &self.root, AtFlags::empty())
            .is_ok_and(|about| (about.st_dev, about.st_ino) == self.identity)
    }

    /// The root opened once more, for a lock of its own.
    pub(crate) fn another(&self) -> Result<OwnedFd, Error> {
        openat(&self.dir, ".", LIST, Mode::empty()).map_err(|errno| self.failed("open", "", errno))
    }

    /// Opens a file for reading again and again.
    pub(crate) fn file(&self, path: &str) -> Result<OwnedFd, Error> {
        openat(&self.dir, path, READ, Mode::empty())
            .map_err(|errno| self.failed("open", path, errno))
    }

    pub(crate) fn read(&self, path: &str) -> Result<String, Error> {
        let file = self.file(path)?;
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            let got = retry_on_intr(|| read(&file, &mut part))
                .map_err(|errno| self.failed("read", path, errno))?;
            if got == 0 {
                break;
            }
            bytes.extend_from_slice(&part[..got]);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Writes a command, as one write(2).
    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        self.write_to(&self.to_write(path)?, path, text)
    }

    /// Opens a file for a command that is not known yet.
    pub(crate) fn to_write(&self, path: &str) -> Result<OwnedFd, Error> {
        let (dir, name) = self.below("open", path)?;
        openat(dir.as_fd(), name, WRITE, Mode::empty())
            .map_err(|errno| self.failed("open", path, errno))
    }

    /// Writes a command to the file of this path, as one write(2).
    pub(crate) fn write_to(&self, file: &OwnedFd, path: &str, text: &str) -> Result<(), Error> {
        let written = retry_on_intr(|| write(file, text.as_bytes()));
        let doing = format!("write {:?} to", text.trim_end());
        written.map(drop).map_err(|errno| self.refused(&doing, path, errno))
    }

    /// Writes ids of threads, each with one write(2). Threads that have ended are skipped; the
    /// others are added to `moved`, even if a later one could not be moved.
    pub(crate) fn write_threads(
        &self,
        path: &str,
        threads: impl IntoIterator<Item = i32>,
        moved: &mut Vec<i32>,
    ) -> Result<(), Error> {
        let file = self.to_write(path)?;
        for thread in threads {
            match retry_on_intr(|| write(&file, thread.to_string().as_bytes())) {
                Ok(_) => moved.push(thread),
                Err(Errno::SRCH) => {}
                Err(errno) => {
                    return Err(self.refused(&format!("write {thread} to"), path, errno));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn mkdir(&self, path: &str) -> Result<(), Error> {
        let (dir, name) = self.below("mkdir", path)?;
        mkdirat(dir.as_fd(), name, Mode::from_raw_mode(0o755))
            .map_err(|errno| self.refused("mkdir", path, errno))
    }

    /// Removes a group; returns whether it existed.
    pub(crate) fn rmdir(&self, path: &str) -> Result<bool, Error> {
        self.still_ours(path)?;
        let removed = match unlinkat(&self.dir, path, AtFlags::REMOVEDIR) {
            Ok(()) => true,
            Err(Errno::NOENT) if self.find(path)?.is_none() => false,
            Err(errno) => return Err(self.refused("rmdir", path, errno)),
        };
        self.forget(path);
        Ok(removed)
    }

    /// Whether monitoring ids belong to their class, as with MPAM. Linux lets a group keep its id
    /// in another class nevertheless (`mongrp_reparent`), where another group may have the same id:
    /// both would then count the sum.
    pub(crate) fn has_rmids_per_class(&self) -> bool {
        self.has_rmids_per_class.get()
    }

    pub(crate) fn set_rmids_per_class(&self, has: bool) {
        self.has_rmids_per_class.set(has);
    }

    /// Renames a MON group.
    ///
    /// # Errors
    /// Also EPERM if its monitoring id does not belong to the other class.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.still_ours(from)?;
        let [old, new] = [from, to].map(|path| path.rsplit_once('/').map(|(parent, _)| parent));
        if self.has_rmids_per_class() && old != new {
            return Err(self.failed(&format!("rename to {to}"), from, Errno::PERM));
        }
        let (dir, name) = self.below("open", to)?;
        renameat(&self.dir, from, dir.as_fd(), name)
            .map_err(|errno| self.refused(&format!("rename to {to}"), from, errno))?;
        let mut ours = self.ours.borrow_mut();
        if let Some(inode) = ours.remove(from) {
            ours.insert(to.to_owned(), inode);
        }
        Ok(())
    }

    /// `st_ino`, or `None` if it does not exist.
    pub(crate) fn inode(&self, path: &str) -> Result<Option<u64>, Error> {
        let path = if path.is_empty() { "." } else { path };
        match statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about.st_ino)),
            Err(Errno::NOENT | Errno::NODEV) => Ok(None),
            Err(errno) => Err(self.failed("stat", path, errno)),
        }
    }

    /// `st_ino`, or `None` if it is neither found nor listed. A single answer may be a failure, and
    /// a group of ours must not be given up for that.
    pub(crate) fn find(&self, path: &str) -> Result<Option<u64>, Error> {
        let found = self.inode(path)?;
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if found.is_none() && self.directories(above)?.iter().any(|listed| listed == name) {
            return Err(self.failed("stat", path, Errno::NOENT));
        }
        Ok(found)
    }

    /// A file of a group; `None` if the group is gone.
    pub(crate) fn read_of(&self, group: &str, file: &str) -> Result<Option<String>, Error> {
        match self.read(&of(group, file)) {
            Err(error) if error.is_gone() && self.find(group)?.is_none() => Ok(None),
            text => text.map(Some),
        }
    }

    /// The directories in a directory, in the order of their names; none if it is not there.
    pub(crate) fn directories(&self, path: &str) -> Result<Vec<String>, Error> {
        let at = if path.is_empty() { "." } else { path };
        let failed = |errno| self.failed("list", path, errno);
        let dir = match openat(&self.dir, at, LIST, Mode::empty()) {
            Err(Errno::NOENT | Errno::NODEV) if self.inode(path)?.is_none() => {
                return Ok(Vec::new());
            }
            dir => dir.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in Dir::new(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type() == FileType::Directory && name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The CTRL_MON groups besides the root.
    pub(crate) fn classes(&self) -> Result<Vec<String>, Error> {
        let mut names = self.directories("")?;
        names.retain(|name| !["info", "mon_groups", "mon_data"].contains(&name.as_str()));
        Ok(names)
    }

    /// The threads in a group; none if it is gone.
    pub(crate) fn members(&self, group: &str) -> Result<Vec<i32>, Error> {
        let text = self.read_of(group, "tasks")?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }

    /// Puts threads into a group. Threads for a MON group are moved to its class first: threads of
    /// another class can't be moved into it (`__rdtgroup_move_task`).
    pub(crate) fn enter(
        &self,
        group: &str,
        threads: impl IntoIterator<Item = i32>,
        moved: &mut Vec<i32>,
    ) -> Result<(), Error> {
        let path = of(group, "tasks");
        let (class, is_monitor) = apart(group);
        if !is_monitor {
            return self.write_threads(&path, threads, moved);
        }
        let mut entered = Vec::new();
        self.write_threads(&of(class, "tasks"), threads, &mut entered)?;
        self.write_threads(&path, entered, moved)
    }

    /// The error for a text that can't be understood.
    pub(crate) fn misread(
        &self,
        path: &str,
        why: fairways_resctrl::language::LanguageError,
    ) -> Error {
        Error::Text { path: self.root.join(path), why }
    }

    fn failed(&self, doing: &str, path: &str, errno: Errno) -> Error {
        let path = if path.is_empty() { self.root.clone() } else { self.root.join(path) };
        Error::Io { doing: doing.to_owned(), path, errno, status: Vec::new() }
    }

    /// Adds the kernel's report about the last command. The caller has the lock, so there was no
    /// other command in between.
    fn refused(&self, doing: &str, path: &str, errno: Errno) -> Error {
        let mut error = self.failed(doing, path, errno);
        if let Error::Io { status, .. } = &mut error {
            let text = self.read("info/last_cmd_status").unwrap_or_default();
            *status = Status::parse(&text).lines;
        }
        error
    }
}

/// Where a path begins.
enum Start<'a> {
    Root(BorrowedFd<'a>),
    Group(OwnedFd),
}

impl AsFd for Start<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(dir) => *dir,
            Self::Group(dir) => dir.as_fd(),
        }
    }
}

/// The file or directory `name` of a group, whose path is empty for the root.
pub(crate) fn of(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// The path of the MON group of that name in a class.
pub(crate) fn monitor_in(class: &str, name: &str) -> String {
    format!("{}/{name}", of(class, "mon_groups"))
}

/// The CTRL_MON group of a group, or itself if it is one; and whether it is a MON group in it.
pub(crate) fn apart(group: &str) -> (&str, bool) {
    match group.rsplit_once("mon_groups/") {
        Some((class, _)) => (class.trim_end_matches('/'), true),
        None => (group, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux would allow the move.
    #[test]
    fn a_group_whose_id_is_of_its_class_stays_in_it() {
        let folder = tempfile::tempdir().unwrap();
        for group in ["a/mon_groups/m", "b/mon_groups"] {
            std::fs::create_dir_all(folder.path().join(group)).unwrap();
        }
        let tree = Tree::open(folder.path()).unwrap();
        tree.set_rmids_per_class(true);
        let refused = tree.rename("a/mon_groups/m", "b/mon_groups/m").unwrap_err();
        assert_eq!(refused.errno(), Some(Errno::PERM));
        tree.rename("a/mon_groups/m", "a/mon_groups/n").unwrap();
        tree.set_rmids_per_class(false);
        tree.rename("a/mon_groups/n", "b/mon_groups/m").unwrap();
        assert!(folder.path().join("b/mon_groups/m").is_dir());
    }
}
