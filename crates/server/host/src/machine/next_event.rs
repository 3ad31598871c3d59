//! What happens on a host, and how it responds.

use fairways_core::{Action, Event, Time};
use fairways_programs::Change;

use super::Host;
use super::domain::Pending;
use super::roster::FoundProgram;
use super::state::HostState;
use super::trouble::{Failure, Looked};
use crate::clock::Wait;

impl Host {
    /// The next event, with its time and domain; `None` once nothing more will happen, because the
    /// host was [to stop](Self::stop_when) or [failed](Self::failure).
    pub fn next_event(&mut self) -> Option<(Time, u32, Event)> {
        self.next_event_showing(&mut |_| ())
    }

    /// Like [`next_event`](Self::next_event), and shows the host to `turn` before each look at what
    /// happened, whether or not anything did: at least about once a minute.
    pub fn next_event_showing(
        &mut self,
        turn: &mut dyn FnMut(&Self),
    ) -> Option<(Time, u32, Event)> {
        loop {
            if let Some((domain, event)) = self.next_due() {
                return Some((self.state.agenda.now(), domain, event));
            }
            turn(self);
            if !self.state.agenda.has_rung() {
                self.take_announcements();
            }
            self.mechanism.fetch(&mut self.state);
            let HostState { agenda, domains, counting, .. } = &mut self.state;
            counting.end_windows(agenda, domains, &mut *self.mechanism);
            self.mechanism.report(&mut self.state);
            // A look takes longer with more programs. A starting container does not wait for one,
            // unless the last look was long ago.
            let may_wait = self.announcements.are_unanswered() && !self.state.agenda.is_late();
            if !self.state.agenda.has_rung() && !may_wait {
                self.look();
            }
            self.ring();
            if self.state.domains.are_idle() {
                self.announcements.answer();
                if self.is_over() {
                    return None;
                }
                self.wait();
            }
        }
    }

    /// Carries out an action of a domain's policy, at the time of the last reported event.
    pub fn carry_out(&mut self, domain: u32, action: Action<'_>) {
        let Self { mechanism, state, .. } = self;
        let now = state.agenda.now();
        let Some(of) = state.domains.offered(domain) else { return };
        match action {
            Action::Watch { app, every } => {
                if of.running.contains(&app) {
                    state.counting.watch((domain, app), every, now, &mut **mechanism);
                }
            }
            Action::Wake { at } => of.alarm.set(at),
            action => mechanism.carry_out(domain, action, state),
        }
    }

    /// The next event that happens now.
    fn next_due(&mut self) -> Option<(u32, Event)> {
        let (id, pending) = self.state.domains.next()?;
        let event = match pending {
            Pending::Event(event) => event,
            Pending::Start(app) => {
                self.changes += 1;
                self.state.started(id, app)
            }
            Pending::Exit(app) => {
                self.changes += 1;
                if self.state.exited(id, app) {
                    self.mechanism.release(app, &mut self.state.trouble);
                }
                Event::Exited { app }
            }
        };
        Some((id, event))
    }

    /// Rings the alarms that are due, once nothing else happens now.
    fn ring(&mut self) {
        let HostState { agenda, domains, .. } = &mut self.state;
        if domains.are_idle() && domains.ring(agenda.now()) {
            agenda.ring();
        }
    }

    /// Looks for programs if it is time or something called for attention, and before that checks
    /// for others' changes if that is due, too.
    fn look(&mut self) {
        let is_time = self.state.agenda.begin_look();
        if is_time {
            if self.state.agenda.begin_look_at_others() {
                self.mechanism.look(&mut self.state);
            }
            self.prune_asked();
            let HostState { roster, domains, .. } = &mut self.state;
            roster.report_requests(domains);
        }
        if is_time || self.state.agenda.is_called() {
            self.state.agenda.handle_calls();
            if self.look_at_programs(is_time) || is_time {
                self.changes += 1;
                self.mechanism.report_in_force(&mut self.state);
            }
        }
    }

    /// Looks for programs. Lists their threads if they may have other processes, if it `is_time` to
    /// look and they may have other threads, and now and then in any case. Returns whether it
    /// listed them.
    fn look_at_programs(&mut self, is_time: bool) -> bool {
        self.find_programs();
        let Self { mechanism, state, .. } = self;
        let programs = &mut state.roster.programs;
        let has_changed = programs.has_changed();
        let has_threads = is_time && programs.has_other_threads();
        let lists = has_changed || has_threads || state.agenda.is_time_for_threads();
        if lists {
            mechanism.list_threads(state);
        }
        lists
    }

    /// Finds the programs that came or went.
    pub(super) fn find_programs(&mut self) {
        let Self { mechanism, state, .. } = self;
        match state.roster.programs.look() {
            Ok(changes) => {
                state.trouble.seen(Looked::Programs);
                state.roster.are_known = true;
                let (gone, came): (Vec<_>, Vec<_>) =
                    changes.into_iter().partition(|change| matches!(change, Change::Gone { .. }));
                for change in gone.into_iter().chain(came) {
                    match change {
                        Change::Gone { program } => {
                            state.trouble.seen(Looked::Threads(program));
                            mechanism.end(program, state);
                        }
                        Change::Arrived { program, wanted, name } => {
                            let entry = Some(wanted);
                            mechanism.begin(
                                FoundProgram { program, entry, name, is_starting: false },
                                state,
                            );
                        }
                    }
                }
            }
            Err(why) => {
                state.roster.are_known = false;
                state.trouble.not_seen(Looked::Programs, &why);
            }
        }
    }

    /// Lets time pass until something may have happened.
    fn wait(&mut self) {
        self.mechanism.settle(&mut self.state.trouble);
        let mechanism = &mut *self.mechanism;
        let HostState { agenda, roster, domains, counting, trouble, .. } = &mut self.state;
        let now = agenda.now();
        let mut deadlines = agenda.deadlines(self.stop_at);
        if let Some(alarm) = domains.next_alarm() {
            deadlines.until = deadlines.until.min(alarm);
        }
        counting.add_deadlines(&mut deadlines, agenda.ends_by_instructions());
        let mut attention = roster.programs.attention();
        if let Some(at) = agenda.calls_at() {
            deadlines.about = deadlines.about.min(at);
            attention.clear();
        }
        let mut fetch: Vec<_> = counting.source.attention().into_iter().collect();
        fetch.extend(self.announcements.attention());
        if !roster.members.is_empty() {
            if let Some(span) = mechanism.fetch_within() {
                deadlines.about = deadlines.about.min(now.after(span));
            }
            fetch.extend(mechanism.attention());
        }
        let wait = Wait {
            until: deadlines.until,
            about: deadlines.about,
            instructions: &deadlines.instructions,
            attention: &attention,
            fetch: &fetch,
        };
        if let Err(why) = agenda.wait(&wait) {
            trouble.fail(Failure::Clock(why));
        }
        let now = agenda.now();
        if agenda.was_suspended() {
            tracing::info!(target: "fairways::machine", "resumed: windows begin again");
            agenda.look_at_others_soon();
            counting.restart(None, now, mechanism);
        }
        counting.fetch(now, domains, mechanism);
    }
}
