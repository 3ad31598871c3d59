//! The table of mounts (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The proc file system of this process.
const PROC: &str = "/proc";

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    id: u64,
    /// As `MAJOR:MINOR`.
    pub device: String,
    /// The file system's directory that is mounted: `/`, except for bind mounts and namespaces.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// The file system's type.
    pub kind: String,
    /// The file system's own options, with commas between them.
    pub options: String,
}

impl Mount {
    /// Reads a line of the table; `None` if it has another form.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let device = text(fields.nth(1)?);
        let (root, point) = (path(fields.next()?), path(fields.next()?));
        let mut rest = fields.skip_while(|field| *field != b"-");
        let kind = text(rest.nth(1)?);
        let options = rest.nth(1).map(text).unwrap_or_default();
        return Some(Self { id, device, root, point, kind, options });

        fn text(field: &[u8]) -> String {
            String::from_utf8_lossy(field).into_owned()
        }

        fn path(field: &[u8]) -> PathBuf {
            PathBuf::from(OsString::from_vec(unescaped(field)))
        }
    }

    /// Whether its mount point leads to it, rather than to a later mount over it. Sends no request
    /// to the file system itself.
    ///
    /// # Errors
    /// If the mount point can't be opened, or the kernel does not report its mount.
    pub fn is_on_top(&self) -> io::Result<bool> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let there = rustix::fs::open(&self.point, flags, Mode::empty())?;
        let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", there.as_raw_fd()))?;
        let id = about.lines().find_map(|line| line.strip_prefix("mnt_id:"));
        Ok(id.is_some_and(|id| id.trim().parse() == Ok(self.id)))
    }
}

/// The mounts that this process sees, by its proc file system: later ones are further up.
///
/// # Errors
/// If they can't be read.
pub fn all(proc: &Path) -> io::Result<Vec<Mount>> {
    let table = fs::read(proc.join("self/mountinfo"))?;
    Ok(table.split(|&byte| byte == b'\n').filter_map(Mount::parse).collect())
}

/// The type of the file system mounted on a directory; `None` if it is no mount. The last line
/// counts: it is on top.
///
/// # Errors
/// As [`all`].
pub fn kind_of(dir: &Path) -> io::Result<Option<String>> {
    Ok(last(dir)?.map(|mount| mount.kind))
}

/// The device mounted on a directory, as `MAJOR:MINOR`, which distinguishes it from later mounts
/// there.
///
/// # Errors
/// As [`all`].
pub fn device_of(dir: &Path) -> io::Result<Option<String>> {
    Ok(last(dir)?.map(|mount| mount.device))
}

/// The mounts of a device, wherever it was moved or bound; the latest first.
///
/// # Errors
/// As [`all`].
pub fn mounts_of(device: &str) -> io::Result<Vec<Mount>> {
    let mut mounts = all(Path::new(PROC))?;
    mounts.retain(|mount| mount.device == device);
    mounts.reverse();
    Ok(mounts)
}

fn last(dir: &Path) -> io::Result<Option<Mount>> {
    Ok(all(Path::new(PROC))?.into_iter().rfind(|mount| mount.point == dir))
}

/// A path as it is: in the table, blanks, tabs, line breaks and backslashes are `\040` and so on.
#[must_use]
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let octal = text.get(at + 1..at + 4).filter(|_| text[at] == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(byte.unwrap_or(text[at]));
        at += if byte.is_some() { 4 } else { 1 };
    }
    plain
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let line =
            br"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - fuse.resctrl resctrl rw,user_id=0";
        let (device, kind) = ("98:0".to_owned(), "fuse.resctrl".to_owned());
        let (root, point, options) = ("/mnt1".into(), "/mnt 2".into(), "rw,user_id=0".to_owned());
        let expected = Mount { id: 36, device, root, point, kind, options };
        assert_eq!(Mount::parse(line), Some(expected));
        assert_eq!(Mount::parse(b"36 35"), None);
    }

    #[test]
    fn the_root_is_a_mount_and_a_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kind_of(folder.path()).unwrap(), None);
        let device = device_of(Path::new("/")).unwrap().unwrap();
        assert!(device.contains(':'));
        let root = last(Path::new("/")).unwrap().unwrap();
        assert!(root.is_on_top().unwrap() && mounts_of(&device).unwrap().contains(&root));
        assert!(!Mount { id: root.id + 100_000, ..root }.is_on_top().unwrap());
    }
}
