//! Opens a file of samples, in whose folder a tenant may write.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::process::geteuid;

/// The most links in a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// Opens a file for reading. A link on the way is followed if it is root's or this user's: a
/// tenant's link could lead to a file that the tenant may not read. A pipe is not waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let start = if path.is_absolute() { "/" } else { "." };
    let mut at: OwnedFd = openat(CWD, start, folder, Mode::empty())?;
    let mut names = parts(path);
    let mut links = 0;
    while let Some(name) = names.pop_front() {
        let found =
            openat(&at, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let about = fstat(&found)?;
        if FileType::from_raw_mode(about.st_mode) == FileType::Symlink {
            let trusted = [0, geteuid().as_raw()];
            if !trusted.contains(&about.st_uid) {
                let why = format!("a link of user {} is not followed", about.st_uid);
                return Err(io::Error::other(why));
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many links"));
            }
            let target = readlinkat(&found, "", Vec::new())?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                at = openat(CWD, "/", folder, Mode::empty())?;
            }
            for part in parts(&target).into_iter().rev() {
                names.push_front(part);
            }
        } else if names.is_empty() {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            return Ok(File::from(openat(&at, &name, flags, Mode::empty())?));
        } else {
            at = found;
        }
    }
    Err(io::Error::other("it names no file"))
}

/// The names of a path, including `..`.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    fn read(path: &Path) -> Result<String, String> {
        let mut text = String::new();
        let file = open(path).map_err(|why| why.to_string());
        file?.read_to_string(&mut text).map_err(|why| why.to_string())?;
        Ok(text)
    }

    #[test]
    fn links_of_a_tenant_are_not_followed_and_others_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/file"), "here").unwrap();
        symlink(at("a"), at("absolute")).unwrap();
        symlink("../a/b/file", at("a/up")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for path in ["a/b/file", "absolute/b/file", "a/up", "a/b/../b/file"] {
            assert_eq!(read(&at(path)).as_deref(), Ok("here"), "{path}");
        }
        assert!(read(&at("a/missing")).is_err());
        assert_eq!(read(&at("loop")).unwrap_err(), "too many links");
        if !geteuid().is_root() {
            return;
        }
        for link in ["absolute", "a/up"] {
            lchown(at(link), Some(65_534), None).unwrap();
        }
        for path in ["absolute/b/file", "a/up"] {
            assert_eq!(read(&at(path)).unwrap_err(), "a link of user 65534 is not followed");
        }
        assert_eq!(read(&at("a/b/file")).as_deref(), Ok("here"));
    }
}
