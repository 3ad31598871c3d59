//! perf_event_open(2), and reading its descriptors.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use perf_event_open_sys::bindings::{
    PERF_FLAG_FD_CLOEXEC, PERF_FLAG_PID_CGROUP, PERF_FORMAT_GROUP, PERF_FORMAT_TOTAL_TIME_ENABLED,
    PERF_FORMAT_TOTAL_TIME_RUNNING, perf_event_attr,
};

use super::events::Encoding;

/// Whose events are counted.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// A thread's, wherever it runs; 0 is the caller.
    Thread(i32),
    /// The threads of a cgroup, while they run on a CPU.
    Cgroup(BorrowedFd<'a>, i32),
    /// Every thread on a CPU.
    Cpu(i32),
}

/// A period so long that no event ever overflows, for one that may get [another](set_period) later:
/// that takes an event that was opened with a period.
pub(super) const NEVER: u64 = 1 << 62;

/// Opens an event; a leader begins to count when it is [enabled](enable), and its members with it.
/// With a `period` other than 0 it overflows whenever it has counted that much.
///
/// # Errors
/// perf_event_open(2)'s.
pub(crate) fn open(
    encoding: Encoding,
    scope: Scope<'_>,
    leader: Option<BorrowedFd<'_>>,
    user_only: bool,
    period: u64,
) -> io::Result<OwnedFd> {
    let mut attr = event(encoding);
    attr.__bindgen_anon_1.sample_period = period;
    attr.set_disabled(u64::from(leader.is_none()));
    attr.set_exclude_kernel(u64::from(user_only));
    attr.set_exclude_hv(1);
    open_as(attr, scope, leader)
}

/// The attributes of an event that is read with [`read`].
pub(crate) fn event(encoding: Encoding) -> perf_event_attr {
    let times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    perf_event_attr {
        type_: encoding.kind,
        config: encoding.config,
        read_format: u64::from(PERF_FORMAT_GROUP | times),
        ..perf_event_attr::default()
    }
}

/// Opens an event with these attributes.
///
/// # Errors
/// perf_event_open(2)'s.
pub(crate) fn open_as(
    mut attr: perf_event_attr,
    scope: Scope<'_>,
    leader: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    let (pid, cpu, flags) = match scope {
        Scope::Thread(thread) => (thread, -1, PERF_FLAG_FD_CLOEXEC),
        Scope::Cgroup(cgroup, cpu) => {
            (cgroup.as_raw_fd(), cpu, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP)
        }
        Scope::Cpu(cpu) => (-1, cpu, PERF_FLAG_FD_CLOEXEC),
    };
    let leader = leader.map_or(-1, |leader| leader.as_raw_fd());
    attr.size = u32::try_from(size_of::<perf_event_attr>()).unwrap_or(0);
    // SAFETY: `attr` is initialised, its `size` is its own, and the kernel writes no more than
    // that; the other arguments are numbers that the kernel checks.
    let fd = unsafe {
        perf_event_open_sys::perf_event_open(&raw mut attr, pid, cpu, leader, flags.into())
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for this call, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Lets a leader and its members count from now on.
///
/// # Errors
/// ioctl(2)'s.
pub(crate) fn enable(leader: impl AsFd) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as the borrow, and PERF_EVENT_IOC_ENABLE with no flag
    // reads and writes no memory.
    let done = unsafe { perf_event_open_sys::ioctls::ENABLE(leader.as_fd().as_raw_fd(), 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the count after which an event overflows from now on.
///
/// # Errors
/// ioctl(2)'s; `EINVAL` for an event that was opened without a period.
pub(super) fn set_period(event: impl AsFd, period: u64) -> io::Result<()> {
    // The kernel wants the number's address (perf_event_open(2)), for which the crate has a
    // number's type.
    let place = std::ptr::from_ref(&period).expose_provenance();
    let place = u64::try_from(place).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open as long as the borrow; PERF_EVENT_IOC_PERIOD reads the eight
    // bytes at `place`, where `period` lives beyond the call, and writes nothing.
    let done = unsafe { perf_event_open_sys::ioctls::PERIOD(event.as_fd().as_raw_fd(), place) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The content of a group's descriptor (`PERF_FORMAT_GROUP`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupReading {
    /// Nanoseconds that the counted threads ran.
    pub(crate) enabled: u64,
    /// Nanoseconds of those in which the group was on the processor's counters.
    pub(crate) running: u64,
    /// Each event's count, the leader's first.
    pub(crate) values: Vec<u64>,
}

/// Reads a leader and its members, `events` in all, with one system call.
///
/// # Errors
/// read(2)'s; or the kernel returned less than was requested.
pub(crate) fn read(leader: impl AsFd, events: usize) -> io::Result<GroupReading> {
    const WORD: usize = size_of::<u64>();
    let mut bytes = [0; 16 * WORD];
    let bytes = bytes
        .get_mut(..(3 + events) * WORD)
        .ok_or_else(|| io::Error::other("a group of more than 13 events"))?;
    let read = rustix::io::read(leader, &mut *bytes)?;
    let mut words = bytes.chunks_exact(WORD).map(|chunk| {
        let mut word = [0; WORD];
        word.copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    match (words.next(), words.next(), words.next()) {
        (Some(count), Some(enabled), Some(running))
            if read == bytes.len() && usize::try_from(count) == Ok(events) =>
        {
            Ok(GroupReading { enabled, running, values: words.collect() })
        }
        _ => {
            Err(io::Error::other("the kernel returned less of a counter group than was requested"))
        }
    }
}
