//! Threads enter and leave the class of sched_ext: sched_setscheduler(2).

use std::io;

use crate::Error;

/// `SCHED_EXT` of `linux/sched.h`.
const SCHED_EXT: i32 = 7;

/// How a thread was scheduled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormerPolicy {
    /// The policy of sched(7), with `SCHED_RESET_ON_FORK` if it was set.
    pub policy: i32,
    /// The priority of a real-time policy, otherwise 0.
    pub priority: i32,
}

impl FormerPolicy {
    /// Reads how a thread is scheduled now.
    ///
    /// # Errors
    /// If it can't be read; `ESRCH` for a thread that has ended.
    pub fn read(thread: i32) -> Result<Self, Error> {
        // SAFETY: it takes a number and touches no memory of ours.
        let policy = answered(unsafe { libc::sched_getscheduler(thread) })
            .map_err(|()| Error::Thread { thread, source: io::Error::last_os_error() })?;
        let mut parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the structure lives across the call, which writes into it and keeps no pointer.
        let got = unsafe { libc::sched_getparam(thread, &raw mut parameters) };
        answered(got).map_err(|()| Error::Thread { thread, source: io::Error::last_os_error() })?;
        Ok(Self { policy, priority: parameters.sched_priority })
    }

    /// Whether it is sched_ext's class.
    #[must_use]
    pub fn is_ext(self) -> bool {
        self.policy & !libc::SCHED_RESET_ON_FORK == SCHED_EXT
    }

    /// Schedules a thread with this policy.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(self, thread: i32) -> Result<(), Error> {
        let parameters = libc::sched_param { sched_priority: self.priority };
        // SAFETY: the structure lives across the call, which only reads it.
        let set = unsafe { libc::sched_setscheduler(thread, self.policy, &raw const parameters) };
        answered(set)
            .map(drop)
            .map_err(|()| Error::Thread { thread, source: io::Error::last_os_error() })
    }
}

/// Puts a thread under the loaded scheduler, and returns how it was scheduled before, to be kept
/// for [`FormerPolicy::set`]. Its nice value and its affinity stay; its children are under the
/// scheduler, too, unless its owner has set `SCHED_RESET_ON_FORK`. Without a scheduler the kernel
/// treats it as `SCHED_OTHER`.
///
/// # Errors
/// If the kernel refuses; `EOPNOTSUPP` for a real-time thread, one with deadlines, or one of
/// `SCHED_IDLE`, whose tiny weight the class does not support: these stay as they are.
pub(crate) fn enter(thread: i32) -> Result<FormerPolicy, Error> {
    let before = FormerPolicy::read(thread)?;
    let flags = before.policy & libc::SCHED_RESET_ON_FORK;
    match before.policy & !libc::SCHED_RESET_ON_FORK {
        SCHED_EXT => {}
        libc::SCHED_OTHER | libc::SCHED_BATCH => {
            FormerPolicy { policy: SCHED_EXT | flags, priority: 0 }.set(thread)?;
        }
        _ => {
            let source = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
            return Err(Error::Thread { thread, source });
        }
    }
    Ok(before)
}

fn answered(answer: i32) -> Result<i32, ()> {
    if answer < 0 { Err(()) } else { Ok(answer) }
}
