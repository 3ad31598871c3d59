//! `fairways`: the clustering that a local search finds, as fair as the exact optimum on nearly
//! every mix.
//!
//! LFOC and LFOC+ build a plan by rules: streaming programs confined, sensitive ones alone or in
//! pairs. The exact optimum (`fairways-lab optimum`) is a few percent fairer, but takes seconds
//! with sixteen programs. This policy starts from LFOC+'s plan and improves it in small steps: a
//! program moves to another cluster or to a new one (`search.rs`); where no move helps, two
//! programs swap their clusters; where no swap helps, two clusters merge. For each step the ways
//! are divided again: each cluster gets those that it needs to be no slower than a better plan may
//! be, the slowest cluster the next one, then single ways are traded (`divide.rs`). It ends where
//! no step is better, or when the trials run out.
//!
//! How a cluster fares depends on its programs and its ways alone, so each set of programs is
//! evaluated once, as far as divisions ask, by the published model of shared ways
//! (`clusters.rs`). What better means is a parameter (`objective.rs`).
//!
//! A program without a profile is known by its own windows, each of which counts for the occupancy
//! that it was measured at (`observed.rs`, `points.rs`), phase by phase (`phases.rs`). It is
//! sampled only if it could be slower than the slowest (`sampling.rs`), in one pass over all sizes
//! (`session.rs`). Until its first windows are over, it is in the largest cluster, as under LFOC.
//!
//! The fewest ways of a service with an objective are Locpart's to decide (`services.rs`).
//!
//! Another plan has to be worth the lines that move by it (`keeping.rs`), and is judged by what
//! happened under it (`judge.rs`). Promised ways limit what
//! plans there are, those of sampling too (`promises.rs`). Beyond 64 programs the plan is LFOC+'s.
//!
//! Where memory is the bottleneck, programs that fill it get limits of bandwidth (`bandwidth.rs`).
//! Where threads take turns, CPU time makes up for what the ways leave unfair (`cpu_time.rs`).
//!
//! Integers only; a decision reuses the memory of the one before.

mod bandwidth;
mod bandwidth_gate;
mod bandwidth_plan;
mod bandwidth_trial;
mod bandwidth_user;
mod clusters;
mod cpu_time;
mod divide;
mod judge;
mod keeping;
mod learner;
mod limits;
mod memory;
mod memory_plan;
mod needs;
mod objective;
mod observed;
mod online;
mod parameters;
mod phases;
mod placement;
mod placer;
mod planner;
mod points;
mod program;
mod promises;
mod rates;
mod reasons;
mod sampling;
mod search;
mod services;
mod session;
mod starts;
mod sweep;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Counter, Event, Llc, PlanId, Policy, Time};

use crate::profile_watch::ProfileWatch;
use crate::running::{Change, RunningPrograms};
use crate::table::{DecisionScope, Descriptor, KnowledgeSource, OwnerRequest, PolicyNeed, make};
use bandwidth::BandwidthControl;
use cpu_time::CpuTime;
use judge::PlanJudge;
use learner::LearnedProgram;
use planner::Planner;
use services::Services;
use session::Growth;

pub use objective::Objective;
pub use parameters::Parameters;
pub use placer::{Elsewhere, PlacedProgram, Placer};
pub use session::LONGER;

/// `fairways`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    decides: DecisionScope::WaysAndBandwidth,
    knows: KnowledgeSource::OtherWays,
    honours: &[
        OwnerRequest::Baselines,
        OwnerRequest::Objectives,
        OwnerRequest::BestEffort,
        OwnerRequest::Importance,
    ],
    counters: &[
        Counter::Instructions,
        Counter::Cycles,
        Counter::LlcReferences,
        Counter::LlcMisses,
        Counter::StallsL2Miss,
        Counter::MemoryBytes,
        Counter::CpuNanos,
    ],
    needs: &[
        PolicyNeed::Counter(Counter::Instructions),
        PolicyNeed::Counter(Counter::Cycles),
        PolicyNeed::Counter(Counter::LlcMisses),
        PolicyNeed::Occupancy,
    ],
    ..Descriptor::new::<Parameters>(
        "fairways",
        "the fairest clustering that a local search finds, from LFOC+'s on",
        &|given| make(Parameters::default(), Fairways::new, given),
    )
};

/// The `fairways` policy.
#[derive(Clone, Debug, Default)]
pub struct Fairways {
    parameters: Parameters,
    running: RunningPrograms,
    planner: Planner,
    /// The programs without a profile, in the order in which they started.
    learners: Vec<LearnedProgram>,
    watched: ProfileWatch,
    services: Services,
    bandwidth: BandwidthControl,
    cpu_time: CpuTime,
    judge: PlanJudge,
    session: Option<Growth>,
    /// How long programs were sampled in total, in nanoseconds.
    sampled_nanos: u64,
    /// When the first program without a profile was first watched.
    learning_since: Option<Time>,
    /// Whether a program began another phase since the last decision.
    has_turned: bool,
    /// Whether an alarm is set.
    is_armed: bool,
    /// Whether a sampling partition may be in force.
    is_divided: bool,
    /// Whether one was in force before the last plan.
    was_divided: bool,
    /// Whether the next plan is the first after a sampling.
    follows_sampling: bool,
    plan: Option<PlanId>,
}

impl Fairways {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }

    /// Makes the next plans also count the programs on the machine's other caches. So far that is
    /// for programs with profiles, on memory without a known limit.
    pub fn count_elsewhere(&mut self, elsewhere: Elsewhere) {
        self.planner.elsewhere = Some(elsewhere);
    }

    /// The program that is being sampled; `None` in normal operation.
    #[must_use]
    pub fn sampling(&self) -> Option<AppId> {
        self.session.as_ref().map(|session| session.app)
    }

    /// How many phases a program was seen to begin, counted from its start, or from the phase that
    /// its profile describes.
    #[must_use]
    pub fn phases_seen(&self, app: AppId) -> u32 {
        let learner = self.learners.iter().find(|learner| learner.app == app);
        learner.map_or(0, |learner| learner.phases_begun().saturating_add(1))
    }

    /// Adapts what is known to a change of the programs or of the machine.
    fn follow(
        &mut self,
        at: Time,
        change: Change,
        before: Option<Llc>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        match change {
            Change::Machine => {
                self.stop(at, act);
                if before.map(|llc| llc.ways) != self.running.llc().map(|llc| llc.ways) {
                    let windows = self.parameters.first_windows;
                    self.learners.iter_mut().for_each(|learner| learner.forget(windows));
                }
            }
            Change::Started => {
                let started = self.running.programs().last().map(|program| program.app);
                self.learn(at, started, act);
            }
            Change::Exited(_) | Change::Wish { .. } => self.learn(at, None, act),
        }
        self.follow_objectives(at, change == Change::Started, act);
        self.follow_bandwidth(at, act);
    }
}

impl Policy for Fairways {
    fn name(&self) -> &'static str {
        "fairways"
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::Sampled(sample) => {
                self.bandwidth.measure(sample);
                self.sampled(at, sample, act);
                self.pace(at, sample);
            }
            Event::Cpus(_) => self.follow_cpu_time(at, event, act),
            Event::QuantumGiven(turn) => self.end_turn(at, turn, act),
            Event::Woke => self.wake(at, act),
            Event::Latency(latencies) => {
                self.bandwidth.measure_latencies(latencies, self.running.programs());
                self.answered(at, latencies);
            }
            Event::Refused { plan, .. } => self.refused(at, *plan, act),
            Event::Applied { plan, actual } => {
                self.services.is_refused &= self.plan != Some(*plan);
                self.was_divided &= self.plan != Some(*plan);
                self.running.applied(*plan, actual);
            }
            _ => {
                let before = self.running.llc();
                let Some(change) = self.running.update(event) else { return };
                self.follow(at, change, before, act);
                self.follow_cpu_time(at, event, act);
                self.decide(at, Some(change), act);
            }
        }
    }
}
