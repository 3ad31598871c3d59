//! Runs a command and notes which files of the checkout it opens.
//!
//! The command gets a mount of its own of each folder, which fanotify(7) watches: so what other
//! commands open at the same time is not counted. A process of it that makes itself a namespace of
//! mounts is not seen.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context as _;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};

/// How long events may wait: the queue has no limit.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a command, and writes what it opened below the folders to a file, a path a line. Needs
/// root.
///
/// # Errors
/// If the kernel refuses, the command can't be started or the file can't be written.
pub(crate) fn opened(
    folders: &[PathBuf],
    to: &Path,
    command: &[String],
) -> anyhow::Result<ExitCode> {
    unshare(CloneFlags::CLONE_NEWNS).context("a namespace of mounts")?;
    let nothing = None::<&str>;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing).context("mounts")?;
    let flags = InitFlags::FAN_CLASS_NOTIF
        | InitFlags::FAN_CLOEXEC
        | InitFlags::FAN_NONBLOCK
        | InitFlags::FAN_UNLIMITED_QUEUE;
    let events = Fanotify::init(flags, EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC)
        .context("fanotify")?;
    for folder in folders {
        let name = folder.display().to_string();
        mount(Some(folder), folder, nothing, MsFlags::MS_BIND, nothing).context(name.clone())?;
        let flags = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_MOUNT;
        let cwd = nix::fcntl::AT_FDCWD;
        events.mark(flags, MaskFlags::FAN_OPEN, cwd, Some(folder)).context(name)?;
    }
    // The present folder is of the mount beneath: the new one covers it for paths alone.
    let here = std::env::current_dir()?;
    std::env::set_current_dir(&here)?;
    let (program, arguments) = command.split_first().context("expected a command")?;
    let mut child = Command::new(program).args(arguments).spawn().context(program.clone())?;
    let mut files = BTreeSet::new();
    let status = loop {
        let ended = child.try_wait()?;
        // What was opened before the end is read after it.
        while read(&events, &mut files)? {}
        match ended {
            Some(status) => break status,
            None => std::thread::sleep(PAUSE),
        }
    };
    let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    fs::write(to, text).with_context(|| to.display().to_string())?;
    // As a shell reports a command that a signal has ended.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// Reads what is queued; whether there was something.
fn read(events: &Fanotify, files: &mut BTreeSet<PathBuf>) -> anyhow::Result<bool> {
    let queued = match events.read_events() {
        Ok(queued) => queued,
        Err(Errno::EAGAIN) => return Ok(false),
        Err(error) => return Err(error).context("fanotify"),
    };
    for event in &queued {
        let Some(fd) = event.fd() else { continue };
        if let Ok(path) = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())) {
            files.insert(path);
        }
    }
    Ok(!queued.is_empty())
}
