//! What policies that schedule ask for.

use std::io;
use std::time::Duration;

use fairways_core::{AppId, ThreadId};
use fairways_resctrl::language::CpuSet;
use fairways_turns::Scheduler;

use super::super::Host;
use super::{Watch, gathering};

impl Host {
    /// Tells of times together from now on.
    pub(in super::super) fn watch_together(&mut self, domain: u32, shortest: Duration) {
        let Some(turns) = self.means.turns() else { return };
        let Some(of) = turns.caches.domains().iter().find(|of| of.id == domain) else { return };
        let now = turns.scheduler.as_ref().map_or(0, |scheduler| scheduler.now());
        let gathering = gathering(&of.cpus, shortest, now);
        turns.watches.insert(domain, Watch { shortest, gathering });
        let least = turns.watches.values().map(|watch| watch.shortest).min();
        self.ask(|scheduler| scheduler.watch(least));
    }

    /// Lets a thread run on these CPUs of a domain only.
    pub(in super::super) fn allow(
        &mut self,
        domain: u32,
        thread: ThreadId,
        cpus: &[u32],
        reason: &str,
    ) {
        if !self.is_told(domain, thread) {
            return;
        }
        let count = self.domains.get(&domain).map_or(0, |of| of.cpus.len());
        let there = |cpu: &&u32| usize::try_from(**cpu).is_ok_and(|cpu| cpu < count);
        let known: Vec<u32> = cpus.iter().filter(there).copied().collect();
        let Some(turns) = self.means.turns() else { return };
        let Some(of) = turns.threads.get_mut(&thread.app) else { return };
        if known.is_empty() {
            of.allowed.remove(&domain);
        } else {
            of.allowed.insert(domain, known);
        }
        self.fit(thread.app, reason);
    }

    /// Lets threads run before others, or no longer.
    pub(in super::super) fn raise(
        &mut self,
        domain: u32,
        threads: &[ThreadId],
        raised: bool,
        reason: &str,
    ) {
        for thread in threads
            .iter()
            .filter(|thread| self.is_told(domain, **thread))
            .copied()
            .collect::<Vec<_>>()
        {
            let Some(of) = self.means.turns().and_then(|turns| turns.threads.get_mut(&thread.app))
            else {
                continue;
            };
            let was = !of.raised.is_empty();
            if raised {
                of.raised.insert(domain);
            } else {
                of.raised.remove(&domain);
            }
            let is = !of.raised.is_empty();
            if was == is {
                continue;
            }
            let name = self.name(thread.app).unwrap_or_default();
            let (how, raised) = (self.how(), is);
            tracing::info!(target: "fairways::machine", domain, program = name, raised, reason, "{how}");
            if !self.settings.observe {
                self.ask(|scheduler| scheduler.raise(thread.app, raised));
            }
        }
    }

    /// Lets a thread's next turn be so long.
    pub(in super::super) fn order(
        &mut self,
        domain: u32,
        thread: ThreadId,
        time: Duration,
        reason: &str,
    ) {
        if time.is_zero() || !self.is_told(domain, thread) {
            return;
        }
        let (name, how) = (self.name(thread.app).unwrap_or_default(), self.how());
        tracing::debug!(target: "fairways::machine", domain, program = name, turn = ?time, reason, "{how}");
        if self.settings.observe {
            return;
        }
        let Some(turns) = self.means.turns() else { return };
        let Some(of) = turns.threads.get_mut(&thread.app) else { return };
        of.orders.push(domain, time);
        self.ask(|scheduler| scheduler.order(thread.app, time));
    }

    /// What policies allow is said again in CPUs' own numbers, where those are others now.
    pub(in super::super) fn fit_all(&mut self) {
        let Some(turns) = self.means.turns() else { return };
        for app in turns.threads.keys().copied().collect::<Vec<_>>() {
            self.fit(app, "other CPUs are on line");
        }
    }

    /// Lets a thread run where its domains' policies let it.
    fn fit(&mut self, app: AppId, reason: &str) {
        let Some(cpus) = self.cpus_for(app) else { return };
        let Some(turns) = self.means.turns() else { return };
        let Some(of) = turns.threads.get_mut(&app).filter(|of| of.cpus != cpus) else { return };
        of.cpus = cpus.clone();
        let (name, how) = (self.name(app).unwrap_or_default(), self.how());
        let list = if cpus.is_empty() { "all".to_owned() } else { cpus.to_list() };
        tracing::info!(target: "fairways::machine", program = name, cpus = list, reason, "{how}");
        if !self.settings.observe {
            self.ask(|scheduler| scheduler.allow(app, &cpus));
        }
    }

    /// What becomes of what is asked for, in the log.
    const fn how(&self) -> &'static str {
        if self.settings.observe { "observed, not carried out" } else { "scheduled" }
    }

    /// Where the domains' policies let a thread run; nothing for everywhere. `None` for a thread that is not there any more.
    fn cpus_for(&mut self, app: AppId) -> Option<CpuSet> {
        let turns = self.means.turns()?;
        let thread = turns.threads.get(&app)?;
        let member = self.members.get(&app)?;
        let (mut cpus, mut all) = (CpuSet::new(), CpuSet::new());
        for domain in turns.caches.domains() {
            all = all.union(&domain.cpus);
            if !member.domains.contains(&domain.id) {
                continue;
            }
            let told = self.domains.get(&domain.id).map_or(&[][..], |of| &of.cpus);
            match thread.allowed.get(&domain.id) {
                None => cpus = cpus.union(&domain.cpus),
                Some(allowed) => {
                    let number = |&cpu: &u32| told.get(usize::try_from(cpu).ok()?).copied();
                    allowed.iter().filter_map(number).for_each(|cpu| cpus.insert(cpu));
                }
            }
        }
        let is_free = thread.allowed.is_empty() || cpus == all;
        Some(if is_free { CpuSet::new() } else { cpus })
    }

    /// What was asked is carried out before time passes.
    pub(in super::super) fn settle(&mut self) {
        self.ask(|scheduler| scheduler.settle());
    }

    /// Whether a domain's policy was told of a thread.
    fn is_told(&self, domain: u32, thread: ThreadId) -> bool {
        let told = self.domains.get(&domain).is_some_and(|of| of.told.contains(&thread.app));
        told && thread.number == 0
    }

    /// Asks something of the scheduler, and says why it can't be.
    pub(super) fn ask(&mut self, ask: impl FnOnce(&mut dyn Scheduler) -> io::Result<()>) {
        let Some(turns) = self.means.turns() else { return };
        let Some(scheduler) = turns.scheduler.as_mut() else { return };
        if let Err(why) = ask(scheduler.as_mut()) {
            let name = scheduler.name();
            turns.errors.came_from_system(&why);
            self.say(&format!("{name}: {why}"));
        }
    }
}
