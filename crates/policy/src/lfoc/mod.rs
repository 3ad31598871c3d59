//! `lfoc`: LFOC, a lightweight fairness-oriented cache-clustering policy (Garcia-Garcia, Saez,
//! Castro and Prieto-Matias, ICPP 2019).
//!
//! Programs fall into three classes (§3, Table 1; [`classify`]). *Streaming* programs miss much
//! and gain nothing from more cache: they are confined to at most two ways, where they hurt
//! nobody. *Sensitive* programs are slowed down when they lose ways: each owns a partition, sized
//! by lookahead on the slowdown tables. *Light* programs neither gain nor hurt: they join the
//! streaming ones first, then the others in turn (§4.1, Algorithm 1; `clustering.rs`). Unfairness
//! is the largest slowdown over the smallest, so ways go where slowdown is.
//!
//! A program that started with a profile is classified at once. One that did not is of *unknown*
//! class and joins the largest cluster that does not stream, until it is sampled (§4.2): after a
//! warm-up it runs alone in a partition that grows from one way, all others on the rest, until
//! more would tell nothing new (`sampling.rs`). From then on, its misses, its stalls and its
//! occupancy say when it has probably become something else (`monitor.rs`), and it is sampled
//! again. One program is sampled at a time.
//!
//! LFOC+, `lfoc-plus`, lets sensitive programs share in pairs (`pairing.rs`).
//!
//! Integers only, as in the authors' kernel module (§2.3.2), and a decision allocates
//! nothing once it has seen as many programs of each class.
//! What the paper leaves open is settled in docs/decisions.md, point by point, and named beside the
//! code that it governs.

mod classify;
mod clustering;
mod monitor;
mod online;
mod pairing;
mod parameters;
mod rules;
mod sampling;
mod sets;
mod telling;
#[cfg(test)]
mod tests;
mod threads;

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use fairways_core::{Action, AppId, Event, PlanId, Policy, Profile, Time};

use crate::program::Program;
use crate::running::{Change, Running};
use crate::table::{Descriptor, Knows, make};
use classify::{By, Known};
use clustering::Clustering;
use monitor::{Learner, Learners};
use sampling::Session;
use sets::Sets;
use telling::UNKNOWN;

pub use classify::{Class, classify};
pub use parameters::Parameters;
pub(crate) use rules::Rules;
pub use sampling::SAMPLING;

/// `lfoc`, in the table of policies.
pub(crate) const LFOC: Descriptor = Descriptor {
    paper: "Garcia-Garcia, Saez, Castro and Prieto-Matias, LFOC, ICPP 2019",
    knows: Knows::OtherWays,
    ..Descriptor::new::<Parameters>(
        "lfoc",
        "streaming programs confined, sensitive ones isolated",
        |given| make(Parameters::default(), Lfoc::new, given),
    )
};

/// `lfoc-plus`, in the table of policies.
pub(crate) const LFOC_PLUS: Descriptor = Descriptor {
    paper: "Saez, Castro, Garcia-Garcia and Prieto-Matias, LFOC+, IEEE Transactions on Computers 71(8), 2022",
    knows: Knows::OtherWays,
    ..Descriptor::new::<Parameters>(
        "lfoc-plus",
        "the same, sensitive ones in pairs where that is fairer",
        |given| make(Parameters::plus(), Lfoc::new, given),
    )
};

/// The `lfoc` policy.
#[derive(Clone, Debug, Default)]
pub struct Lfoc {
    parameters: Parameters,
    running: Running,
    sets: Sets,
    clustering: Clustering,
    learners: Learners,
    /// Who wants to be sampled, first come first served (decision LFOC 9).
    queue: VecDeque<AppId>,
    session: Option<Box<Session>>,
    /// Whether an alarm has been asked for, and whether the next decision has something to do.
    awake: bool,
    overdue: bool,
    /// Whether a sampling partition may be in force.
    divided: bool,
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

    /// Brings what is known in step with the programs that run.
    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters: p, running, sets, learners, .. } = self;
        let Some(llc) = running.llc() else { return };
        match change {
            Change::Machine => {
                sets.clear();
                for index in 0..running.programs().len() {
                    let Program { app, profile, .. } = running.programs()[index].clone();
                    let known = profile.as_deref().map(|profile| given(p, profile));
                    let class = sets.learn(p, &llc, app, known);
                    if let (Some(class), Some(known)) = (class, known) {
                        running.tell_class(p, llc.ways, app, (class, By::Profile, known), act);
                    }
                }
                self.resample(&llc, act);
                if !self.awake {
                    self.awake = true;
                    act(Action::Wake { at: at.after(self.parameters.decision_period) });
                }
            }
            Change::Started => {
                let Some(program) = running.programs().last() else { return };
                let (app, profile) = (program.app, program.profile.clone());
                let known = profile.as_deref().map(|profile| given(p, profile));
                if let (Some(class), Some(known)) = (sets.learn(p, &llc, app, known), known) {
                    running.tell_class(p, llc.ways, app, (class, By::Profile, known), act);
                } else {
                    let reason = "no profile; to be sampled after its warm-up";
                    running.teller(act).class(app, UNKNOWN, reason);
                    learners.0.push(Learner::new(app, p));
                    self.watch(app, self.parameters.normal_window, act);
                }
            }
            Change::Wished { .. } => {}
            Change::Exited(app) => {
                sets.forget(app);
                // Where all profiles are known, nothing is learned.
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

/// What a profile says.
fn given<'a>(p: &Parameters, profile: &'a Profile) -> Known<'a> {
    Known { ipc: &profile.ipc, llcmpkc: &profile.llcmpkc, reference: p.reference }
}

impl Policy for Lfoc {
    fn name(&self) -> &'static str {
        if self.parameters.pair_clustering { "lfoc-plus" } else { "lfoc" }
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        // What became of a plan is told first: whatever else is told, it was not refused.
        if self.session.is_none() && !matches!(event, Event::Refused { .. }) {
            self.divided = false;
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
                let Some(change) = self.running.take(event) else { return };
                self.follow(at, change, act);
                self.go_on(act);
            }
        }
    }
}
