//! One descriptor that becomes readable when there is something to look at.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open};

/// The most exits that are watched by a descriptor each, and at most a quarter of the files that
/// may be open; looks find the rest.
const MOST_EXITS: u64 = 4096;

const PENDING: u64 = u64::MAX;
/// Added to the number of a process in a program's cgroup, whose exit may empty it.
const OF_CGROUP: u64 = 1 << 40;

/// An exit that a descriptor reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// A process that is managed as such.
    Process(i32),
    /// One that is watched because it is in a cgroup.
    OfCgroup(i32),
}

/// One descriptor for everything that is waited for.
#[derive(Debug)]
pub(super) struct Watcher {
    epoll: OwnedFd,
    stirred: OwnedFd,
    most: u64,
}

impl Watcher {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let stirred = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let watcher = Self {
            epoll,
            stirred,
            most: MOST_EXITS.min(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4),
        };
        watcher.add(watcher.stirred.as_fd(), PENDING)?;
        Ok(watcher)
    }

    fn add(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Waits for a source, which is then asked for its events.
    pub(super) fn watch(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.add(fd, PENDING)
    }

    /// Waits for an exit, until the returned descriptor is dropped; `None` where the kernel
    /// refuses, or as many as allowed are `watched` already.
    pub(super) fn watch_exit(&self, exit: Exit, watched: usize) -> Option<OwnedFd> {
        if u64::try_from(watched).is_ok_and(|watched| watched >= self.most) {
            return None;
        }
        let (pid, token) = match exit {
            Exit::Process(pid) => (pid, u64::try_from(pid).ok()?),
            Exit::OfCgroup(pid) => (pid, u64::try_from(pid).ok()? | OF_CGROUP),
        };
        let fd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        self.add(fd.as_fd(), token).ok()?;
        Some(fd)
    }

    /// The exits since the last call, and whether a source has an event; it does not wait.
    pub(super) fn poll(&self) -> io::Result<(Vec<Exit>, bool)> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now))?;
        let stirred = events.iter().any(|event| event.data.u64() == PENDING);
        Ok((
            events
                .iter()
                .filter_map(|event| match event.data.u64() {
                    PENDING => None,
                    token if token & OF_CGROUP != 0 => {
                        Some(Exit::OfCgroup(i32::try_from(token ^ OF_CGROUP).ok()?))
                    }
                    token => Some(Exit::Process(i32::try_from(token).ok()?)),
                })
                .collect(),
            stirred,
        ))
    }

    /// Makes the descriptor readable, until [`clear_pending`](Self::clear_pending).
    pub(super) fn set_pending(&self) -> io::Result<()> {
        match rustix::io::write(&self.stirred, &1_u64.to_ne_bytes()) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn clear_pending(&self) -> io::Result<()> {
        match rustix::io::read(&self.stirred, &mut [0_u8; 8]) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Watcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
