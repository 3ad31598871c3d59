//! The lock between managers of one resctrl.
//!
//! Source: resctrl.rst, "Locking between applications": flock(2) on the mount's root, around every
//! operation of several files.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use std::{fmt, fs};

use fairways_linux::status;
use rustix::fs::{FlockOperation, flock, fstat, major, minor};
use rustix::io::Errno;

use super::Tree;
use crate::error::Error;

/// How long to wait between attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// What to do if another process keeps the lock for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Fail, unless no holder is root: any user may lock a directory that can be read.
    Refuse,
    /// Continue without the lock: restoring what was changed can't wait for ever.
    GoOn,
}

/// The lock, until it is dropped; or the permission to go on without it.
#[derive(Debug)]
pub(crate) struct Lock {
    _root: OwnedFd,
}

impl Lock {
    /// Takes the lock, or gives up after `patience`. That counts attempts, as a process that was
    /// stopped meanwhile has not waited.
    pub(crate) fn take(
        tree: &Tree,
        proc: &Path,
        patience: Duration,
        kept: Kept,
    ) -> Result<Self, Error> {
        let root = tree.another()?;
        let mut waited = Duration::ZERO;
        let mut is_unknown = false;
        loop {
            match flock(&root, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    tree.ignored.borrow_mut().clear();
                    tree.locked.take();
                    return Ok(Self { _root: root });
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => {
                    return Err(Error::Io {
                        doing: "flock".to_owned(),
                        path: tree.root().to_owned(),
                        errno,
                        status: Vec::new(),
                    });
                }
            }
            let is_over = waited >= patience;
            // After waiting in vain for a holder, it is not waited for again.
            if is_over || !tree.ignored.borrow().is_empty() {
                let holders = holders(&root, proc);
                if let Some(lock) = Self::without(root.try_clone(), tree, &holders, kept, is_over) {
                    return Ok(lock);
                }
                // No holder is named: the lock was just released, or its holders are unknown.
                let again = holders.is_empty() && !std::mem::replace(&mut is_unknown, true);
                if is_over && !again {
                    return Err(locked(tree, &holders, patience));
                }
            }
            sleep(PAUSE);
            waited += PAUSE;
        }
    }

    /// Continues without the lock if its holders are not to be waited for; logs that once for each.
    fn without(
        root: std::io::Result<OwnedFd>,
        tree: &Tree,
        holders: &[Holder],
        kept: Kept,
        is_over: bool,
    ) -> Option<Self> {
        // A holder that is not named may be root.
        let may_wait = holders.is_empty() || holders.iter().any(Holder::is_root);
        let may = kept == Kept::GoOn && is_over || !may_wait;
        let ignored = &mut *tree.ignored.borrow_mut();
        if !may || !is_over && !holders.iter().all(|of: &Holder| ignored.contains(&of.pid)) {
            return None;
        }
        for holder in holders {
            if ignored.insert(holder.pid.clone()) {
                tracing::warn!(
                    target: "fairways::actuate",
                    root = %tree.root().display(),
                    "the lock is kept by {holder}: going on without it"
                );
            }
        }
        if holders.is_empty() && ignored.insert(String::new()) {
            tracing::warn!(
                target: "fairways::actuate",
                root = %tree.root().display(),
                "the lock is kept{UNKNOWN}: going on without it"
            );
        }
        tree.locked.take();
        Some(Self { _root: root.ok()? })
    }
}

const ENDED: &str = "a process that has ended";

/// A holder that /proc/locks does not name: for example, a process of another PID namespace.
const UNKNOWN: &str = " by a process that /proc/locks does not name";

/// The error that is shown until the lock is available.
fn locked(tree: &Tree, holders: &[Holder], patience: Duration) -> Error {
    let first = holders.iter().find(|of| of.is_root()).or(holders.first());
    let holder = first.map_or_else(|| format!(",{UNKNOWN}"), |of| format!(", by {of}"));
    let error = Error::Locked { root: tree.root().to_owned(), seconds: patience.as_secs(), holder };
    tree.locked.replace(Some(error.to_string()));
    error
}

/// A process that holds the lock, as far as is known.
#[derive(Debug)]
struct Holder {
    pid: String,
    name: String,
    /// Its real and effective users; `None` if it has ended, and left the lock to another process.
    users: Option<[u32; 2]>,
}

impl Holder {
    fn is_root(&self) -> bool {
        self.users == Some([0, 0])
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.pid)?;
        match self.users {
            Some([0, 0]) | None => f.write_str(")"),
            Some([_, user]) => write!(f, ", of user {user})"),
        }
    }
}

/// The processes that hold the lock, according to /proc/locks (proc_locks(5)).
fn holders(root: &impl AsFd, proc: &Path) -> Vec<Holder> {
    let Ok(about) = fstat(root) else { return Vec::new() };
    let (major, minor) = (major(about.st_dev), minor(about.st_dev));
    let file = format!("{major:02x}:{minor:02x}:{}", about.st_ino);
    let locks = fs::read_to_string(proc.join("locks")).unwrap_or_default();
    let pids = locks.lines().filter_map(|line| holder_in(line, &file));
    pids.map(|pid| holder(pid.to_owned(), &file, proc)).collect()
}

/// The process that a line of locks has for this file.
fn holder_in<'a>(line: &'a str, file: &str) -> Option<&'a str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ours = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&file);
    ours.then(|| words.get(4).copied().unwrap_or_default())
}

fn holder(pid: String, file: &str, proc: &Path) -> Holder {
    let text = pid.parse().ok().and_then(|pid| status::text(proc, pid)).unwrap_or_default();
    if has_locked(&pid, file, proc) == Some(false) {
        return Holder { pid, name: ENDED.to_owned(), users: None };
    }
    let name = status::field(&text, "Name:").unwrap_or(ENDED).to_owned();
    let users = status::users(&text).map(|users| [users.real, users.effective]);
    Holder { pid, name, users }
}

/// Whether a process has a descriptor with the lock (proc_pid_fdinfo(5)); `None` if that can't be
/// read. /proc/locks names the process that took it even after it has ended, when its number may be
/// another process's.
fn has_locked(pid: &str, file: &str, proc: &Path) -> Option<bool> {
    let mut found = false;
    for descriptor in proc.join(pid).join("fdinfo").read_dir().ok()? {
        let text = match fs::read_to_string(descriptor.ok()?.path()) {
            Err(why) if why.kind() == ErrorKind::NotFound => continue,
            text => text.ok()?,
        };
        let mut locks = text.lines().filter_map(|line| line.strip_prefix("lock:"));
        found |= locks.any(|line| holder_in(line, file).is_some());
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of an ended holder may be that of a process of root.
    #[test]
    fn a_process_without_the_lock_is_not_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        let root = fs::File::open(proc).unwrap();
        let about = fstat(&root).unwrap();
        let (major, minor) = (major(about.st_dev), minor(about.st_dev));
        let lock =
            format!("FLOCK  ADVISORY  WRITE 7 {major:02x}:{minor:02x}:{} 0 EOF", about.st_ino);
        fs::write(proc.join("locks"), format!("1: {lock}\n")).unwrap();
        fs::create_dir_all(proc.join("7/fdinfo")).unwrap();
        fs::write(proc.join("7/status"), "Name:\tcron\nUid:\t0\t0\t0\t0\n").unwrap();
        fs::write(proc.join("7/fdinfo/3"), "pos:\t0\nflags:\t0100000\n").unwrap();
        assert!(!holders(&root, proc)[0].is_root());
        fs::write(proc.join("7/fdinfo/4"), format!("pos:\t0\nlock:\t1: {lock}\n")).unwrap();
        assert!(holders(&root, proc)[0].is_root());
        // What can't be read may be root's.
        fs::remove_dir_all(proc.join("7/fdinfo")).unwrap();
        assert!(holders(&root, proc)[0].is_root());
    }
}
