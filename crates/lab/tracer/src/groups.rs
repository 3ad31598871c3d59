//! The process groups that were started here, so that all can be ended at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<u32>> {
    // No holder of the lock can fail halfway.
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn add(group: u32) {
    groups().push(group);
}

pub(crate) fn remove(group: u32) {
    groups().retain(|&other| other != group);
}

/// Kills all commands that run beside programs, and their children, except those that have left
/// their groups. For a process that is about to exit: nothing is waited for, and programs end with
/// the thread that started them.
pub fn kill_all() {
    for &group in groups().iter() {
        if let Some(group) = Pid::from_raw(group.cast_signed()) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
