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
//! class, and joins the largest cluster that does not stream.
//!
//! Integers only, as in the authors' kernel module (§2.3.2), and a decision allocates
//! nothing once it has seen as many programs of each class.
//! What the paper leaves open is settled in docs/decisions.md, point by point, and named beside the
//! code that it governs.

mod classify;
mod clustering;
mod parameters;
mod sets;
#[cfg(test)]
mod tests;

use fairways_core::{Action, Event, Policy, Time};

use crate::running::{Change, Running};
use clustering::Clustering;
use sets::Sets;

pub use classify::{Class, classify};
pub use parameters::Parameters;

/// The `lfoc` policy.
#[derive(Clone, Debug, Default)]
pub struct Lfoc {
    parameters: Parameters,
    running: Running,
    sets: Sets,
    clustering: Clustering,
}

impl Lfoc {
    /// The policy with these parameters; [`Parameters::default`] is the paper's.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// Brings the sets in step with the programs that run.
    fn follow(&mut self, change: Change) {
        let Self { parameters, running, sets, .. } = self;
        let Some(llc) = running.llc() else { return };
        match change {
            Change::Machine => {
                sets.clear();
                for program in running.programs() {
                    sets.learn(parameters, &llc, program.app, program.profile.as_deref());
                }
            }
            Change::Started => {
                if let Some(program) = running.programs().last() {
                    sets.learn(parameters, &llc, program.app, program.profile.as_deref());
                }
            }
            Change::Exited(app) => sets.forget(app),
        }
    }
}

impl Policy for Lfoc {
    fn name(&self) -> &'static str {
        "lfoc"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Some(change) = self.running.take(event) else { return };
        self.follow(change);
        let Self { parameters, running, sets, clustering } = self;
        running.plan(act, |llc, programs, partition| {
            clustering.cluster(parameters, llc, programs, sets, partition)
        });
    }
}
