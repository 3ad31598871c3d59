//! Threads enter the class of sched_ext, and leave it: sched_setscheduler(2).

use std::io;

use crate::Error;

/// `SCHED_EXT` of `linux/sched.h`.
const SCHED_EXT: i32 = 7;

/// How a thread was scheduled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Before {
    /// The policy of sched(7), with `SCHED_RESET_ON_FORK` if it was set.
    pub policy: i32,
    /// The priority of a real-time policy, otherwise 0.
    pub priority: i32,
}

impl Before {
    /// How a thread is scheduled now.
    ///
    /// # Errors
    /// If it can't be asked; a thread that has ended gives `ESRCH`.
    pub fn of(thread: i32) -> Result<Self, Error> {
        let failed = |_| Error::Thread { thread, source: io::Error::last_os_error() };
        // SAFETY: it takes a number and touches no memory of ours.
        let policy = answered(unsafe { libc::sched_getscheduler(thread) }).map_err(failed)?;
        let mut parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the structure lives across the call, which writes into it and keeps no pointer.
        let got = unsafe { libc::sched_getparam(thread, &raw mut parameters) };
        answered(got).map_err(failed)?;
        Ok(Self { policy, priority: parameters.sched_priority })
    }

    /// Whether it is sched_ext's class.
    #[must_use]
    pub fn is_ext(self) -> bool {
        self.policy & !libc::SCHED_RESET_ON_FORK == SCHED_EXT
    }

    /// Schedules a thread so.
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

/// Puts a thread under the scheduler that is loaded, and says how it was scheduled before: that is to be kept, for
/// [`Before::set`]. Its nice value and its affinity stay; its children are under the scheduler too, unless its owner had
/// said `SCHED_RESET_ON_FORK`. Without a scheduler the kernel's own treats it as `SCHED_OTHER`.
///
/// # Errors
/// If the kernel refuses; `EOPNOTSUPP` if it is a real-time thread, one with deadlines, or one of `SCHED_IDLE`, whose weight of next to
/// nothing the class does not know: these stay as they are.
pub(crate) fn enter(thread: i32) -> Result<Before, Error> {
    let before = Before::of(thread)?;
    let flags = before.policy & libc::SCHED_RESET_ON_FORK;
    match before.policy & !libc::SCHED_RESET_ON_FORK {
        SCHED_EXT => {}
        libc::SCHED_OTHER | libc::SCHED_BATCH => {
            Before { policy: SCHED_EXT | flags, priority: 0 }.set(thread)?;
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
