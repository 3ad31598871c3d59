//! The emulator's mount: checks that it is possible, and removes it.

mod guardian;

pub use guardian::guard;
pub(crate) use guardian::{Guardian, wait};

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fairways_linux::mounts;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};

/// Why nothing can be mounted there.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// There is no such directory, or it can't be read.
    #[error("{dir}: {why}")]
    Unseen {
        /// The directory.
        dir: String,
        /// The error.
        why: io::Error,
    },
    /// It is no directory.
    #[error("{0}: expected a directory")]
    NoDirectory(String),
    /// It has entries, which would be hidden.
    #[error("{0}: expected an empty directory")]
    NotEmpty(String),
    /// A live file system is mounted there.
    #[error("{dir}: {kind} is mounted there already")]
    Mounted {
        /// The directory.
        dir: String,
        /// The file system's type, as in /proc/self/mountinfo.
        kind: String,
    },
    /// An emulator that is gone has left its mount behind.
    #[error(
        "{dir}: an emulator that is gone has left its mount there: `{remedy}` takes it away, and so does --replace"
    )]
    Stale {
        /// The directory.
        dir: String,
        /// The command.
        remedy: String,
    },
    /// Another server that is gone has left its mount behind.
    #[error(
        "{dir}: {kind} is mounted there and answers nothing: expected an emulator's mount, or none"
    )]
    Foreign {
        /// The directory.
        dir: String,
        /// The file system's type, as in /proc/self/mountinfo; empty if it is not listed.
        kind: String,
    },
    /// The system does not let this user mount, or has no FUSE.
    #[error("{dir}: can't mount: {why}")]
    Refused {
        /// The directory.
        dir: String,
        /// The error, and what helps.
        why: String,
    },
}

impl MountError {
    fn unseen(dir: &Path) -> impl FnOnce(io::Error) -> Self {
        move |why| Self::Unseen { dir: dir.display().to_string(), why }
    }

    pub(crate) fn refused(dir: &Path, why: impl ToString) -> Self {
        Self::Refused { dir: dir.display().to_string(), why: why.to_string() }
    }
}

/// Checks that something can be mounted on the directory, and resolves all symbolic links in it.
/// With `replace`, the remains of an emulator that is gone are removed first.
pub(crate) fn check(dir: &Path, replace: bool) -> Result<PathBuf, MountError> {
    let shown = dir.display().to_string();
    let about = match fs::metadata(dir) {
        Err(why) if is_stale(&why) => {
            let whole = whole(dir).map_err(MountError::unseen(dir))?;
            let kind =
                mounts::kind_of(&whole).map_err(MountError::unseen(dir))?.unwrap_or_default();
            if kind != format!("fuse.{TYPE}") {
                return Err(MountError::Foreign { dir: shown, kind });
            }
            if !replace {
                return Err(MountError::Stale { remedy: remedy(&whole), dir: shown });
            }
            unmount(&whole).map_err(|why| MountError::Refused {
                dir: shown.clone(),
                why: format!("the remains of an emulator that is gone stay: {why}"),
            })?;
            return check(&whole, false);
        }
        about => about.map_err(MountError::unseen(dir))?,
    };
    if !about.is_dir() {
        return Err(MountError::NoDirectory(shown));
    }
    let whole = fs::canonicalize(dir).map_err(MountError::unseen(dir))?;
    if let Some(kind) = mounts::kind_of(&whole).map_err(MountError::unseen(dir))? {
        return Err(MountError::Mounted { dir: shown, kind });
    }
    if fs::read_dir(&whole).map_err(MountError::unseen(dir))?.next().is_some() {
        return Err(MountError::NotEmpty(shown));
    }
    Ok(whole)
}

/// Whether this error means that a mount's server is gone.
fn is_stale(why: &io::Error) -> bool {
    let errno = Errno::from_io_error(why);
    errno == Some(Errno::NOTCONN) || errno == Some(Errno::CONNABORTED)
}

/// A path whose last part can't be read, with the symbolic links to it resolved.
fn whole(dir: &Path) -> io::Result<PathBuf> {
    let mut dir = dir.to_owned();
    // As many as the kernel follows (path_resolution(7)).
    for _ in 0..40 {
        let parent = match dir.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = dir.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = fs::canonicalize(parent)?;
        let here = parent.join(name);
        match fs::read_link(&here) {
            Ok(to) => dir = parent.join(to),
            Err(_) => return Ok(here),
        }
    }
    Err(Errno::LOOP.into())
}

fn remedy(dir: &Path) -> String {
    let command = if rustix::process::geteuid().is_root() { "umount" } else { "fusermount3 -u" };
    format!("{command} {}", dir.display())
}

/// The name of the file system's type, after `fuse.`, and of the mounted device, in the tables of
/// mounts.
pub(crate) const TYPE: &str = "resctrl";

/// Mounts by mount(2), which takes CAP_SYS_ADMIN; `None` without it. Only fusermount3 sets a
/// subtype otherwise.
pub(crate) fn mount(dir: &Path, allow_other: bool) -> Result<Option<OwnedFd>, MountError> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
    let device: File = device.map_err(|why| {
        let help = match why.kind() {
            io::ErrorKind::NotFound => "`modprobe fuse` loads it",
            io::ErrorKind::PermissionDenied => {
                "it has to be open to this user: mode 0666, as most systems have it"
            }
            _ => "the kernel has to have FUSE",
        };
        MountError::refused(dir, format!("/dev/fuse: {why}; {help}"))
    })?;
    let mode = fs::metadata(dir).map_err(|why| MountError::refused(dir, why))?.mode();
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let options = format!(
        "fd={},rootmode={mode:o},user_id={user},group_id={group},default_permissions{}",
        device.as_raw_fd(),
        if allow_other { ",allow_other" } else { "" }
    );
    let options = std::ffi::CString::new(options).map_err(|why| MountError::refused(dir, why))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let kind = format!("fuse.{TYPE}");
    match rustix::mount::mount(TYPE, dir, kind.as_str(), flags, options.as_c_str()) {
        Ok(()) => Ok(Some(device.into())),
        Err(Errno::PERM) => Ok(None),
        Err(why) => Err(MountError::refused(dir, why)),
    }
}

/// Unmounts a device, wherever it is by now, but no other mounts over it.
///
/// # Errors
/// If it stays mounted somewhere.
pub(crate) fn unmount_device(device: &str) -> io::Result<()> {
    let mut stays = Ok(());
    for mount in mounts::mounts_of(device)? {
        let done = match mount.is_on_top() {
            Ok(true) => unmount(&mount.point),
            Ok(false) => Err(io::Error::other("something else is mounted over it")),
            Err(why) => Err(why),
        };
        if let Err(why) = done {
            let point = mount.point.display();
            let message = format!("{point}: the emulator's mount stays: {why}");
            stays = Err(io::Error::new(why.kind(), message));
        }
    }
    stays
}

/// Unmounts, even where clients still have files open, by whatever means this user has.
///
/// # Errors
/// If it stays mounted.
pub(crate) fn unmount(dir: &Path) -> io::Result<()> {
    let why = match rustix::mount::unmount(dir, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Ok(()) => return Ok(()),
        Err(why) => why,
    };
    if why != Errno::PERM {
        return Err(why.into());
    }
    let output = Command::new("fusermount3")
        .args(["-u", "-z", "-q", "--"])
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| io::Error::new(why.kind(), format!("fusermount3: {why}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
