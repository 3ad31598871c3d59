//! Files that are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// How many links may follow each other, as in the kernel.
const MOST_LINKS: usize = 40;
/// The permissions of a new file, before the umask.
const NEW: u32 = 0o666;

/// Writes a file whole or not at all; `old` is the ending under which an old file is kept.
///
/// If `path` is a link, its target is written and the link stays. A replaced file's permissions
/// stay, too. A device or a pipe is written to directly.
///
/// # Errors
/// If the file system refuses something. The old file is still there then, or beside it under
/// `old`.
pub fn write(path: &Path, text: &[u8], old: Option<&str>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return fs::write(path, text);
    }
    let path = led_to(path)?;
    let mut new = beside(&path)?;
    if let Some(there) = &there {
        new.as_file()
            .set_permissions(Permissions::from_mode(there.permissions().mode() & 0o777))?;
    }
    new.write_all(text)?;
    if let Some(old) = old.filter(|_| there.is_some()) {
        let mut name = path.clone().into_os_string();
        name.push(old);
        fs::rename(&path, name)?;
    }
    new.persist(&path)?;
    Ok(())
}

/// Checks that a file could be written.
///
/// # Errors
/// If it could not: the reason.
pub fn try_out(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => Ok(()),
        _ => beside(&led_to(path)?).map(drop),
    }
}

/// A new file beside `path`, under a name that can't be guessed.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = Builder::new();
    builder.permissions(Permissions::from_mode(NEW)).prefix(&prefix);
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// The path to which the links lead, whether a file exists there or not.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(io::Error::other("too many links"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_with_its_permissions_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, other] = ["file", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        // A file that another program put under a name that could be guessed is left alone.
        fs::write(&other, "another's").unwrap();
        symlink(&other, folder.path().join(format!("file.{}", std::process::id()))).unwrap();
        write(&link, b"new", None).unwrap();
        assert!(link.is_symlink() && !file.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&other).unwrap(), "another's");
        write(&file, b"newer", Some(".old")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("file.old")).unwrap(), "new");
        assert_eq!(folder.path().read_dir().unwrap().count(), 5);
    }

    #[test]
    fn a_link_to_nothing_is_followed_and_one_to_itself_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let [link, to, round] = ["link", "to", "round"].map(|name| folder.path().join(name));
        symlink("to", &link).unwrap();
        write(&link, b"new", Some(".old")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        // With the permissions of any new file.
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&to), mode(&plain));
        symlink("round", &round).unwrap();
        write(&round, b"new", None).unwrap_err();
        try_out(&round).unwrap_err();
        try_out(folder.path()).unwrap_err();
        try_out(&to).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 4);
    }
}
