//! `kpart`: programs that harm each other least share clusters (El-Sayed, Mukkara, Tsai, Kasture, Ma
//! and Sanchez, HPCA 2018; LFOC §2.3.2).
//!
//! How much more two clusters would miss if they shared ways than if these were divided between them is
//! their distance. The nearest are merged, again and again (`merge.rs`); of all numbers of clusters that
//! come about, that is taken at which the programs, with ways divided by lookahead, go fastest
//! together (`levels.rs`). It looks at throughput alone.
//!
//! Online, DynaWay measures each program at a handful of sizes, from nearly the whole cache down, and
//! again every [`Parameters::profile_period`] instructions (`dynaway.rs`). Until every program has been
//! measured there is one cluster.
//!
//! The authors' program and the simulator of LFOC's authors differ; docs/decisions.md says which is
//! followed where.

mod clustering;
mod dynaway;
mod learner;
mod levels;
mod merge;
mod split;

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Action, AppId, Curve, Event, PlanId, Policy, Sample, Time, WindowLength};

use crate::lookahead::Lookahead;
use crate::parameter::{MILLISECOND, parameters};
use crate::running::{Change, Running};
use crate::table::{Descriptor, Knows, make};
use clustering::{cluster, everybody_for_now, tell_measured};
pub use dynaway::SAMPLING;
use dynaway::{Next, Session};
use learner::{Learner, MOST_FAILURES};

parameters! {
    /// The parameters of KPart.
    pub struct Parameters {
        /// Instructions of a window while a program is measured: LFOC's.
        sampling_window: u64 = 10_000_000, "instructions", "LFOC §5.2", least 1;

        /// Instructions after which a program is measured again.
        ///
        /// `profile_period_B` of the authors' program has no default.
        profile_period: u64 = 20_000_000_000, "instructions", "`profile_period_B`", least 1;

        /// Measurements of a program that are averaged.
        averaged_profiles: u32 = 4, "measurements", "the authors' program";

        /// How often it is seen to that a measurement goes on.
        decision_period: Duration = Duration::from_millis(500), "", "ours", least MILLISECOND;

        /// Decision periods without a usable window before a measurement is given up.
        sampling_patience: u32 = 4, "decision periods", "ours";
    }
}

/// `kpart`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "El-Sayed, Mukkara, Tsai, Kasture, Ma and Sanchez, KPart, HPCA 2018",
    knows: Knows::OtherWays,
    ..Descriptor::new::<Parameters>(
        "kpart",
        "programs that harm each other least in one cluster",
        |given| make(Parameters::default(), KPart::new, given),
    )
};

/// The `kpart` policy.
#[derive(Clone, Debug, Default)]
pub struct KPart {
    parameters: Parameters,
    running: Running,
    lookahead: Lookahead,
    learners: Vec<Learner>,
    /// Who is to be measured.
    queue: VecDeque<AppId>,
    session: Option<Session>,
    plan: Option<PlanId>,
    awake: bool,
    /// Whether a plan was refused, and is to be made again.
    overdue: bool,
}

impl KPart {
    /// The policy with these parameters; [`Parameters::default`] is what was published.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    fn follow(&mut self, at: Time, change: Change, act: &mut dyn FnMut(Action<'_>)) {
        match change {
            Change::Machine => {
                self.postpone(act);
                // What was measured on another cache tells nothing of this one.
                let ways = self.running.llc().map_or(0, |llc| llc.ways.get() as usize);
                for learner in &mut self.learners {
                    let stale = |tables: &(Curve, Curve)| tables.0.values().len() != ways;
                    let stale = learner.measured.front().is_some_and(stale);
                    if stale {
                        learner.measured.clear();
                        if !self.queue.contains(&learner.app) {
                            self.queue.push_back(learner.app);
                        }
                    }
                }
            }
            Change::Started => {
                let Some(program) = self.running.programs().last() else { return };
                if program.profile.is_none() {
                    self.learners.push(Learner::new(program.app));
                    self.queue.push_back(program.app);
                    if !self.awake {
                        self.awake = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Change::Wished { .. } => {}
            Change::Exited(app) => {
                self.learners.retain(|learner| learner.app != app);
                self.queue.retain(|&waiting| waiting != app);
                self.session.take_if(|session| session.app == app);
            }
        }
    }

    /// A window ended: of a measurement, or it is time for another.
    fn sampled(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let (Some(llc), Some(session)) = (self.running.llc(), &mut self.session) else {
            self.again(sample.app, act);
            return;
        };
        if session.app != sample.app {
            self.again(sample.app, act);
            return;
        }
        // A machine may have made more or less of the partition than was asked for.
        match session.take(sample, self.running.other_ways(session.app)) {
            Next::Wait => {}
            Next::Shrink => self.go_on(act),
            Next::Done => {
                let tables = session.tables(&llc);
                let learner = self.learners.iter_mut().find(|one| one.app == sample.app);
                if let Some(learner) = learner {
                    learner.measured.push_front(tables);
                    learner.failures = 0;
                    learner.measured.truncate(self.parameters.averaged_profiles.max(1) as usize);
                }
                self.leave(act);
                self.go_on(act);
            }
        }
    }

    /// A program is to be measured once more.
    fn again(&mut self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let known = self.learners.iter().any(|one| one.app == app && !one.measured.is_empty());
        if known && !self.queue.contains(&app) {
            self.queue.push_back(app);
            if self.session.is_none() {
                self.go_on(act);
            }
        }
    }

    /// Ends a measurement; the next one is a period away.
    fn leave(&mut self, act: &mut dyn FnMut(Action<'_>)) -> Option<AppId> {
        let app = self.session.take()?.app;
        let every = WindowLength::Instructions(self.parameters.profile_period.max(1));
        act(Action::Watch { app, every });
        Some(app)
    }

    /// A measurement has to begin anew.
    fn postpone(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(app) = self.leave(act) {
            self.queue.push_front(app);
        }
    }

    /// A measurement came to nothing: it is tried again later, and later each time.
    fn give_up(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(app) = self.leave(act) else { return };
        if let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) {
            learner.failures = (learner.failures + 1).min(MOST_FAILURES);
            learner.wait = 1 << (learner.failures - 1);
        }
    }

    /// Queues those whose time it is to be tried again; whether there are any.
    fn retry(&mut self) -> bool {
        let mut any = false;
        for learner in self.learners.iter_mut().filter(|learner| learner.wait > 0) {
            learner.wait -= 1;
            if learner.wait == 0 && !self.queue.contains(&learner.app) {
                self.queue.push_back(learner.app);
                any = true;
            }
        }
        any
    }

    /// Whether somebody can be measured: there are others for the rest of the ways.
    fn can_measure(&self) -> bool {
        let clusters = self.running.llc().map_or(0, |llc| llc.max_clusters());
        clusters >= 2 && self.running.programs().len() >= 2
    }

    /// Measures whoever is next, or clusters.
    fn go_on(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        self.overdue = false;
        if !self.can_measure() {
            self.postpone(act);
        } else if self.session.is_none() {
            self.session = self.queue.pop_front().map(|app| Session::new(app, &llc));
            if let Some(session) = &self.session {
                let every = WindowLength::Instructions(self.parameters.sampling_window.max(1));
                act(Action::Watch { app: session.app, every });
            }
        }
        let Self { running, lookahead, learners, session, plan, .. } = self;
        if let Some(session) = session {
            let made = running.plan(act, |llc, programs, partition, teller| {
                let reason = "in no cluster while another is measured";
                tell_measured((programs, learners), reason, teller);
                session.plan(llc, programs, partition)
            });
            session.joined = session.plan.is_some();
            session.plan = session.plan.or(made);
            *plan = made;
            return;
        }
        *plan = running.plan(act, |llc, programs, partition, teller| {
            cluster(llc, (programs, learners), lookahead, partition, teller)
        });
    }
}

impl Policy for KPart {
    fn name(&self) -> &'static str {
        "kpart"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Sampled(sample) => self.sampled(sample, act),
            Event::Woke => {
                self.awake = !self.learners.is_empty() || self.overdue;
                if !self.awake {
                    return;
                }
                act(Action::Wake { at: at.after(self.parameters.decision_period) });
                let patience = self.parameters.sampling_patience;
                let retries = self.retry() && self.can_measure();
                let silent = self.session.as_mut().map(|session| {
                    session.silent += 1;
                    session.silent > patience
                });
                if silent == Some(true) {
                    self.give_up(act);
                }
                if silent.unwrap_or(retries || self.overdue) {
                    self.go_on(act);
                }
            }
            Event::Refused { plan, .. } => {
                if self.plan != Some(*plan) {
                    return;
                }
                // The plan before it is in force: perhaps that of a measurement.
                if self.session.is_some() {
                    self.give_up(act);
                    self.go_on(act);
                } else if !self.overdue {
                    let learners = &self.learners;
                    self.plan = self.running.plan(act, |llc, programs, partition, teller| {
                        everybody_for_now(llc, (programs, learners), partition, teller)
                    });
                    self.overdue = true;
                    if !self.awake {
                        self.awake = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Event::Applied { plan, actual } if self.plan == Some(*plan) => {
                self.running.applied(*plan, actual);
                let session = self.session.as_ref();
                // What it does in ways that it does not have to itself says nothing of so many.
                if session.is_some_and(|session| self.running.is_joined(session.app)) {
                    self.give_up(act);
                    self.go_on(act);
                }
            }
            Event::Applied { .. }
            | Event::Cpus(_)
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
