//! The requests of policies that schedule.

use std::time::Duration;

use fairways_core::{AppId, CpuSet, ThreadId};

use super::super::state::HostState;
use super::super::trouble::Trouble;
use super::{Turns, Watch, gathering};

impl Turns {
    /// Reports groups of threads that ran together from now on.
    pub(super) fn watch_together(
        &mut self,
        domain: u32,
        shortest: Duration,
        trouble: &mut Trouble,
    ) {
        let Some(of) = self.caches.domains().iter().find(|of| of.id == domain) else { return };
        let now = self.scheduler.as_ref().map_or(0, |scheduler| scheduler.now());
        let gathering = gathering(&of.cpus, shortest, now);
        self.watches.insert(domain, Watch { shortest, gathering });
        let least = self.shortest();
        self.ask(trouble, |scheduler| scheduler.watch(least));
    }

    /// Confines a thread to these CPUs of a domain.
    pub(super) fn allow(
        &mut self,
        domain: u32,
        thread: ThreadId,
        cpus: &[u32],
        reason: &str,
        state: &mut HostState,
    ) {
        if !is_known(domain, thread, state) {
            return;
        }
        let count = state.domains.get(domain).map_or(0, |domain| domain.cpus.len());
        let mut known = cpus.to_vec();
        known.retain(|&cpu| usize::try_from(cpu).is_ok_and(|cpu| cpu < count));
        let Some(of) = self.threads.get_mut(&thread.app) else { return };
        if known.is_empty() {
            of.allowed.remove(&domain);
        } else {
            of.allowed.insert(domain, known);
        }
        self.fit(thread.app, reason, state);
    }

    /// Puts a thread ahead of others, or ends that.
    pub(super) fn raise(
        &mut self,
        domain: u32,
        thread: ThreadId,
        raised: bool,
        reason: &str,
        state: &mut HostState,
    ) {
        let app = thread.app;
        if !is_known(domain, thread, state) {
            return;
        }
        let Some(of) = self.threads.get_mut(&app) else { return };
        let was = !of.raised.is_empty();
        if raised {
            of.raised.insert(domain);
        } else {
            of.raised.remove(&domain);
        }
        let raised = !of.raised.is_empty();
        if was == raised {
            return;
        }
        let (name, how) = (state.roster.name(app).unwrap_or_default(), self.how());
        tracing::info!(target: "fairways::machine", domain, program = name, raised, reason, "{how}");
        if !self.observe {
            self.ask(&mut state.trouble, |scheduler| scheduler.raise(app, raised));
        }
    }

    /// Sets the length of a thread's next turn.
    pub(super) fn order(
        &mut self,
        domain: u32,
        thread: ThreadId,
        time: Duration,
        reason: &str,
        state: &mut HostState,
    ) {
        let app = thread.app;
        if time.is_zero() || !is_known(domain, thread, state) {
            return;
        }
        let (name, how) = (state.roster.name(app).unwrap_or_default(), self.how());
        tracing::debug!(target: "fairways::machine", domain, program = name, turn = ?time, reason, "{how}");
        if self.observe {
            return;
        }
        let Some(of) = self.threads.get_mut(&app) else { return };
        of.orders.push(domain, time);
        self.ask(&mut state.trouble, |scheduler| scheduler.order(app, time));
    }

    /// Applies again where policies let threads run, as CPUs have other numbers now.
    pub(super) fn fit_all(&mut self, state: &mut HostState) {
        for app in self.threads.keys().copied().collect::<Vec<_>>() {
            self.fit(app, "other CPUs are on line", state);
        }
    }

    /// Confines a thread to where its domains' policies let it run.
    fn fit(&mut self, app: AppId, reason: &str, state: &mut HostState) {
        let Some(cpus) = self.cpus_for(app, state) else { return };
        let Some(of) = self.threads.get_mut(&app).filter(|of| of.cpus != cpus) else { return };
        of.cpus = cpus.clone();
        let (name, how) = (state.roster.name(app).unwrap_or_default(), self.how());
        let list = if cpus.is_empty() { "all".to_owned() } else { cpus.to_list() };
        tracing::info!(target: "fairways::machine", program = name, cpus = list, reason, "{how}");
        if !self.observe {
            self.ask(&mut state.trouble, |scheduler| scheduler.allow(app, &cpus));
        }
    }

    /// The outcome of an action, for the log.
    const fn how(&self) -> &'static str {
        if self.observe { "observed, not carried out" } else { "scheduled" }
    }

    /// The CPUs on which the domains' policies let a thread run; empty for everywhere. `None` for a
    /// thread that no longer exists.
    fn cpus_for(&self, app: AppId, state: &HostState) -> Option<CpuSet> {
        let thread = self.threads.get(&app)?;
        let member = state.roster.members.get(&app)?;
        let (mut cpus, mut all) = (CpuSet::new(), CpuSet::new());
        for domain in self.caches.domains() {
            all = all.union(&domain.cpus);
            if !member.domains.contains(&domain.id) {
                continue;
            }
            let numbered = state.domains.get(domain.id).map_or(&[][..], |of| &of.cpus);
            match thread.allowed.get(&domain.id) {
                None => cpus = cpus.union(&domain.cpus),
                Some(allowed) => {
                    let indices = allowed.iter().filter_map(|&cpu| usize::try_from(cpu).ok());
                    indices
                        .filter_map(|index| numbered.get(index))
                        .for_each(|&cpu| cpus.insert(cpu));
                }
            }
        }
        let is_free = thread.allowed.is_empty() || cpus == all;
        Some(if is_free { CpuSet::new() } else { cpus })
    }
}

/// Whether a domain's policy knows a thread.
fn is_known(domain: u32, thread: ThreadId, state: &HostState) -> bool {
    state.domains.is_running(domain, thread.app) && thread.number == 0
}
