//! Threads' scheduling policies, for which no crate has a safe function.
#![allow(unsafe_code)]

use std::io;

/// A thread's policy by sched_getscheduler(2): `SCHED_*`, and `SCHED_RESET_ON_FORK`.
///
/// # Errors
/// The kernel's.
pub(super) fn get(thread: i32) -> io::Result<i32> {
    // SAFETY: it takes a number and reads no memory.
    let policy = unsafe { libc::sched_getscheduler(thread) };
    if policy < 0 { Err(io::Error::last_os_error()) } else { Ok(policy) }
}

/// Whether children of a thread begin without its raised priority (`SCHED_RESET_ON_FORK`).
pub(super) const fn resets_on_fork(policy: i32) -> bool {
    policy & libc::SCHED_RESET_ON_FORK != 0
}

/// A policy with which children begin without a raised priority, or as its thread is.
pub(super) const fn resetting_on_fork(policy: i32, resets: bool) -> i32 {
    if resets { policy | libc::SCHED_RESET_ON_FORK } else { policy & !libc::SCHED_RESET_ON_FORK }
}

/// Sets a thread's policy, for policies without a static priority; the nice value stays.
///
/// # Errors
/// The kernel's.
pub(super) fn set(thread: i32, policy: i32) -> io::Result<()> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: `none` is initialised, and is only read.
    let done = unsafe { libc::sched_setscheduler(thread, policy, &raw const none) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
