//! Copies what a host is examined by, so that it can be examined elsewhere.
//!
//! The copy is made by a shell script, which people can read and run without this program; the list
//! of what is read stands only there.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The script that makes a copy, for a POSIX shell: `sh collect.sh FOLDER [ROOT]`.
pub const SCRIPT: &str = include_str!("collect.sh");

/// The file that a copy has at its top, and its content in this version.
const MARK: (&str, &str) = ("collected", "fairways collect 1");

/// Copies what is read of the host whose files are below `root` into `to`, a folder or a file whose
/// name ends in `.tar`. Nothing of that name may be there.
///
/// # Errors
/// If there is no shell, or the script fails: its first line on standard error.
pub fn collect(to: &Path, root: &Path) -> io::Result<()> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT, "collect"]).arg(to).arg(root);
    let output = shell.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it failed without a word");
    Err(io::Error::other(said.trim_start_matches("collect: ").to_owned()))
}

/// The largest file, the most files, and the deepest folder that a copy may have: all but a
/// kernel's configuration are small.
const LARGEST: u64 = 1 << 24;
const MOST_FILES: usize = 1 << 20;
const DEEPEST: usize = 32;

/// Checks that a folder is a copy that this version reads. A stranger may have made it: it has
/// nothing but folders and files of a copy's size, so that it leads nowhere else, and no reading
/// waits or takes much memory.
///
/// # Errors
/// What is wrong with it, in a line.
pub fn check(folder: &Path) -> Result<(), String> {
    let mut left = MOST_FILES;
    check_folder(folder, &mut left, DEEPEST)?;
    let (name, expected) = MARK;
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) if text.trim_end() == expected => Ok(()),
        Ok(_) => Err(format!("expected {expected:?} in its file {name}: another version made it")),
        Err(_) => Err(format!("expected a copy that fairways collect made, with a file {name}")),
    }
}

fn check_folder(folder: &Path, left: &mut usize, deeper: usize) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|why| wrong(folder, &why))? {
        let path = entry.map_err(|why| wrong(folder, &why))?.path();
        let found = path.symlink_metadata().map_err(|why| wrong(&path, &why))?;
        *left = left.checked_sub(1).ok_or(format!("expected at most {MOST_FILES} files"))?;
        match (found.is_dir(), found.is_file()) {
            (true, _) if deeper > 0 => check_folder(&path, left, deeper - 1)?,
            (true, _) => return Err(wrong(&path, &"expected folders of a copy's depth")),
            (_, true) if found.len() <= LARGEST => {}
            (_, true) => {
                return Err(wrong(&path, &format!("expected a file of at most {LARGEST} bytes")));
            }
            _ => return Err(wrong(&path, &"expected a file or a folder, and no link")),
        }
    }
    Ok(())
}

fn wrong(path: &Path, what: &dyn std::fmt::Display) -> String {
    format!("{}: {what}", path.to_string_lossy().escape_debug())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a copy does not have is refused, and never opened.
    #[test]
    fn a_copy_leads_nowhere_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(check(folder.path()).is_err_and(|why| why.contains("with a file collected")));
        fs::create_dir_all(at("proc/sys")).expect("folders");
        fs::write(at("collected"), "fairways collect 1\n").expect("a file");
        assert_eq!(check(folder.path()), Ok(()));

        symlink("/proc/self/environ", at("proc/cpuinfo")).expect("a link");
        assert!(check(folder.path()).is_err_and(|why| why.contains("cpuinfo: expected a file")));
        fs::remove_file(at("proc/cpuinfo")).expect("removed");
        let _socket = UnixListener::bind(at("proc/socket")).expect("a socket");
        assert!(check(folder.path()).is_err_and(|why| why.contains("socket: expected a file")));
        fs::remove_file(at("proc/socket")).expect("removed");
        fs::File::create(at("large")).and_then(|file| file.set_len(1 << 40)).expect("a file");
        assert!(check(folder.path()).is_err_and(|why| why.contains("at most 16777216 bytes")));
        fs::remove_file(at("large")).expect("removed");
        fs::create_dir_all(at(&"deep/".repeat(40))).expect("folders");
        assert!(check(folder.path()).is_err_and(|why| why.contains("a copy's depth")));
    }
}
