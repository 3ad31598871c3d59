//! Turns that have ended, and schedulers that have.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use fairways_core::{AppId, Counters, EndedTurn, Event, ThreadId};
use fairways_turns::together::Stretch;
use fairways_turns::{Given, Scheduler, TurnReport, Who};

use super::super::counting::Counting;
use super::super::state::HostState;
use super::Turns;

impl Turns {
    /// Fetches the turns that have ended, once an instant. After an alarm, only alarms happen at
    /// the same instant.
    pub(super) fn fetch_turns(&mut self, state: &mut HostState) {
        let now = state.agenda.now();
        if self.fetched_at == Some(now) || state.agenda.has_rung() {
            return;
        }
        self.fetched_at = Some(now);
        self.try_again(state);
        let Some(scheduler) = &mut self.scheduler else { return };
        self.ended.turns.clear();
        self.ended.given.clear();
        if let Err(why) = scheduler.turns(&mut self.ended) {
            self.ended = TurnReport::default();
            self.take_its_place(&why, state);
            return;
        }
        let mut found = Vec::new();
        for (&domain, watch) in &mut self.watches {
            watch.gathering.add(&self.ended.turns, &mut found);
            self.stretches.extend(found.drain(..).map(|stretch| (domain, stretch)));
        }
        let mut ran: BTreeMap<(u32, AppId), u64> = BTreeMap::new();
        for turn in &self.ended.turns {
            let mut domains = self.caches.domains().iter();
            let domain = domains.find(|domain| domain.cpus.contains(turn.cpu));
            if let (Who::Thread(app), Some(domain)) = (turn.who, domain) {
                let nanos = ran.entry((domain.id, app)).or_default();
                *nanos = nanos.saturating_add(turn.span.1.saturating_sub(turn.span.0));
            }
        }
        for (domain, stretch) in &mut self.stretches {
            fill(*domain, stretch, &mut state.counting);
        }
        for ((domain, app), nanos) in ran {
            state.counting.source.ran(app, domain, Duration::from_nanos(nanos));
        }
    }

    /// Reports the fetched turns of threads that policies know.
    pub(super) fn report_turns(&mut self, state: &mut HostState) {
        for (id, Stretch { together, .. }) in std::mem::take(&mut self.stretches) {
            let Some(domain) = state.domains.offered(id) else { continue };
            // A policy has no use for counts beside a thread that has left since.
            if together.threads.iter().all(|ran| domain.running.contains(&ran.thread.app)) {
                domain.report(Event::RanTogether(together));
            }
        }
        for given in std::mem::take(&mut self.ended.given) {
            self.report_given(&given, state);
        }
    }

    fn report_given(&mut self, given: &Given, state: &mut HostState) {
        let &Given { app, cpu, ordered, ran, .. } = given;
        let Some(thread) = self.threads.get_mut(&app) else { return };
        let quantum = self.scheduler.as_ref().map(|scheduler| scheduler.quantum());
        let mut orders = thread.orders.given(ordered);
        if orders.is_empty() {
            // A usual turn, or one whose order was replaced just when it began.
            let whose = thread.orders.whose().filter(|_| quantum != Some(ordered));
            let domain = whose.or_else(|| state.domains.of_cpu(cpu));
            orders.extend(domain.map(|id| (id, ordered)));
        }
        for (id, ordered) in orders {
            let allowed = thread.allowed.get(&id).and_then(|allowed| allowed.first());
            let Some(domain) = state.domains.offered(id) else { continue };
            if !domain.running.contains(&app) || ran.is_zero() {
                continue;
            }
            // A domain knows only its own CPUs. If the turn ended on another CPU, one is reported
            // on which the thread may run.
            let number = domain.cpus.iter().position(|&known| known == cpu);
            let number = number.and_then(|number| u32::try_from(number).ok());
            let cpu = number.or(allowed.copied()).unwrap_or(0);
            let thread = ThreadId::first_of(app);
            domain.report(Event::QuantumGiven(EndedTurn { thread, cpu, ordered, ran }));
        }
    }

    /// Repeats all requests in force to a new scheduler, unless threads are only observed. Returns
    /// the threads that it refuses, and the first error.
    pub(super) fn ask_again(&self, new: &mut dyn Scheduler) -> (Vec<AppId>, io::Result<()>) {
        let (mut refused, mut done) = (Vec::new(), Vec::new());
        for (&app, thread) in &self.threads {
            let begun = new.begin(app, thread.number);
            if begun.is_err() {
                refused.push(app);
            }
            let is_managed = begun.is_ok() && !self.observe;
            done.push(begun);
            if !is_managed {
                continue;
            }
            if !thread.cpus.is_empty() {
                done.push(new.allow(app, &thread.cpus));
            }
            if !thread.raised.is_empty() {
                done.push(new.raise(app, true));
            }
            if let Some(time) = thread.orders.last() {
                done.push(new.order(app, time));
            }
        }
        done.push(new.watch(self.shortest()));
        (refused, done.into_iter().collect())
    }
}

/// Reads counters that CPUs did not count from the source.
fn fill(domain: u32, stretch: &mut Stretch, counting: &mut Counting) {
    let together = &mut stretch.together;
    let apps: Vec<AppId> = together.threads.iter().map(|ran| ran.thread.app).collect();
    for (place, ran) in together.threads.iter_mut().enumerate() {
        let mut others = apps.clone();
        let app = others.remove(place);
        let did = counting.source.beside(app, domain, &others, together.window);
        if ran.counters == Counters::default() {
            ran.counters = did;
        }
    }
}
