//! `lfoc`: LFOC, a lightweight fairness-oriented cache-clustering policy (Garcia-Garcia, Saez,
//! Castro and Prieto-Matias, ICPP 2019).
//!
//! The aim is fairness: unfairness is the largest slowdown over the smallest, so ways go where
//! slowdown is. The idea is that only some programs need cache to themselves. Programs fall into
//! three classes (§3, Table 1; [`classify`]):
//!
//! - *Streaming* programs miss much and gain nothing from more cache, but evict the lines of
//!   others. All of them together are confined to at most two ways.
//! - *Sensitive* programs are slowed down when they lose ways. Each has a partition of its own,
//!   sized by lookahead on the slowdown tables (`../lookahead.rs`).
//! - *Light* programs neither gain from cache nor harm others. They fill up the partitions of the
//!   streaming programs first, then those of the sensitive ones in turn.
//!
//! Algorithm 1 (§4.1; `clustering.rs`) does that in time for a decision every half second.
//!
//! A program that starts with a profile is classified at once. Without one it is of *unknown*
//! class: it joins the largest cluster of sensitive programs until it is sampled (§4.2;
//! `sampling.rs`). After a warm-up it runs alone in a partition that grows from one way, and all
//! others share the rest, until larger sizes would show nothing new. One program is sampled at a
//! time. Afterwards its misses, its stalls and its occupancy show when its class has probably
//! changed (`monitor.rs`); then it is sampled again.
//!
//! LFOC+, `lfoc-plus`, lets sensitive programs share ways in pairs where that is fairer
//! (`pairing.rs`).
//!
//! As in the authors' kernel module (§2.3.2), there are integers only, and a decision allocates
//! nothing once it has seen as many programs of each class. docs/decisions.md settles what the
//! paper leaves open; a comment beside the code names the decision.

mod announce;
mod classify;
mod clustering;
mod monitor;
mod online;
mod pairing;
mod parameters;
mod rules;
mod sampling;
mod sets;
#[cfg(test)]
mod tests;
mod threads;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use fairways_core::{Action, AppId, Counter, Event, PlanId, Policy, Profile, Time};

use crate::profile_watch::ProfileWatch;
use crate::program::RunningProgram;
use crate::running::{Change, RunningPrograms};
use crate::table::{Descriptor, KnowledgeSource, PolicyNeed, make};
use classify::KnownCurves;
use clustering::Clustering;
use monitor::{Learner, Learners};
use sampling::SamplingSession;
use sets::Sets;

pub(crate) use announce::{UNKNOWN, reason};
pub(crate) use classify::Evidence;
pub use classify::{Class, classify};
pub use parameters::Parameters;
pub(crate) use rules::Rules;
pub use sampling::SAMPLING;

/// What Table 1 and §4.2 decide by, and how many threads ran.
const COUNTERS: &[Counter] = &[
    Counter::Instructions,
    Counter::Cycles,
    Counter::LlcMisses,
    Counter::StallsL2Miss,
    Counter::CpuNanos,
];

/// Without its share of stalls a program is classified by its misses and its speed.
const NEEDS: &[PolicyNeed] = &[
    PolicyNeed::Counter(Counter::Instructions),
    PolicyNeed::Counter(Counter::Cycles),
    PolicyNeed::Counter(Counter::LlcMisses),
];

/// `lfoc`, in the table of policies.
pub(crate) const LFOC: Descriptor = Descriptor {
    paper: "Garcia-Garcia, Saez, Castro and Prieto-Matias, LFOC, ICPP 2019",
    knows: KnowledgeSource::OtherWays,
    counters: COUNTERS,
    needs: NEEDS,
    ..Descriptor::new::<Parameters>(
        "lfoc",
        "streaming programs confined, sensitive ones isolated",
        &|settings| make(Parameters::default(), Lfoc::new, settings),
    )
};

/// `lfoc-plus`, in the table of policies.
pub(crate) const LFOC_PLUS: Descriptor = Descriptor {
    paper: "Saez, Castro, Garcia-Garcia and Prieto-Matias, LFOC+, IEEE Transactions on Computers 71(8), 2022",
    knows: KnowledgeSource::OtherWays,
    counters: COUNTERS,
    needs: NEEDS,
    ..Descriptor::new::<Parameters>(
        "lfoc-plus",
        "the same, sensitive ones in pairs where that is fairer",
        &|settings| make(Parameters::plus(), Lfoc::new, settings),
    )
};

/// The `lfoc` policy.
#[derive(Clone, Debug, Default)]
pub struct Lfoc {
    parameters: Parameters,
    running: RunningPrograms,
    sets: Sets,
    clustering: Clustering,
    learners: Learners,
    watched: ProfileWatch,
    /// The programs that wait to be sampled, first come, first served (decision LFOC 9).
    queue: VecDeque<AppId>,
    session: Option<Box<SamplingSession>>,
    /// Whether an alarm is set.
    has_alarm: bool,
    /// Whether the next decision has to make a plan.
    is_overdue: bool,
    /// Whether a sampling partition may be in force.
    is_divided: bool,
    plan: Option<PlanId>,
}

impl Lfoc {
    /// The policy with these parameters; [`Parameters::default`] is the paper's.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// The class of a program that runs; `None` while it is unknown.
    #[must_use]
    pub fn class(&self, app: AppId) -> Option<Class> {
        let Sets { streaming, sensitive, light, .. } = &self.sets;
        [(streaming, Class::Streaming), (sensitive, Class::Sensitive), (light, Class::Light)]
            .into_iter()
            .find_map(|(set, class)| set.contains(&app).then_some(class))
    }

    /// The program that is being sampled; `None` in normal operation.
    #[must_use]
    pub fn sampling(&self) -> Option<AppId> {
        self.session.as_ref().map(|session| session.app)
    }

    /// Adapts what is known to a change of the programs or of the machine.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters: p, running, sets, learners, .. } = self;
        let Some(llc) = running.llc() else { return };
        match change {
            Change::Machine => {
                sets.clear();
                for index in 0..running.programs().len() {
                    let RunningProgram { app, profile, .. } = running.programs()[index].clone();
                    let known = profile.as_deref().map(|profile| profile_curves(p, profile));
                    let class = sets.learn(p, &llc, app, known);
                    if let (Some(class), Some(known)) = (class, known) {
                        running.announce_class(
                            p,
                            llc.ways,
                            app,
                            (class, Evidence::Profile, known),
                            act,
                        );
                    }
                }
                self.resample(&llc, act);
                if !self.has_alarm {
                    self.has_alarm = true;
                    act(Action::Wake { at: at.after(self.parameters.decision_period) });
                }
            }
            Change::Started => {
                let Some(program) = running.programs().last() else { return };
                let (app, profile) = (program.app, program.profile.clone());
                let known = profile.as_deref().map(|profile| profile_curves(p, profile));
                if let (Some(class), Some(known)) = (sets.learn(p, &llc, app, known), known) {
                    running.announce_class(
                        p,
                        llc.ways,
                        app,
                        (class, Evidence::Profile, known),
                        act,
                    );
                    self.watched.begin(app);
                    self.watch(app, self.parameters.normal_window, act);
                } else {
                    let reason = "no profile; to be sampled after its warm-up";
                    running.announcer(act).announce_class(app, UNKNOWN, reason);
                    learners.0.push(Learner::new(app, p));
                    self.watch(app, self.parameters.normal_window, act);
                }
            }
            Change::Wish { .. } => {}
            Change::Exited(app) => {
                sets.forget(app);
                self.watched.retain(|watched| watched != app);
                // If every program is as its profile says, nothing is learned.
                if !learners.0.is_empty() {
                    learners.0.retain(|learner| learner.app != app);
                    self.queue.retain(|&waiting| waiting != app);
                    // Decision LFOC 9: a program that exits frees the mode at once.
                    if self.sampling() == Some(app) {
                        self.leave();
                    }
                }
            }
        }
    }
}

/// The curves of a profile.
fn profile_curves<'a>(p: &Parameters, profile: &'a Profile) -> KnownCurves<'a> {
    KnownCurves { ipc: &profile.ipc, llcmpkc: &profile.llcmpkc, reference: p.reference }
}

impl Policy for Lfoc {
    fn name(&self) -> &'static str {
        if self.parameters.pair_clustering { "lfoc-plus" } else { "lfoc" }
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        // A machine reports the outcome of a plan before anything else, so any other event means
        // that the plan was not refused.
        if self.session.is_none() && !matches!(event, Event::Refused { .. }) {
            self.is_divided = false;
        }
        match event {
            Event::Sampled(sample) => self.sampled(sample, act),
            Event::Woke => self.decide(at, act),
            Event::Refused { plan, .. } => self.refused(*plan, act),
            Event::Applied { plan, actual } => self.applied(*plan, actual, act),
            Event::Cpus(_)
            | Event::Wished { .. }
            | Event::Latency(_)
            | Event::RanTogether(_)
            | Event::QuantumGiven(_) => {}
            Event::Machine(_) | Event::Started { .. } | Event::Exited { .. } => {
                let Some(change) = self.running.update(event) else { return };
                self.follow(at, change, act);
                self.go_on(act);
            }
        }
    }
}
