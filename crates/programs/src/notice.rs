//! What is waited for: one descriptor that is readable when there is something to look at.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open};

/// So many exits are waited for by a descriptor each, at most, and by no more than a quarter of the files that may be open; the
/// rest is found by looking.
const MOST_EXITS: u64 = 4096;

const STIRRED: u64 = u64::MAX;
/// Added to a process's number where it is one of a cgroup's, whose exit may empty it.
const OF_CGROUP: u64 = 1 << 40;

/// The exit that a descriptor told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// A process that is managed as such.
    Process(i32),
    /// One that is watched because it is in a cgroup.
    OfCgroup(i32),
}

/// One descriptor for all that is waited for.
#[derive(Debug)]
pub(super) struct Notice {
    epoll: OwnedFd,
    stirred: OwnedFd,
    most: u64,
}

impl Notice {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let stirred = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let notice = Self {
            epoll,
            stirred,
            most: MOST_EXITS.min(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4),
        };
        notice.add(notice.stirred.as_fd(), STIRRED)?;
        Ok(notice)
    }

    fn add(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Waits for a source that is asked itself what it has to tell.
    pub(super) fn watch(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.add(fd, STIRRED)
    }

    /// Waits for an exit, until what is returned is dropped; `None` where the kernel refuses or `held` such are enough.
    pub(super) fn exit(&self, exit: Exit, held: usize) -> Option<OwnedFd> {
        if u64::try_from(held).is_ok_and(|held| held >= self.most) {
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

    /// The exits that there were, and whether a source has something to tell; it does not wait.
    pub(super) fn news(&self) -> io::Result<(Vec<Exit>, bool)> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&now))?;
        let exit = |event: &epoll::Event| match event.data.u64() {
            STIRRED => None,
            token if token & OF_CGROUP != 0 => {
                Some(Exit::OfCgroup(i32::try_from(token ^ OF_CGROUP).ok()?))
            }
            token => Some(Exit::Process(i32::try_from(token).ok()?)),
        };
        let stirred = events.iter().any(|event| event.data.u64() == STIRRED);
        Ok((events.iter().filter_map(exit).collect(), stirred))
    }

    /// Makes the descriptor readable, until [`calm`](Self::calm).
    pub(super) fn stir(&self) -> io::Result<()> {
        match rustix::io::write(&self.stirred, &1_u64.to_ne_bytes()) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn calm(&self) -> io::Result<()> {
        match rustix::io::read(&self.stirred, &mut [0_u8; 8]) {
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Notice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
