//! Containers that their runtime announces before their first instruction, and waits with until
//! they are in their class.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairways_programs::AnnouncedContainer;
use rustix::event::{EventfdFlags, eventfd};

use super::Host;
use super::settings::NewContainer;
use super::state::HostState;
use super::trouble::Looked;

/// The most announcements that wait to be handled. The announcing thread waits for each, so that
/// more are there only if the host is stuck.
const MOST_WAITING: usize = 1024;

/// What a runtime reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// These containers exist, and no others. The runtime may have just started.
    Exist(Vec<NewContainer>),
    /// One is about to start.
    Starts(NewContainer),
    /// One was asked to stop, or has.
    Stops(String),
    /// One is removed.
    Removed(String),
}

/// Takes announcements to a host, from any thread.
#[derive(Clone, Debug)]
pub struct ContainerAnnouncer(Arc<AnnouncementQueue>);

#[derive(Debug)]
struct AnnouncementQueue {
    waiting: Mutex<Vec<(Announcement, SyncSender<()>)>>,
    /// Readable while announcements wait.
    stirred: OwnedFd,
}

impl ContainerAnnouncer {
    /// An announcer whose announcements wait for a [host](Host::listen_to).
    ///
    /// # Errors
    /// If there is no descriptor left for it.
    pub fn new() -> io::Result<Self> {
        let stirred = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(AnnouncementQueue { waiting: Mutex::default(), stirred })))
    }

    /// Announces something, and waits until the host and its policies have responded, at most
    /// `within`. Returns whether they have; if not, they do later.
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
        // It fails only where it is readable already.
        let _ = rustix::io::write(&self.0.stirred, &1_u64.to_ne_bytes());
        is_done.recv_timeout(within).is_ok()
    }

    fn take(&self) -> Vec<(Announcement, SyncSender<()>)> {
        let _ = rustix::io::read(&self.0.stirred, &mut [0_u8; 8]);
        std::mem::take(&mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for ContainerAnnouncer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.stirred.as_fd()
    }
}

/// The host's side.
#[derive(Default)]
pub(super) struct Announcements {
    announcer: Option<ContainerAnnouncer>,
    /// Those who wait until nothing more happens now.
    unanswered: Vec<SyncSender<()>>,
}

impl Announcements {
    /// What becomes readable when something is announced.
    pub(super) fn attention(&self) -> Option<BorrowedFd<'_>> {
        self.announcer.as_ref().map(AsFd::as_fd)
    }

    /// Lets those go on who wait.
    pub(super) fn answer(&mut self) {
        for done in self.unanswered.drain(..) {
            // Its time may be over.
            let _ = done.try_send(());
        }
    }
}

impl Host {
    /// Responds to announcements of containers from now on. A container that is of a managed
    /// program is in the program's class when its announcement is answered.
    pub fn listen_to(&mut self, announcer: ContainerAnnouncer) {
        self.announcements.announcer = Some(announcer);
    }

    /// Handles what was announced. Those who announced it are answered once nothing more happens
    /// now: policies have decided by then, and their plans are in force.
    pub(super) fn take_announcements(&mut self) {
        let Some(announcer) = &self.announcements.announcer else { return };
        let taken = announcer.take();
        if taken.is_empty() {
            return;
        }
        self.changes += 1;
        let (mut all, mut looks) = (false, false);
        let mut started = Vec::new();
        for (announcement, done) in taken {
            self.announcements.unanswered.push(done);
            let HostState { roster, agenda, trouble, .. } = &mut self.state;
            let announced = match announcement {
                Announcement::Exist(mut containers) => {
                    all = true;
                    // The first of a program counts, whatever the runtime's order is.
                    containers.sort_by(|a, b| a.announced.id.cmp(&b.announced.id));
                    let ids = containers.iter().map(|of| of.announced.id.as_str());
                    roster.programs.retract_others(&ids.collect::<Vec<_>>());
                    roster.forget_unannounced();
                    // containerd's `rdt_config_file` removes others' groups when containerd starts.
                    agenda.look_at_others_soon();
                    containers.into_iter().try_for_each(|of| roster.announce(of))
                }
                Announcement::Starts(container) => {
                    let AnnouncedContainer { id, pid, .. } = container.announced.clone();
                    let announced = roster.announce(container);
                    let program = roster.programs.program_of(&id);
                    looks |= program.is_none() && roster.programs.is_selected(&id);
                    started.extend(program.map(|program| (program, pid)));
                    announced
                }
                Announcement::Stops(id) => {
                    roster.programs.retract_if_ended(&id);
                    Ok(())
                }
                Announcement::Removed(id) => {
                    roster.programs.retract(&id);
                    Ok(())
                }
            };
            match announced {
                Ok(()) => trouble.seen(Looked::Containers),
                Err(why) => trouble.not_seen(Looked::Containers, &why),
            }
        }
        match self.state.roster.look_for_asked() {
            Ok(Some(moved)) => {
                looks = true;
                self.mechanism.reconfigure(&moved);
            }
            Ok(None) => {}
            Err(why) => self.state.trouble.not_seen(Looked::Containers, &why),
        }
        // The next look finds everything else of these containers.
        for (program, pid) in started {
            self.mechanism.admit(program, pid, &mut self.state);
        }
        if looks || all {
            self.find_programs();
        }
        if all {
            self.mechanism.list_threads(&mut self.state);
        }
        self.mechanism.report_in_force(&mut self.state);
    }
}
