//! What Linux reports in /proc and /sys, each read in one place; names and paths are any bytes that
//! programs chose.
//!
//! - [`stat`], [`status`]: threads, by `/proc/PID/stat` and `/proc/PID/status`.
//! - [`cpu_time`]: how long threads ran and waited for a CPU, and what a hypervisor took.
//! - [`mounts`]: the table of mounts.
//! - [`namespaces`]: whether this process is in the host's.
//! - [`cgroup`]: the cgroups that a process is in.
//! - [`topology`]: CPUs, and which of them share a last-level cache.
//! - [`owners`]: which users may write a file.
//! - [`errno`]: names of errors.

pub mod affinity;
pub mod cgroup;
pub mod cpu_time;
pub mod errno;
pub mod mounts;
pub mod namespaces;
pub mod owners;
pub mod stat;
pub mod status;
pub mod topology;

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// Whether a file's process or cgroup went away, before it was opened or while it was read.
#[must_use]
pub fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::SRCH, Errno::NODEV];
    error.raw_os_error().is_some_and(|raw| gone.iter().any(|errno| errno.raw_os_error() == raw))
}

/// The entries of a directory that are numbers (processes, or a process's threads), in the order of
/// the directory; if it goes away meanwhile, those listed until then.
///
/// # Errors
/// If it can't be read, or [is gone](is_gone) before it is.
pub fn numbers(directory: &Path) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        match entry {
            Ok(entry) => {
                found.extend(entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()))
            }
            Err(error) if is_gone(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
