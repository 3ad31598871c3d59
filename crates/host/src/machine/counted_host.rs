//! A host whose programs are only counted: without resctrl, nothing is set.
//!
//! Domains are the L3 caches in sysfs; all CPUs are one, where sysfs has no caches. Occupancies and
//! memory traffic are not known. A plan is answered as if it were carried out, as by a host that
//! observes.

use std::io;
use std::path::PathBuf;

use fairways_core::{Action, AppId, Event};
use fairways_programs::ProgramKey;
use fairways_resctrl_client::{Errors, Restored};

use super::agenda::{RARELY, SELDOM};
use super::caches::Caches;
use super::mechanism::Mechanism;
use super::roster::FoundProgram;
use super::state::HostState;
use super::trouble::Looked;

/// The caches of a host on which nothing is set.
pub struct CountedHost {
    caches: Caches,
    errors: Errors,
}

impl CountedHost {
    /// The caches of the host whose sysfs is mounted there.
    ///
    /// # Errors
    /// If sysfs does not list which CPUs are on line.
    pub fn new(sysfs: PathBuf) -> io::Result<Self> {
        Ok(Self { caches: Caches::new(sysfs)?, errors: Errors::default() })
    }

    /// Finds a program's threads that came or went, and the domains in which it lives now.
    fn list_threads_of(&mut self, app: AppId, state: &mut HostState) {
        let member = state.roster.members.get(&app).filter(|member| !member.is_gone);
        let Some(program) = member.map(|member| member.program) else { return };
        let mut tasks = Vec::new();
        match state.roster.programs.tasks(program, &mut tasks) {
            Ok(()) => {
                state.trouble.seen(Looked::Threads(program));
                if let Some(member) = state.roster.members.get_mut(&app)
                    && member.tasks != tasks
                {
                    state.counting.source.threads(app, &tasks);
                    member.tasks = tasks;
                }
            }
            // Threads that can't be seen have not left.
            Err(why) => return state.trouble.not_seen(Looked::Threads(program), &why),
        }
        let all = self.caches.domains().to_vec();
        if state.has_moved(app, &all, self)
            && let Some(found) = state.roster.found(app)
        {
            let latencies = state.counting.unlisten(app);
            state.end(app);
            let tasks = state.tasks_of(program);
            state.take_in(found, tasks, latencies, &all);
        }
    }
}

impl Mechanism for CountedHost {
    fn survey(&mut self, state: &mut HostState) {
        state.survey(self.caches.domains(), None);
    }

    fn look(&mut self, state: &mut HostState) {
        if self.caches.refresh() {
            self.survey(state);
        }
    }

    fn begin(&mut self, found: FoundProgram, state: &mut HostState) {
        let tasks = state.tasks_of(found.program);
        state.take_in(found, tasks, None, self.caches.domains());
    }

    fn end(&mut self, program: ProgramKey, state: &mut HostState) {
        for app in state.roster.members_of(program) {
            // What listens for its latencies ends before one of its name begins.
            drop(state.counting.unlisten(app));
            state.end(app);
        }
    }

    fn list_threads(&mut self, state: &mut HostState) {
        let often = if state.domains.by_id.len() > 1 { SELDOM } else { RARELY };
        state.agenda.list_threads_after(often);
        for app in state.roster.members.keys().copied().collect::<Vec<_>>() {
            self.list_threads_of(app, state);
        }
    }

    fn carry_out(&mut self, domain: u32, action: Action<'_>, state: &mut HostState) {
        if let Action::Partition { plan, partition, .. } = action
            && let Some(domain) = state.domains.get_mut(domain)
        {
            domain.due.push_answer(match domain.check(&partition) {
                Ok(()) => Event::Applied { plan, actual: partition.into_owned() },
                Err(why) => Event::Refused { plan, why },
            });
        }
    }

    fn close(self: Box<Self>) -> Restored {
        Restored::default()
    }

    fn errors(&self) -> &Errors {
        &self.errors
    }
}
