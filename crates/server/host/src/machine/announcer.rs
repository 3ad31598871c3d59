//! Containers that their runtime announces before their first instruction. The runtime waits until
//! they are in their class.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use super::settings::NewContainer;

/// The most announcements that wait to be handled. Each announcing thread waits for its own, so
/// there are more only if the host is stuck.
const MOST_WAITING: usize = 1024;

/// What a runtime reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// These containers exist, and no others. The runtime may have just started.
    Exist(Vec<NewContainer>),
    /// A container is about to start.
    Starts(NewContainer),
    /// A container was requested to stop, or has stopped.
    Stops(String),
    /// A container is removed.
    Removed(String),
}

/// Passes announcements to a host, from any thread.
#[derive(Clone, Debug)]
pub struct ContainerAnnouncer(Arc<AnnouncementQueue>);

#[derive(Debug)]
struct AnnouncementQueue {
    waiting: Mutex<Vec<(Announcement, SyncSender<()>)>>,
    /// Readable while announcements wait.
    stirred: OwnedFd,
}

impl ContainerAnnouncer {
    /// An announcer whose announcements wait for a [host](super::Host::listen_to).
    ///
    /// # Errors
    /// If there is no descriptor left for it.
    pub fn new() -> io::Result<Self> {
        let stirred = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(AnnouncementQueue { waiting: Mutex::default(), stirred })))
    }

    /// Announces something, and waits, at most `within`, until the host and its policies have
    /// responded. Returns whether they have; if not, they will later.
    #[must_use]
    pub fn announce(&self, what: Announcement, within: Duration) -> bool {
        let (done, is_done) = sync_channel(1);
        {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST_WAITING {
                return false;
            }
            waiting.push((what, done));
        }
        // This fails only if the descriptor is readable already.
        let _ = rustix::io::write(&self.0.stirred, &1_u64.to_ne_bytes());
        is_done.recv_timeout(within).is_ok()
    }

    /// Whether an announcement waits to be handled.
    pub(super) fn is_waiting(&self) -> bool {
        !self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// All waiting announcements, each with the sender of its answer.
    pub(super) fn take(&self) -> Vec<(Announcement, SyncSender<()>)> {
        let _ = rustix::io::read(&self.0.stirred, &mut [0_u8; 8]);
        std::mem::take(&mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for ContainerAnnouncer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.stirred.as_fd()
    }
}
