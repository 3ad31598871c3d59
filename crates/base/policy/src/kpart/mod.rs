//! `kpart`: programs that harm each other least share clusters (El-Sayed, Mukkara, Tsai, Kasture,
//! Ma and Sanchez, HPCA 2018; LFOC §2.3.2).
//!
//! Hardware offers few and coarse partitions, so strict partitioning leaves each of many programs
//! with too few ways. KPart therefore lets programs share a partition, and looks for groups that
//! share well. The aim is throughput alone.
//!
//! 1. The *distance* of two clusters is how much more they would miss if they shared ways than if
//!    the ways were divided between them (`split.rs`), added up over all numbers of ways.
//! 2. The two nearest clusters are merged, again and again, from every program alone to one cluster
//!    of all (`merge.rs`): hierarchical clustering.
//! 3. For each number of clusters on the way, lookahead divides the ways. The number is taken at
//!    which the speedups of the programs have the largest sum (`levels.rs`).
//!
//! The curves of misses and IPC come from profiles, or from *DynaWay* while a program runs: it
//! gives one program a handful of sizes, from nearly the whole cache down, while all others share
//! the rest (`dynaway.rs`). Each program is measured again every [`Parameters::profile_period`]
//! instructions. Until every program has been measured, there is one cluster.
//!
//! The authors' program and the simulator of LFOC's authors differ; docs/decisions.md settles which
//! one is followed where.

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

use fairways_core::{Action, AppId, Counter, Event, PlanId, Policy, Sample, Time, WindowLength};

use crate::lookahead::Lookahead;
use crate::parameter::{MILLISECOND, parameters};
use crate::running::{Change, RunningPrograms};
use crate::table::{Descriptor, KnowledgeSource, PolicyNeed, make};
use clustering::{announce_measured, cluster, leave_unpartitioned_for_now};
pub use dynaway::SAMPLING;
use dynaway::{ProfilingSession, ProfilingStep};
use learner::{MOST_FAILURES, Profiler};

parameters! {
    /// The parameters of KPart.
    pub struct Parameters {
        /// Instructions of a window while a program is measured: as in LFOC.
        sampling_window: u64 = 10_000_000, "instructions", "LFOC §5.2", least 1;

        /// Instructions after which a program is measured again.
        ///
        /// `profile_period_B` of the authors' program has no default.
        profile_period: u64 = 20_000_000_000, "instructions", "`profile_period_B`", least 1;

        /// Measurements of a program that are averaged.
        averaged_profiles: u32 = 4, "measurements", "the authors' program";

        /// How often the progress of a measurement is checked.
        decision_period: Duration = Duration::from_millis(500), "", "ours", least MILLISECOND;

        /// Decision periods without a usable window before a measurement is given up.
        sampling_patience: u32 = 4, "decision periods", "ours";
    }
}

/// `kpart`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    paper: "El-Sayed, Mukkara, Tsai, Kasture, Ma and Sanchez, KPart, HPCA 2018",
    knows: KnowledgeSource::OtherWays,
    counters: &[Counter::Instructions, Counter::Cycles, Counter::LlcMisses],
    needs: &[
        PolicyNeed::Counter(Counter::Instructions),
        PolicyNeed::Counter(Counter::Cycles),
        PolicyNeed::Counter(Counter::LlcMisses),
    ],
    ..Descriptor::new::<Parameters>(
        "kpart",
        "programs that harm each other least in one cluster",
        &|settings| make(Parameters::default(), KPart::new, settings),
    )
};

/// The `kpart` policy.
#[derive(Clone, Debug, Default)]
pub struct KPart {
    parameters: Parameters,
    running: RunningPrograms,
    lookahead: Lookahead,
    learners: Vec<Profiler>,
    /// The programs that wait to be measured.
    queue: VecDeque<AppId>,
    session: Option<ProfilingSession>,
    plan: Option<PlanId>,
    has_alarm: bool,
    /// Whether a plan was refused and is to be made again.
    is_overdue: bool,
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
                // What was measured on another cache says nothing about this one.
                let ways = self.running.llc().map_or(0, |llc| llc.ways.get() as usize);
                for learner in &mut self.learners {
                    let latest = learner.measured.front();
                    if latest.is_some_and(|(llcmpki, _)| llcmpki.values().len() != ways) {
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
                    self.learners.push(Profiler::new(program.app));
                    self.queue.push_back(program.app);
                    if !self.has_alarm {
                        self.has_alarm = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Change::Wish { .. } => {}
            Change::Exited(app) => {
                self.learners.retain(|learner| learner.app != app);
                self.queue.retain(|&waiting| waiting != app);
                self.session.take_if(|session| session.app == app);
            }
        }
    }

    /// Handles a window: of a measurement, or the one after which the next measurement is due.
    fn sampled(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let (Some(llc), Some(session)) = (self.running.llc(), &mut self.session) else {
            self.queue_again(sample.app, act);
            return;
        };
        if session.app != sample.app {
            self.queue_again(sample.app, act);
            return;
        }
        // A machine may have given the program more or fewer ways than planned.
        match session.add_window(sample, self.running.deviating_ways(session.app)) {
            ProfilingStep::Wait => {}
            ProfilingStep::Shrink => self.go_on(act),
            ProfilingStep::Done => {
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

    /// Queues a program that is to be measured again.
    fn queue_again(&mut self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
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

    /// Puts a measurement off; it begins again later.
    fn postpone(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(app) = self.leave(act) {
            self.queue.push_front(app);
        }
    }

    /// Gives up a measurement; it is tried again later, and later each time.
    fn give_up(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(app) = self.leave(act) else { return };
        if let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) {
            learner.failures = (learner.failures + 1).min(MOST_FAILURES);
            learner.wait = 1 << (learner.failures - 1);
        }
    }

    /// Queues the programs that are due to be tried again; whether there are any.
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

    /// Whether a program can be measured: there are others for the rest of the ways.
    fn can_measure(&self) -> bool {
        let clusters = self.running.llc().map_or(0, |llc| llc.max_clusters());
        clusters >= 2 && self.running.programs().len() >= 2
    }

    /// Measures the next program, or clusters all.
    fn go_on(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        self.is_overdue = false;
        if !self.can_measure() {
            self.postpone(act);
        } else if self.session.is_none() {
            self.session = self.queue.pop_front().map(|app| ProfilingSession::new(app, &llc));
            if let Some(session) = &self.session {
                let every = WindowLength::Instructions(self.parameters.sampling_window.max(1));
                act(Action::Watch { app: session.app, every });
            }
        }
        let Self { running, lookahead, learners, session, plan, .. } = self;
        if let Some(session) = session {
            let made = running.plan(act, |llc, programs, partition, announcer| {
                let reason = "in no cluster while another is measured";
                announce_measured((programs, learners), reason, announcer);
                session.plan(llc, programs, partition)
            });
            session.has_joined = session.plan.is_some();
            session.plan = session.plan.or(made);
            *plan = made;
            return;
        }
        *plan = running.plan(act, |llc, programs, partition, announcer| {
            cluster(llc, (programs, learners), lookahead, partition, announcer)
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
                self.has_alarm = !self.learners.is_empty() || self.is_overdue;
                if !self.has_alarm {
                    return;
                }
                act(Action::Wake { at: at.after(self.parameters.decision_period) });
                let patience = self.parameters.sampling_patience;
                let has_retries = self.retry() && self.can_measure();
                let is_stuck = self.session.as_mut().map(|session| {
                    session.silent += 1;
                    session.silent > patience
                });
                if is_stuck == Some(true) {
                    self.give_up(act);
                }
                if is_stuck.unwrap_or(has_retries || self.is_overdue) {
                    self.go_on(act);
                }
            }
            Event::Refused { plan, .. } => {
                if self.plan != Some(*plan) {
                    return;
                }
                // The plan before it is in force, which may be that of a measurement.
                if self.session.is_some() {
                    self.give_up(act);
                    self.go_on(act);
                } else if !self.is_overdue {
                    let learners = &self.learners;
                    self.plan = self.running.plan(act, |llc, programs, partition, announcer| {
                        leave_unpartitioned_for_now(llc, (programs, learners), partition, announcer)
                    });
                    self.is_overdue = true;
                    if !self.has_alarm {
                        self.has_alarm = true;
                        act(Action::Wake { at: at.after(self.parameters.decision_period) });
                    }
                }
            }
            Event::Applied { plan, actual } if self.plan == Some(*plan) => {
                self.running.applied(*plan, actual);
                let session = self.session.as_ref();
                // What a program does with ways that it shares says nothing about a number of ways.
                if session.is_some_and(|session| self.running.shares_its_ways(session.app)) {
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
                let Some(change) = self.running.update(event) else { return };
                self.follow(at, change, act);
                self.go_on(act);
            }
        }
    }
}
