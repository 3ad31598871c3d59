//! `lfoc`: LFOC, a lightweight fairness-oriented cache-clustering policy (Garcia-Garcia, Saez,
//! Castro and Prieto-Matias, ICPP 2019).
//!
//! Programs fall into three classes (§3, Table 1; [`classify`]). *Streaming* programs miss much
//! and gain nothing from more cache: they are confined to at most two ways, where they hurt
//! nobody. *Sensitive* programs are slowed down when they lose ways: each owns a partition, sized
//! by lookahead on the slowdown tables. *Light* programs neither gain nor hurt: they join the
//! streaming ones first, then the others in turn (§4.1, Algorithm 1; [`clustering`]). Unfairness
//! is the largest slowdown over the smallest, so ways go where slowdown is.
//!
//! A program that started with a profile is classified at once. One that did not is of *unknown*
//! class, and joins the largest cluster that does not stream.
//!
//! Integers only, as in the authors' kernel module (§2.3.2), and a decision allocates nothing.
//! What the paper leaves open is settled in [`clustering`] and [`Parameters`], each point beside
//! the code it governs.

mod classify;
mod clustering;
mod parameters;

use alloc::vec::Vec;

use fairways_core::{Action, Curve, Event, Llc, Policy, Profile};

use crate::office::{Change, Office};
use crate::slowdown::slowdown_table;
use clustering::Clustering;

pub use classify::{Class, classify};
pub use parameters::Parameters;

/// The `lfoc` policy.
#[derive(Clone, Debug, Default)]
pub struct Lfoc {
    parameters: Parameters,
    office: Office,
    /// The class of each program, in the order of the office's list.
    classes: Vec<Class>,
    /// The slowdown table and the LLCMPKC curve of each *sensitive* program, in that order.
    slowdowns: Vec<Curve>,
    pressures: Vec<Curve>,
    clustering: Clustering,
}

impl Lfoc {
    /// The policy with these parameters; [`Parameters::default`] is the paper's.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self {
            parameters,
            ..Self::default()
        }
    }

    /// Classifies the program at the end of the list.
    fn learn(&mut self, llc: &Llc, profile: Option<&Profile>) {
        let class = profile.map_or(Class::Unknown, |profile| {
            classify(profile, llc.ways, &self.parameters)
        });
        self.classes.push(class);
        if let (Class::Sensitive, Some(profile)) = (class, profile) {
            let reference = self.parameters.reference;
            self.slowdowns
                .push(slowdown_table(&profile.ipc, llc.ways, reference));
            self.pressures.push(profile.llcmpkc.resized(llc.ways));
        }
    }

    fn forget(&mut self, index: usize) {
        if self.classes.remove(index) == Class::Sensitive {
            let before = &self.classes[..index];
            let at = before
                .iter()
                .filter(|&&class| class == Class::Sensitive)
                .count();
            self.slowdowns.remove(at);
            self.pressures.remove(at);
        }
    }

    /// Brings what is known of each program in step with the office's list.
    fn follow(&mut self, change: Change) {
        let Some(llc) = self.office.llc() else { return };
        if let Change::Exited(index) = change {
            self.forget(index);
            return;
        }
        if change == Change::Machine {
            self.classes.clear();
            self.slowdowns.clear();
            self.pressures.clear();
        }
        while let Some(program) = self.office.programs().get(self.classes.len()) {
            let profile = program.profile.clone();
            self.learn(&llc, profile.as_deref());
        }
    }
}

impl Policy for Lfoc {
    fn name(&self) -> &'static str {
        "lfoc"
    }

    fn handle(&mut self, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Some(change) = self.office.take(event) else {
            return;
        };
        self.follow(change);
        let Self {
            parameters,
            office,
            classes,
            slowdowns,
            pressures,
            clustering,
        } = self;
        office.plan(act, |llc, programs, partition| {
            let apps = programs
                .iter()
                .map(|program| program.app)
                .zip(classes.iter().copied());
            clustering.cluster(parameters, llc, apps, slowdowns, pressures, partition)
        });
    }
}
