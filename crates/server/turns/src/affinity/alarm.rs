//! A timer that a caller can wait for along with other descriptors.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer; its descriptor is readable when its time has come, until it is set again.
#[derive(Debug)]
pub(super) struct Alarm(OwnedFd);

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Sets the timer to this many nanoseconds from now, at least one; `None`: never.
    pub(super) fn set(&self, nanos: Option<u64>) -> io::Result<()> {
        let time = |nanos: u64| Timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0),
        };
        let value = Itimerspec {
            it_interval: time(0),
            it_value: time(nanos.map_or(0, |nanos| nanos.max(1))),
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &value)?;
        Ok(())
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
