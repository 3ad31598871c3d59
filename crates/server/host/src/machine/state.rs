//! A host without its mechanism.

use std::time::Duration;

use fairways_core::{AppId, Event};
use fairways_resctrl_client as client;

use super::agenda::Agenda;
use super::announcer::ContainerAnnouncer;
use super::counting::Counting;
use super::domain::Pending;
use super::domains::Domains;
use super::roster::{Member, Roster};
use super::trouble::Trouble;

/// The state of every host, whatever its policies set: the programs, the domains, their counts, the
/// time, and failures.
///
/// Each part does its own work. This type does what takes several of them.
pub(super) struct HostState {
    pub(super) agenda: Agenda,
    pub(super) roster: Roster,
    pub(super) domains: Domains,
    pub(super) counting: Counting,
    pub(super) trouble: Trouble,
    /// The source of announcements, whose senders wait.
    pub(super) announcer: Option<ContainerAnnouncer>,
}

impl HostState {
    /// Whether the listing of threads stops before this program because a container waits to start;
    /// the rest is listed soon after.
    pub(super) fn stops_listing(&mut self, app: AppId) -> bool {
        let is_waiting = self.announcer.as_ref().is_some_and(ContainerAnnouncer::is_waiting);
        if is_waiting {
            self.roster.leave_unlisted(app);
            self.agenda.list_threads_soon();
            self.agenda.look_soon();
        }
        is_waiting
    }

    /// Updates the domains, with the length of turns if there is one, and reports changes. Returns
    /// the ended programs that no domain has any longer because of that.
    pub(super) fn survey(
        &mut self,
        found: &[client::Domain],
        quantum: Option<Duration>,
    ) -> Vec<AppId> {
        self.counting.set_domains(found);
        // The domains of every program are determined again.
        self.agenda.list_threads_soon();
        for id in self.domains.leave_others(found) {
            self.counting.leave(id);
            self.roster.leave(id);
        }
        self.domains.take_in(found, quantum);
        let mut over: Vec<AppId> = self.roster.members.keys().copied().collect();
        over.retain(|&app| self.remove_if_over(app));
        over
    }

    /// Starts a program under the roster's next id, and notifies the policies of its domains.
    pub(super) fn start(&mut self, member: Member) {
        for &id in &member.domains {
            if let Some(domain) = self.domains.get_mut(id) {
                domain.due.push(Pending::Start(self.roster.next_id()));
            }
        }
        self.roster.add(member);
    }

    /// Ends a program, and notifies the policies of its domains. Returns whether it has ended for
    /// all of them.
    pub(super) fn end(&mut self, app: AppId) -> bool {
        let Some(member) = self.roster.members.get_mut(&app) else { return false };
        member.is_gone = true;
        member.domains.retain(|&id| match self.domains.get_mut(id) {
            Some(domain) => {
                domain.due.push(Pending::Exit(app));
                true
            }
            None => false,
        });
        self.remove_if_over(app)
    }

    /// Reports that a program starts in a domain now.
    pub(super) fn started(&mut self, id: u32, app: AppId) -> Event {
        let (wish, profile) = self.roster.wish_and_profile(app);
        if let Some(domain) = self.domains.get_mut(id) {
            domain.running.push(app);
        }
        Event::Started { app, wish, profile }
    }

    /// Reports that a program has ended in a domain. Returns whether it has ended in all.
    pub(super) fn exited(&mut self, id: u32, app: AppId) -> bool {
        if let Some(domain) = self.domains.get_mut(id) {
            domain.running.retain(|&other| other != app);
        }
        self.counting.stop(id, app);
        if let Some(member) = self.roster.members.get_mut(&app) {
            member.domains.retain(|&other| other != id);
        }
        self.remove_if_over(app)
    }

    /// Forgets a program that has ended, once no domain has it. Returns whether it did.
    fn remove_if_over(&mut self, app: AppId) -> bool {
        let member = self.roster.members.get(&app);
        let is_over = member.is_some_and(|member| member.is_gone && member.domains.is_empty());
        if is_over {
            self.roster.members.remove(&app);
            self.counting.source.end(app);
            self.counting.turnover.end(app);
        }
        is_over
    }
}
