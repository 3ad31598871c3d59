//! `locpart`: a tail latency for services, and all that they can do without for batch programs (Qin, Locpart).
//!
//! A program with an objective ([`fairways_core::Wish::objective`]) is latency-critical, one without is batch.
//! Each has ways of its own, at first equally many (`party.rs`). Every `T_sched`
//! ([`Parameters::t_sched`]) Algorithm 1 does this, for every service:
//!
//! 1. **GetTL**: the tail of the latencies of the last requests (`tail.rs`).
//! 2. **A violation** (lines 10 to 12): the service gets `w` ways of a batch program's.
//! 3. **Slack** (lines 13 to 15): it gives `w` ways to a batch program. When that is, the paper says in two
//!    ways ([`Rule`]). By the margin rule, a number of ways that did not do is not tried again soon (`margin.rs`).
//! 4. **AllocLLC**: both sides change in one plan (`allocate.rs`), in masks that move little
//!    (`../layout.rs`).
//!
//! What is not known moves nothing: a service that answers too few requests keeps its ways.
//!
//! What the paper leaves open is settled in docs/decisions.md.

mod allocate;
mod margin;
mod parameters;
mod party;
mod service;
mod tail;

#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Event, Latencies, Llc, PlanId, Policy, Time, WindowLength};

use crate::layout::{Layout, Wanted};
use crate::running::{Change, Running};
use crate::table::{Descriptor, Knows, Request, make};
use crate::telling::raw;
use crate::words;
use margin::Verdict;
use party::{Moved, Party};

pub use parameters::{Parameters, Rule, Window};
pub use service::Class;

/// Why there is a plan.
const CHANGED: &str = "the programs have changed";
const AGAIN: &str = "the last plan was refused: once more";
const MISSED: &str = "ways for a service that misses its objective";
const SLACK: &str = "ways that services can do without";

/// `locpart`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Qin, Locpart: a Latency Optimized Cache Partitioning for Cloud Data Centers",
    knows: Knows::Latencies,
    honours: &[Request::Objectives],
    ..Descriptor::new::<Parameters>(
        "locpart",
        "a tail latency for services, and what they can do without for batch programs",
        |given| make(Parameters::default(), Locpart::new, given),
    )
};

/// The `locpart` policy.
#[derive(Clone, Debug, Default)]
pub struct Locpart {
    parameters: Parameters,
    running: Running,
    /// The cache that parties have ways of.
    llc: Option<Llc>,
    parties: Vec<Party>,
    layout: Layout,
    /// When the period began, and when it ends; `None` while there is no service.
    began: Option<(Time, Time)>,
    /// Periods that have ended.
    period: u64,
    /// Whether one has ended since the first service started.
    decided: bool,
    /// The last plan, and whether programs called for it.
    last: Option<(PlanId, bool)>,
    /// Whether the machine has yet to carry out what programs called for.
    refused: bool,
}

impl Locpart {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// What a service is held to be; `None` if it has no ways of its own, or nothing was known of it yet.
    #[must_use]
    pub fn class(&self, app: AppId) -> Option<Class> {
        let party = self.parties.iter().find(|party| party.owner == Some(app))?;
        party.service.as_ref()?.class
    }

    /// Programs, their wishes or the machine have changed.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        if self.llc.replace(llc) != Some(llc) {
            // What was learnt is of another cache.
            self.parties.clear();
            self.decided = false;
        }
        let (others, crowded) =
            party::form(&mut self.parties, &llc, self.running.programs(), self.period);
        if self.parties.iter().all(Party::is_batch) {
            self.began = None;
            self.decided = false;
        }
        if !self.decided {
            party::equal(&mut self.parties, &llc);
        } else if others {
            party::share(&mut self.parties, &llc, change == Change::Started);
        }
        let moved = self.parties.iter().any(|party| party.ways != party.before);
        party::changed(&mut self.parties, at);
        self.tell_kinds(act);
        if others || moved || !matches!(change, Change::Wished { .. }) {
            self.plan(if crowded { party::CROWDED } else { CHANGED }, true, act);
        }
        self.attend(at, act);
    }

    /// Has new services watched if their windows then end with the period, and starts the timer for the first.
    fn attend(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let first = self.began.is_none();
        if self.began.is_some_and(|(began, _)| began != at) {
            return;
        }
        let period = self.parameters.period();
        let mut services = false;
        for party in &mut self.parties {
            let (Some(app), Some(service)) = (party.owner, &mut party.service) else { continue };
            services = true;
            if !core::mem::replace(&mut service.watched, true) {
                act(Action::Watch { app, every: WindowLength::Time(period) });
            }
        }
        if first && services {
            self.wake(at, act);
        }
    }

    fn wake(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let end = at.after(self.parameters.period());
        self.began = Some((at, end));
        act(Action::Wake { at: end });
    }

    fn told(&mut self, at: Time, latencies: &Latencies) {
        let party = self.parties.iter_mut().find(|party| party.owner == Some(latencies.app));
        if let Some(service) = party.and_then(|party| party.service.as_mut()) {
            service.tails.push(at, latencies, self.parameters.reach());
        }
    }

    /// A period has ended.
    fn woke(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        self.period += 1;
        self.decided = true;
        if self.refused {
            // What was seen is of ways that nobody was meant to have.
            for service in self.parties.iter_mut().filter_map(|party| party.service.as_mut()) {
                service.margin.moved(at, false);
            }
            self.plan(AGAIN, true, act);
        } else {
            self.schedule(at, act);
        }
        self.wake(at, act);
        self.attend(at, act);
    }

    /// Algorithm 1's Schedule.
    fn schedule(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let least = self.llc.map_or(1, |llc| llc.min_ways());
        let (period, parameters) = (self.period, &self.parameters);
        for party in &mut self.parties {
            let ways = party.actual.unwrap_or(party.ways);
            if let Some(service) = &mut party.service {
                service.margin_before.clone_from(&service.margin);
                let (tail, verdict) = service::judge(service, at, period, ways, least, parameters);
                service.tail = tail;
                let verdict = verdict.planned(ways, party.ways, least);
                service.verdict = verdict;
                service.waits = matches!(verdict, Verdict::More | Verdict::Down(_));
            }
        }
        allocate::schedule(&mut self.parties, parameters.w.max(1), least);
        let mut missed = false;
        for party in &mut self.parties {
            let Some(service) = &mut party.service else { continue };
            if party.moved != Moved::No {
                service.margin.moved(at, party.moved == Moved::Took);
            }
            if service.verdict == Verdict::More {
                if party.moved == Moved::Took {
                    missed = true;
                } else {
                    service.margin.has_all();
                }
            }
            service.classify(period, parameters.longest_window.max(1));
        }
        self.tell_classes(act);
        if self.parties.iter().any(|party| party.moved != Moved::No) {
            self.plan(if missed { MISSED } else { SLACK }, false, act);
        }
    }

    /// Plans what ways everybody has; `changed` says whether programs call for it.
    fn plan(&mut self, reason: &'static str, changed: bool, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parties, layout, .. } = self;
        let plan = self.running.plan(act, |llc, programs, partition, _| {
            let wanted =
                |party: &Party| Wanted { owner: party.owner, ways: party.ways, light: false };
            let wanted: Vec<Wanted> = parties.iter().map(wanted).collect();
            layout.arrange(llc.ways.get(), &wanted);
            for party in parties.iter() {
                let cluster = partition.add_cluster(layout.mask(party.owner));
                if let Some(app) = party.owner {
                    partition.place(app, cluster);
                    continue;
                }
                let shares = |app| !parties.iter().any(|party| party.owner == Some(app));
                let all = programs.iter().map(|program| program.app);
                all.filter(|&app| shares(app)).for_each(|app| partition.place(app, cluster));
            }
            reason
        });
        for party in &mut self.parties {
            party.actual = None;
        }
        self.last = plan.map(|plan| (plan, changed));
        self.refused = false;
    }

    /// What the last plan has come to is told: parties have these ways now.
    fn applied(&mut self) {
        let Self { running, parties, .. } = self;
        for party in parties {
            party.actual = party.owner.and_then(|app| running.other_ways(app));
        }
    }

    /// The machine did not do what the last plan says.
    fn undo(&mut self, changed: bool) {
        self.last = None;
        if changed {
            // There may be nobody any more who has what was there before.
            self.refused = true;
            return;
        }
        for party in &mut self.parties {
            party.ways = party.before;
            if let Some(service) = &mut party.service {
                service.margin.clone_from(&service.margin_before);
            }
        }
    }

    /// Tells what each program is until something is known of it.
    fn tell_kinds(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let mut teller = self.running.teller(act);
        for program in teller.programs() {
            let own = self.parties.iter().find(|party| party.owner == Some(program.app));
            let (kind, reason) = match own.and_then(|party| party.service.as_ref()) {
                Some(service) if service.class.is_some() => continue,
                Some(_) => ("latency-critical", "it has an objective"),
                None if program.wish.objective.is_some() => ("crowded", party::CROWDED),
                None => ("batch", "it has no objective"),
            };
            teller.class(program.app, kind, reason);
        }
    }

    /// Tells what each service is held to be, and by which numbers, where that or its ways are others.
    fn tell_classes(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { running, parties, .. } = self;
        let mut teller = running.teller(act);
        for party in parties {
            let (Some(app), Some(service)) = (party.owner, &party.service) else { continue };
            let new =
                service.class.is_some_and(|class| teller.class(app, class.name(), class.reason()));
            if service.verdict != Verdict::Unknown && (new || party.moved != Moved::No) {
                let (tail, slack) = (raw(service.tail_ms()), Some(service.slack()));
                teller.numbers(app, [words::TAIL, words::SLACK], [tail, slack]);
            }
        }
    }
}

impl Policy for Locpart {
    fn name(&self) -> &'static str {
        "locpart"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(change) = self.running.take(event) {
            self.follow(at, change, act);
        }
        match event {
            Event::Latency(latencies) => self.told(at, latencies),
            Event::Woke if self.began.is_some_and(|(_, end)| end <= at) => self.woke(at, act),
            Event::Applied { plan, .. } if self.last.is_some_and(|(last, _)| last == *plan) => {
                self.applied();
            }
            Event::Refused { plan, .. } => match self.last {
                Some((last, changed)) if last == *plan => self.undo(changed),
                _ => {}
            },
            _ => {}
        }
    }
}
