//! Directories that a run needs while it runs.

use std::fs::{self, File};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::Error;

const PREFIX: &str = "kernel-lab-";
const LOCK: &str = "lock";

/// A directory that is removed with this object; or by the next one, if this process was killed
/// before.
pub(crate) struct Scratch {
    directory: TempDir,
    /// Locked as long as the directory is in use.
    _lock: File,
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, Error> {
        Self::within(&std::env::temp_dir())
    }

    fn within(parent: &Path) -> Result<Self, Error> {
        sweep(parent);
        let directory = TempDir::with_prefix_in(PREFIX, parent).map_err(Error::file(parent))?;
        // Locked before it has the name by which others find it: a sweep may come in between.
        let path = directory.path().join("unlocked");
        let lock = File::create(&path).map_err(Error::file(&path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| Error::file(&path)(error.into()))?;
        fs::rename(&path, directory.path().join(LOCK)).map_err(Error::file(&path))?;
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the remains of processes that were killed: directories whose lock is free.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    }) {
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remains_are_swept_and_used_directories_are_not() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let left = parent.path().join("kernel-lab-left");
        fs::create_dir(&left).expect("a new directory");
        fs::write(left.join(LOCK), "").expect("a new file");
        let first = Scratch::within(parent.path()).expect("a directory");
        let second = Scratch::within(parent.path()).expect("another");
        assert!(!left.exists());
        assert!(first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn many_at_once_keep_theirs() {
        let parent = tempfile::tempdir().expect("a temporary directory");
        let (start, parent) = (&std::sync::Barrier::new(8), parent.path());
        std::thread::scope(|scope| {
            (0..8).for_each(|_| {
                _ = scope.spawn(|| {
                    start.wait();
                    for _ in 0..200 {
                        let mine = Scratch::within(parent)
                            .expect("a directory that no other process sweeps");
                        assert!(mine.path().join(LOCK).exists());
                    }
                })
            })
        });
    }
}
