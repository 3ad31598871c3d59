//! A policy that decides by itself, before its plan is tried.
//!
//! Several policies learn one after the other, and each sees the machine as if it were the first:
//! its plans are numbered from 0, and no window that another one requested reaches it.

use std::collections::BTreeSet;

use fairways_core::{Action, AppId, Event, Levers, Partition, PlanId, Policy, Sample, Time};
use fairways_policy::{kpart, lfoc};

use super::plan::{Attempt, ENDED, NO_LIMIT, limits};

/// The reasons of plans that only measure a program.
const SAMPLING: [&str; 2] = [lfoc::SAMPLING, kpart::SAMPLING];

const NO_PLAN: &str = "it made no plan during --learn";
const ONLY_SAMPLED: &str = "it only sampled programs during --learn";
const REFUSED: &str = "this machine refused its plans";

/// A policy that is to learn.
pub(crate) struct CandidatePolicy {
    pub(crate) policy: Box<dyn Policy>,
    /// Whether it gets the profiles that the machine reports.
    pub(crate) gets_profiles: bool,
}

/// A plan with its reason.
#[derive(Debug)]
struct ReasonedPlan {
    plan: Partition,
    reason: String,
}

/// A policy that learns.
pub(crate) struct LearningPolicy {
    policy: Box<dyn Policy>,
    gets_profiles: bool,
    /// When its time is over.
    pub(crate) end: Time,
    /// When it wants to be woken.
    alarm: Option<Time>,
    /// The machine's number of its first plan, and of the next one.
    first: PlanId,
    pub(crate) next: PlanId,
    /// The programs whose windows it requested.
    watched: BTreeSet<AppId>,
    /// A plan that the machine has not answered yet.
    requested: Option<(PlanId, ReasonedPlan)>,
    /// The last plan that was carried out and did more than measure a program.
    ///
    /// A policy replaces its plan by one that it estimates to be better by all that it knows by
    /// then, so its last one is the best by its estimate, however long another one was in force.
    decision: Option<ReasonedPlan>,
    has_sampled: bool,
    was_refused: bool,
}

impl LearningPolicy {
    /// The policy learns until `end`; the machine's next plan has the number `first`.
    pub(crate) fn new(of: CandidatePolicy, first: PlanId, end: Time) -> Self {
        Self {
            policy: of.policy,
            gets_profiles: of.gets_profiles,
            end,
            alarm: None,
            first,
            next: first,
            watched: BTreeSet::new(),
            requested: None,
            decision: None,
            has_sampled: false,
            was_refused: false,
        }
    }

    /// The policy's own number of a plan; `None` if the plan is another policy's.
    fn own(&self, plan: PlanId) -> Option<PlanId> {
        plan.0.checked_sub(self.first.0).map(PlanId)
    }

    /// Gives an event to the policy.
    pub(crate) fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Woke => {
                if self.alarm.take_if(|alarm| *alarm <= at).is_some() {
                    self.pass(at, event, act);
                }
            }
            Event::Applied { plan, actual } => {
                if self.requested.as_ref().is_some_and(|(requested, _)| requested == plan) {
                    let decision = self.requested.take().map(|(_, decision)| decision);
                    // The reason why it was made says more than why it is made again.
                    let is_as_before = decision.as_ref().zip(self.decision.as_ref());
                    if !is_as_before.is_some_and(|(now, before)| now.plan.agrees_with(&before.plan))
                    {
                        self.decision = decision;
                    }
                }
                if let Some(plan) = self.own(*plan) {
                    self.pass(at, &Event::Applied { plan, actual: actual.clone() }, act);
                }
            }
            Event::Refused { plan, why } => {
                let requested = self.requested.take_if(|(requested, _)| requested == plan);
                self.was_refused |= requested.is_some();
                if let Some(plan) = self.own(*plan) {
                    self.pass(at, &Event::Refused { plan, why: *why }, act);
                }
            }
            Event::Sampled(sample) => {
                if self.watched.contains(&sample.app) {
                    let plan = sample.plan.and_then(|plan| self.own(plan));
                    self.pass(at, &Event::Sampled(Sample { plan, ..*sample }), act);
                }
            }
            Event::Started { app, wish, .. } if !self.gets_profiles => {
                let (app, wish, profile) = (*app, *wish, None);
                self.pass(at, &Event::Started { app, wish, profile }, act);
            }
            Event::Latency(of) if !self.watched.contains(&of.app) => {}
            event => self.pass(at, event, act),
        }
    }

    fn pass(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Self { policy, end, alarm, first, next, watched, requested, has_sampled, .. } = self;
        policy.handle(at, event, &mut |action| match action {
            Action::Partition { plan, partition, reason } => {
                let plan = PlanId(plan.0.wrapping_add(first.0));
                *next = plan.next();
                let is_sampling = SAMPLING.contains(&&*reason);
                *has_sampled |= is_sampling;
                let decision = ReasonedPlan {
                    plan: partition.clone().into_owned(),
                    reason: reason.clone().into_owned(),
                };
                *requested = (!is_sampling).then_some((plan, decision));
                act(Action::Partition { plan, partition, reason });
            }
            Action::Wake { at } => {
                *alarm = Some(at);
                act(Action::Wake { at: at.min(*end) });
            }
            Action::Watch { app, every } => {
                watched.insert(app);
                act(Action::Watch { app, every });
            }
            action => act(action),
        });
        if self.alarm.is_none() {
            act(Action::Wake { at: self.end });
        }
    }

    /// The policy's plan so far; `is_over`: its time is.
    pub(crate) fn attempt(&self, levers: Option<Levers>, is_over: bool) -> Attempt {
        let Some(ReasonedPlan { plan, reason }) = &self.decision else {
            let why = match () {
                () if !is_over => ENDED,
                () if self.was_refused => REFUSED,
                () if self.has_sampled => ONLY_SAMPLED,
                () => NO_PLAN,
            };
            return Attempt { untried: Some(why), levers, ..Attempt::default() };
        };
        let has_limit = levers.as_ref().is_some_and(|levers| limits(plan, levers));
        let untried = Some(if is_over && !has_limit { NO_LIMIT } else { ENDED });
        Attempt { plan: plan.clone(), reason: reason.clone(), untried, levers }
    }
}
