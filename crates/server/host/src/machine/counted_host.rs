//! A host on which programs are only counted: nothing is set.
//!
//! Domains are the caches that resctrl shows, if it is mounted; otherwise the L3 caches in sysfs;
//! or all CPUs as one, if sysfs has no caches. Resctrl is only read, for the ways that others let
//! programs fill. Occupancies and memory traffic are not known. A plan is answered as if it were
//! carried out, as by a host that observes.

use std::collections::BTreeMap;
use std::io;

use fairways_core::{Action, AppId, Event, WayMask};
use fairways_programs::ProgramKey;
use fairways_resctrl_client::{Domain, Errors, Restored, Settings, ShownCaches};

use super::agenda::{RARELY, SELDOM};
use super::caches::Caches;
use super::mechanism::Mechanism;
use super::roster::FoundProgram;
use super::state::HostState;
use super::trouble::Looked;

/// The caches of a host on which nothing is set.
pub struct CountedHost {
    settings: Settings,
    caches: Caches,
    /// The mounted resctrl, if there is one.
    resctrl: Option<ShownCaches>,
    domains: Vec<Domain>,
    /// The ways that others let programs fill, if these are not all.
    limits: BTreeMap<(u32, AppId), WayMask>,
    errors: Errors,
}

impl CountedHost {
    /// The caches of the host, with resctrl and sysfs at the paths in these settings.
    ///
    /// # Errors
    /// If sysfs does not list which CPUs are on line.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let caches = Caches::new(settings.sysfs.clone())?;
        let (resctrl, limits) = (ShownCaches::open(&settings), BTreeMap::new());
        let (domains, errors) = (Vec::new(), Errors::default());
        let mut host = Self { settings, caches, resctrl, domains, limits, errors };
        host.domains = host.found();
        Ok(host)
    }

    /// The domains now.
    fn found(&self) -> Vec<Domain> {
        let shown = self.resctrl.as_ref().map(ShownCaches::domains).unwrap_or_default();
        if shown.is_empty() { self.caches.domains().to_vec() } else { shown }
    }

    /// Records which ways others let programs fill.
    fn see_limits(&mut self, state: &HostState) {
        self.limits.clear();
        let Some(resctrl) = &self.resctrl else { return };
        for (&app, member) in &state.roster.members {
            for &domain in &member.domains {
                let limit = resctrl.limit(&member.tasks, domain);
                self.limits.extend(limit.map(|mask| ((domain, app), mask)));
            }
        }
    }

    /// Updates a program's threads, and the domains that it runs in.
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
            // Threads that can't be seen have not ended.
            Err(why) => return state.trouble.not_seen(Looked::Threads(program), &why),
        }
        let all = self.domains.clone();
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
        state.survey(&self.domains, None);
    }

    fn look(&mut self, state: &mut HostState) {
        self.caches.refresh();
        match &mut self.resctrl {
            None => self.resctrl = ShownCaches::open(&self.settings),
            Some(resctrl) if !resctrl.is_mounted() => {
                self.resctrl = None;
                state.trouble.seen(Looked::Resctrl);
            }
            Some(resctrl) => match resctrl.look() {
                Ok(()) => state.trouble.seen(Looked::Resctrl),
                // The last successful reading is all that is known.
                Err(why) => state.trouble.not_seen(Looked::Resctrl, &why),
            },
        }
        let found = self.found();
        if found != self.domains {
            self.domains = found;
            self.survey(state);
        }
        self.see_limits(state);
    }

    fn begin(&mut self, found: FoundProgram, state: &mut HostState) {
        let tasks = state.tasks_of(found.program);
        state.take_in(found, tasks, None, &self.domains);
        self.see_limits(state);
    }

    fn end(&mut self, program: ProgramKey, state: &mut HostState) {
        for app in state.roster.members_of(program) {
            // Its latency source has to close before another program of its name opens one.
            drop(state.counting.unlisten(app));
            state.end(app);
        }
    }

    fn list_threads(&mut self, state: &mut HostState) {
        let often = if state.domains.by_id.len() > 1 { SELDOM } else { RARELY };
        state.agenda.list_threads_after(often);
        for (number, app) in state.roster.next_to_list().into_iter().enumerate() {
            if number > 0 && state.stops_listing(app) {
                break;
            }
            self.list_threads_of(app, state);
        }
    }

    fn admit(&mut self, program: ProgramKey, _thread: i32, state: &mut HostState) {
        for app in state.roster.members_of(program) {
            self.list_threads_of(app, state);
        }
        self.see_limits(state);
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

    fn limits(&self) -> Option<&BTreeMap<(u32, AppId), WayMask>> {
        Some(&self.limits)
    }
}
