//! How a host responds to announced containers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::SyncSender;

use fairways_programs::{AnnouncedContainer, Change};

use super::Host;
use super::announcer::{Announcement, ContainerAnnouncer};
use super::pod_places::PlaceLimits;
use super::roster::FoundProgram;
use super::settings::NewContainer;
use super::state::HostState;
use super::trouble::Looked;

/// The host's side of announcements.
#[derive(Default)]
pub(super) struct Announcements {
    pub(super) announcer: Option<ContainerAnnouncer>,
    /// The senders that are answered once nothing more happens now.
    unanswered: Vec<SyncSender<()>>,
}

impl Announcements {
    /// Whether an announcement is not answered yet.
    pub(super) const fn are_unanswered(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// A descriptor that becomes readable when something is announced.
    pub(super) fn attention(&self) -> Option<BorrowedFd<'_>> {
        self.announcer.as_ref().map(AsFd::as_fd)
    }

    /// Answers all announcements, so that their senders go on.
    pub(super) fn answer(&mut self) {
        for done in self.unanswered.drain(..) {
            // The sender may have stopped waiting.
            let _ = done.try_send(());
        }
    }
}

impl Host {
    /// Handles announcements of containers from now on. When the announcement of a managed
    /// program's container is answered, the container is in the program's class. Pods may request
    /// as many programs as there are places.
    pub fn listen_to(&mut self, announcer: ContainerAnnouncer, places: PlaceLimits) {
        self.state.roster.places.limit(places);
        self.state.announcer = Some(announcer.clone());
        self.announcements.announcer = Some(announcer);
    }

    /// Handles all announcements. Their senders are answered once nothing more happens now: by then
    /// policies have decided, and their plans are in force.
    pub(super) fn take_announcements(&mut self) {
        let Some(announcer) = &self.announcements.announcer else { return };
        let taken = announcer.take();
        if taken.is_empty() {
            return;
        }
        self.changes += 1;
        let (mut all, mut looks) = (false, false);
        for (announcement, done) in taken {
            self.announcements.unanswered.push(done);
            let handled = match announcement {
                Announcement::Exist(containers) => {
                    all = true;
                    self.set_containers(containers)
                }
                Announcement::Starts(container) => {
                    let AnnouncedContainer { id, pid, .. } = container.announced.clone();
                    let announced = self.state.roster.announce(vec![container]);
                    looks |= !self.admit(&id, pid);
                    announced
                }
                Announcement::Stops(id) => {
                    self.state.roster.programs.retract_if_ended(&id);
                    self.state.roster.forget_unannounced().map(|are_fewer| looks |= are_fewer)
                }
                Announcement::Removed(id) => {
                    self.state.roster.programs.retract(&id);
                    self.state.roster.forget_unannounced().map(|are_fewer| looks |= are_fewer)
                }
            };
            match handled {
                Ok(()) => self.state.trouble.seen(Looked::Containers),
                Err(why) => self.state.trouble.not_seen(Looked::Containers, &why),
            }
        }
        if looks || all {
            self.find_programs();
        }
        if all {
            self.mechanism.list_threads(&mut self.state);
        }
        self.mechanism.report_in_force(&mut self.state);
    }

    /// Replaces the known containers by these.
    fn set_containers(&mut self, mut containers: Vec<NewContainer>) -> io::Result<()> {
        let HostState { roster, agenda, .. } = &mut self.state;
        // The first container of a program counts, in an order that does not depend on the runtime.
        containers.sort_by(|a, b| a.announced.id.cmp(&b.announced.id));
        let ids: Vec<&str> = containers.iter().map(|of| of.announced.id.as_str()).collect();
        roster.programs.retract_others(&ids);
        let forgotten = roster.forget_unannounced();
        // containerd's `rdt_config_file` removes others' groups when containerd starts.
        agenda.look_at_others_soon();
        roster.announce(containers)?;
        forgotten.map(drop)
    }

    /// Adds the first process of a starting container to its program, which may start with it. The
    /// work does not grow with the number of programs; the next look finds everything else. Returns
    /// whether that is done; otherwise a look must find the program.
    fn admit(&mut self, id: &str, pid: i32) -> bool {
        let Self { mechanism, state, .. } = self;
        if let Some(program) = state.roster.programs.program_of(id) {
            mechanism.admit(program, pid, state);
            return true;
        }
        match state.roster.programs.begin_announced(id) {
            Some(Change::Arrived { program, wanted, name }) => {
                let entry = Some(wanted);
                let found = FoundProgram { program, entry, name, is_starting: true };
                mechanism.begin(found, state);
                true
            }
            _ => !state.roster.programs.is_selected(id),
        }
    }

    /// Removes the entries that pods no longer request, once they are many.
    pub(super) fn prune_asked(&mut self) {
        match self.state.roster.prune_asked() {
            Ok(Some(moved)) => self.mechanism.reconfigure(&moved),
            Ok(None) => {}
            Err(why) => self.state.trouble.not_seen(Looked::Containers, &why),
        }
    }
}
