//! `locpart`: services meet a tail latency with as few ways as possible, and batch programs get the
//! others (Qin, Locpart: a Latency Optimized Cache Partitioning for Cloud Data Centers).
//!
//! A data center runs latency-critical services beside batch programs. A service has an
//! *objective*: a percentile of its latencies that is to stay below a bound, for instance 99 %
//! below 2 ms. How many ways that takes depends on the load, so a fixed partition is either too
//! small or wasteful. Locpart looks at the latencies themselves and moves ways step by step.
//!
//! A program with an objective ([`fairways_core::Wish::objective`]) is latency-critical, one
//! without is batch. Each has ways of its own, equally many at first (`party.rs`). Every `T_sched`
//! ([`Parameters::t_sched`]) Algorithm 1 does this for every service:
//!
//! 1. **GetTL**: it computes the tail of the latencies of the last requests (`tail.rs`).
//! 2. **Violation** (lines 10 to 12): if the tail misses the objective, the service gets `w` ways
//!    of a batch program.
//! 3. **Slack** (lines 13 to 15): if the tail is well below the objective, the service gives `w`
//!    ways to a batch program. The paper defines slack in two ways ([`GivingRule`]). By the margin
//!    rule, a number of ways that was too small is not tried again soon (`margin.rs`).
//! 4. **AllocLLC**: both sides change in one plan (`allocate.rs`), in masks that move little
//!    (`../layout.rs`).
//!
//! A service that answers too few requests has no known tail, and keeps its ways. docs/decisions.md
//! settles what the paper leaves open.

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

use crate::announce::{Announcer, raw};
use crate::layout::{Layout, WantedSpan};
use crate::running::{Change, RunningPrograms};
use crate::table::{Descriptor, KnowledgeSource, OwnerRequest, make};
use crate::words;
use margin::TailVerdict;
pub(crate) use party::{Party, WayTransfer};

pub use parameters::{GivingRule, Parameters, TailWindow};
pub use service::ServiceClass;

/// The reasons of plans.
const CHANGED: &str = "the programs have changed";
const AGAIN: &str = "the last plan was refused: it is made again";
const MISSED: &str = "ways for a service that misses its objective";
const SLACK: &str = "ways that services can do without";

/// `locpart`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "Qin, Locpart: a Latency Optimized Cache Partitioning for Cloud Data Centers",
    knows: KnowledgeSource::Latencies,
    honours: &[OwnerRequest::Objectives],
    ..Descriptor::new::<Parameters>(
        "locpart",
        "ways for services to meet their tail latency, the rest for batch programs",
        &|settings| make(Parameters::default(), Locpart::new, settings),
    )
};

/// The `locpart` policy.
#[derive(Clone, Debug, Default)]
pub struct Locpart {
    parameters: Parameters,
    running: RunningPrograms,
    /// The cache that the parties share.
    llc: Option<Llc>,
    parties: Vec<Party>,
    layout: Layout,
    /// When the period began, and when it ends; `None` while there is no service.
    began: Option<(Time, Time)>,
    /// Periods that have ended.
    period: u64,
    /// Whether a period has ended since the first service started.
    has_decided: bool,
    /// The last plan, and whether a change of the programs caused it.
    last: Option<(PlanId, bool)>,
    /// Whether the machine refused a plan that a change of the programs caused.
    is_refused: bool,
}

impl Locpart {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The class of a service; `None` if it has no ways of its own, or nothing is known of it yet.
    #[must_use]
    pub fn class(&self, app: AppId) -> Option<ServiceClass> {
        let party = self.parties.iter().find(|party| party.occupant == Some(app))?;
        party.service.as_ref()?.class
    }

    /// Handles a change of the programs, of what their owners request, or of the machine.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        if self.llc.replace(llc) != Some(llc) {
            // What was learnt is about another cache.
            self.parties.clear();
            self.has_decided = false;
        }
        let (others, crowded) =
            party::form(&mut self.parties, &llc, self.running.programs(), self.period);
        if self.parties.iter().all(Party::is_batch) {
            self.began = None;
            self.has_decided = false;
        }
        if !self.has_decided {
            party::equal(&mut self.parties, &llc);
        } else if others {
            party::share(&mut self.parties, &llc, change == Change::Started);
        }
        let moved = self.parties.iter().any(|party| party.ways != party.before);
        party::restart_margins(&mut self.parties, at);
        self.announce_kinds(act);
        if others || moved || !matches!(change, Change::Wish { .. }) {
            self.plan(if crowded { party::CROWDED } else { CHANGED }, true, act);
        }
        self.attend(at, act);
    }

    /// Starts to watch new services if their windows then end with the period, and starts the timer
    /// for the first service.
    fn attend(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let first = self.began.is_none();
        if self.began.is_some_and(|(began, _)| began != at) {
            return;
        }
        let period = self.parameters.period();
        let mut services = false;
        for party in &mut self.parties {
            let (Some(app), Some(service)) = (party.occupant, &mut party.service) else { continue };
            services = true;
            if !core::mem::replace(&mut service.is_watched, true) {
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

    fn record_latencies(&mut self, at: Time, latencies: &Latencies) {
        let party = self.parties.iter_mut().find(|party| party.occupant == Some(latencies.app));
        if let Some(party) = party {
            party.record(at, latencies, &self.parameters);
        }
    }

    /// Handles the end of a period.
    fn woke(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        self.period += 1;
        self.has_decided = true;
        if self.is_refused {
            // What was measured belongs to ways that no plan gave.
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
        let missed = control(&mut self.parties, at, self.period, least, &self.parameters);
        announce_services(&self.parties, &mut self.running.announcer(act));
        if self.parties.iter().any(|party| party.transfer != WayTransfer::No) {
            self.plan(if missed { MISSED } else { SLACK }, false, act);
        }
    }

    /// Plans the ways that the parties have; `changed`: a change of the programs causes the plan.
    fn plan(&mut self, reason: &'static str, changed: bool, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parties, layout, .. } = self;
        let plan = self.running.plan(act, |llc, programs, partition, _| {
            let wanted = parties.iter().map(|party| WantedSpan {
                occupant: party.occupant,
                ways: party.ways,
                is_light: false,
            });
            layout.arrange(llc.ways.get(), &wanted.collect::<Vec<_>>());
            for party in parties.iter() {
                let cluster = partition.add_cluster(layout.mask(party.occupant));
                if let Some(app) = party.occupant {
                    partition.place(app, cluster);
                    continue;
                }
                for app in programs.iter().map(|program| program.app) {
                    if !parties.iter().any(|party| party.occupant == Some(app)) {
                        partition.place(app, cluster);
                    }
                }
            }
            reason
        });
        for party in &mut self.parties {
            party.actual = None;
        }
        self.last = plan.map(|plan| (plan, changed));
        self.is_refused = false;
    }

    /// Handles the report of what the machine made of the last plan: the parties have these ways
    /// now.
    fn applied(&mut self) {
        let Self { running, parties, .. } = self;
        for party in parties {
            party.actual = party.occupant.and_then(|app| running.deviating_ways(app));
        }
    }

    /// Handles a refusal: the machine did not carry out the last plan.
    fn undo(&mut self, changed: bool) {
        self.last = None;
        if changed {
            // The parties of the plan before may no longer exist.
            self.is_refused = true;
            return;
        }
        for party in &mut self.parties {
            party.ways = party.before;
            if let Some(service) = &mut party.service {
                service.margin.clone_from(&service.margin_before);
            }
        }
    }

    /// Announces what each program is, until something is known about it.
    fn announce_kinds(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let mut announcer = self.running.announcer(act);
        for program in announcer.programs() {
            let own = self.parties.iter().find(|party| party.occupant == Some(program.app));
            let (kind, reason) = match own.and_then(|party| party.service.as_ref()) {
                Some(service) if service.class.is_some() => continue,
                Some(_) => ("latency-critical", "it has an objective"),
                None if program.wish.objective.is_some() => ("crowded", party::CROWDED),
                None => ("batch", "it has no objective"),
            };
            announcer.announce_class(program.app, kind, reason);
        }
    }
}

/// Ends a period: judges the tail of each service, and moves ways between services and batch. Every
/// party keeps `least` ways. Whether a service took ways because it misses its objective.
pub(crate) fn control(
    parties: &mut [Party],
    at: Time,
    period: u64,
    least: u32,
    parameters: &Parameters,
) -> bool {
    for party in &mut *parties {
        let ways = party.actual.unwrap_or(party.ways);
        if let Some(service) = &mut party.service {
            service.margin_before.clone_from(&service.margin);
            let (tail, verdict) = service::judge(service, at, period, ways, least, parameters);
            service.tail = tail;
            let verdict = verdict.planned(ways, party.ways, least);
            service.verdict = verdict;
            service.is_waiting = matches!(verdict, TailVerdict::More | TailVerdict::Down(_));
        }
    }
    allocate::schedule(parties, parameters.w.max(1), least);
    let mut missed = false;
    for party in parties {
        let Some(service) = &mut party.service else { continue };
        if party.transfer != WayTransfer::No {
            service.margin.moved(at, party.transfer == WayTransfer::Took);
        }
        if service.verdict == TailVerdict::More {
            if party.transfer == WayTransfer::Took {
                missed = true;
            } else {
                service.margin.has_all();
            }
        }
        service.classify(period, parameters.longest_window.max(1));
    }
    missed
}

/// Announces the class and the numbers of each service whose class or ways changed.
pub(crate) fn announce_services(parties: &[Party], announcer: &mut Announcer<'_>) {
    for party in parties {
        let (Some(app), Some(service)) = (party.occupant, &party.service) else { continue };
        let new = service
            .class
            .is_some_and(|class| announcer.announce_class(app, class.name(), class.reason()));
        if service.verdict != TailVerdict::Unknown && (new || party.transfer != WayTransfer::No) {
            let (tail, slack) = (raw(service.tail_ms()), Some(service.slack()));
            announcer.announce_numbers(app, [words::TAIL, words::SLACK], [tail, slack]);
        }
    }
}

impl Policy for Locpart {
    fn name(&self) -> &'static str {
        "locpart"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(change) = self.running.update(event) {
            self.follow(at, change, act);
        }
        match event {
            Event::Latency(latencies) => self.record_latencies(at, latencies),
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
