//! What has ended, and is told.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use fairways_core::{AppId, Counters, EndedTurn, Event, ThreadId};
use fairways_turns::together::Stretch;
use fairways_turns::{Given, Scheduler, Who};

use super::super::{Failure, Host};

impl Host {
    /// Takes in what has ended, once an instant; after an alarm nothing else happens at its instant.
    pub(in super::super) fn take_turns(&mut self) {
        let (now, rang) = (self.now, self.rang);
        let Some(turns) = self.means.turns() else { return };
        if turns.taken_at == Some(now) || rang == Some(now) {
            return;
        }
        turns.taken_at = Some(now);
        let Some(scheduler) = &mut turns.scheduler else { return };
        let mut told = std::mem::take(&mut turns.told);
        told.turns.clear();
        told.given.clear();
        if let Err(why) = scheduler.turns(&mut told) {
            self.take_its_place(&why);
            return;
        }
        let mut stretches = std::mem::take(&mut turns.stretches);
        let mut found = Vec::new();
        for (&domain, watch) in &mut turns.watches {
            watch.gathering.tell(&told.turns, &mut found);
            stretches.extend(found.drain(..).map(|stretch| (domain, stretch)));
        }
        let mut ran: BTreeMap<(u32, AppId), u64> = BTreeMap::new();
        for turn in &told.turns {
            let of = turns.caches.domains().iter().find(|of| of.cpus.contains(turn.cpu));
            if let (Who::Thread(app), Some(of)) = (turn.who, of) {
                let nanos = ran.entry((of.id, app)).or_default();
                *nanos = nanos.saturating_add(turn.span.1.saturating_sub(turn.span.0));
            }
        }
        (turns.told, turns.stretches) = (told, Vec::new());
        for (domain, stretch) in &mut stretches {
            self.fill(*domain, stretch);
        }
        for ((domain, app), nanos) in ran {
            self.source.ran(app, domain, Duration::from_nanos(nanos));
        }
        if let Some(turns) = self.means.turns() {
            turns.stretches = stretches;
        }
    }

    /// Asks the source for what CPUs did not count.
    fn fill(&mut self, domain: u32, stretch: &mut Stretch) {
        let together = &mut stretch.together;
        let apps: Vec<AppId> = together.threads.iter().map(|ran| ran.thread.app).collect();
        for (place, ran) in together.threads.iter_mut().enumerate() {
            let mut others = apps.clone();
            let app = others.remove(place);
            let did = self.source.beside(app, domain, &others, together.window);
            if ran.counters == Counters::default() {
                ran.counters = did;
            }
        }
    }

    /// Tells what was taken in, of threads that policies know.
    pub(in super::super) fn tell_turns(&mut self) {
        let Some(turns) = self.means.turns() else { return };
        let stretches = std::mem::take(&mut turns.stretches);
        let given = std::mem::take(&mut turns.told.given);
        for (id, Stretch { together, .. }) in stretches {
            let Some(domain) = self.domains.get_mut(&id).filter(|of| !of.is_gone) else { continue };
            // Beside one that has left since, what the others did is of no use to anybody.
            if together.threads.iter().all(|ran| domain.told.contains(&ran.thread.app)) {
                domain.tell(Event::RanTogether(together));
            }
        }
        for given in given {
            self.tell_given(&given);
        }
    }

    fn tell_given(&mut self, given: &Given) {
        let &Given { app, cpu, ordered, ran, .. } = given;
        let Some(turns) = self.means.turns() else { return };
        let Some(thread) = turns.threads.get_mut(&app) else { return };
        let quantum = turns.scheduler.as_ref().map(|scheduler| scheduler.quantum());
        let mut told = thread.orders.given(ordered);
        if told.is_empty() {
            // As usual; or an order that was replaced just when its turn began.
            let whose = thread.orders.whose().filter(|_| quantum != Some(ordered));
            let of = || self.domains.iter().find(|(_, of)| of.cpus.contains(&cpu));
            told.extend(whose.or_else(|| of().map(|(&id, _)| id)).map(|id| (id, ordered)));
        }
        for (id, ordered) in told {
            let allowed = thread.allowed.get(&id).and_then(|allowed| allowed.first());
            let Some(domain) = self.domains.get_mut(&id) else { continue };
            if domain.is_gone || !domain.told.contains(&app) || ran.is_zero() {
                continue;
            }
            // A domain knows its own CPUs only. Where the turn ended on another one's, it is told one on which the thread may be.
            let number = domain.cpus.iter().position(|&known| known == cpu);
            let number = number.and_then(|number| u32::try_from(number).ok());
            let cpu = number.or(allowed.copied()).unwrap_or(0);
            let thread = ThreadId::first_of(app);
            domain.tell(Event::QuantumGiven(EndedTurn { thread, cpu, ordered, ran }));
        }
    }

    /// The kernel has ended the scheduler: another one does what was asked of it.
    fn take_its_place(&mut self, why: &io::Error) {
        let Some(turns) = self.means.turns() else { return };
        // It may hold what the next one needs.
        let name = turns.scheduler.take().map_or("", |ended| ended.name());
        let new = match turns.instead.take() {
            Some(make) => make().map_err(|second| {
                let said = format!("{name}: {why}; and in its place: {second}");
                io::Error::new(second.kind(), said)
            }),
            None => Err(io::Error::new(why.kind(), format!("{name}: {why}"))),
        };
        let mut new = match new {
            Ok(new) => new,
            Err(why) => {
                self.failure = Some(Failure::Scheduler(why));
                return;
            }
        };
        tracing::warn!(
            target: "fairways::machine",
            "{name} has ended: {why}; {} takes its place", new.name()
        );
        let (refused, said) = turns.ask_again(new.as_mut(), self.settings.observe);
        turns.scheduler = Some(new);
        if let Err(why) = said {
            self.say(&why.to_string());
        }
        // Who is not taken in is not managed, and is asked for again.
        for app in refused {
            drop(self.end(app));
        }
        // Turns may be of another length now.
        self.survey();
    }
}

impl super::Turns {
    /// Asks all of a new scheduler that is in force, if threads are more than observed. The answer is which threads it does not take in, and the
    /// first of all that it refuses.
    fn ask_again(
        &mut self,
        new: &mut dyn Scheduler,
        observe: bool,
    ) -> (Vec<AppId>, io::Result<()>) {
        let (mut refused, mut done) = (Vec::new(), Ok(()));
        let mut also = |this: io::Result<()>| done = std::mem::replace(&mut done, Ok(())).and(this);
        for (&app, thread) in &self.threads {
            let begun = new.begin(app, thread.number);
            if begun.is_err() {
                refused.push(app);
            }
            let is_managed = begun.is_ok() && !observe;
            also(begun);
            if !is_managed {
                continue;
            }
            if !thread.cpus.is_empty() {
                also(new.allow(app, &thread.cpus));
            }
            if !thread.raised.is_empty() {
                also(new.raise(app, true));
            }
            if let Some(time) = thread.orders.last() {
                also(new.order(app, time));
            }
        }
        also(new.watch(self.watches.values().map(|watch| watch.shortest).min()));
        (refused, done)
    }
}
