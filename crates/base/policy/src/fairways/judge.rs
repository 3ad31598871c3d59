//! Judges a plan by its effect: how its programs ran under it, compared with the plan before it, in
//! the same phases.
//!
//! A slowdown is measured: cycles per instruction divided by the least that the program is known to
//! take. A plan that made things worse is undone. If the plan is not clearly fairer than no
//! partitioning, no partitioning is tried, once for each combination of phases; the better one
//! stays. If a plan was worse, the gain that it promised plus what it lost is the error of the
//! estimates: the next plan must gain that much more.

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{Action, AppId, Llc, Q32, Sample, Time};

use super::Fairways;
use super::learner::{ALL_PHASES, LearnedProgram};
use super::objective::{Objective, Outcome};
use super::parameters::Parameters;
use super::planner::Planner;
use super::sampling::FIRST_NANOS;

/// How many situations are remembered.
const MOST_SITUATIONS: usize = 8;

/// For how many decision periods lines move after a change of plan, and for how many the new plan
/// is measured after that.
const SETTLING: u32 = 1;
const MEASURED: u32 = 2;

/// A trial lasts at most this many times as long as needed: programs may sleep.
const PATIENCE: u32 = 4;

/// A trial of no partitioning requires that phases last this many times as long as the trial.
const LASTING: u32 = 8;

/// A plan whose measured outcome is better by this much than the estimate for no partitioning needs
/// no trial: on the chip, estimates for shared ways err by up to an eighth, as the lines of
/// programs that share do not always go as their misses say. After a trial, twice the error that it
/// showed is enough, but not less than `LEAST_CLEARLY`, which no trial shows to be right.
const CLEARLY: u64 = (1 << 32) / 4;
const LEAST_CLEARLY: u64 = (1 << 32) / 20;

/// Trials may take one part in this many of the time, beyond the first second.
const TRIED_PART: u128 = 100;

/// A program that runs faster than its known best by more than one part in this many is in another
/// phase than it seems to be in.
const OTHER_PHASE: u64 = 8;

/// A plan is worse than the one before it only if it is by more than this error of measurement.
const NOISE_PERCENT: u64 = 1;

pub(crate) const TRIED: &str = "a trial of no partitioning: the plan may be no fairer than that";
pub(crate) const ENDED: &str =
    "back to this plan: a program began another phase while no partitioning was tried";
pub(crate) const UNSEEN: &str =
    "back to this plan: too little was measured while no partitioning was tried";
pub(crate) const BETTER: &str = "back to this plan: what was tried after it was worse, as measured";

/// What happened under the recent plans.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanJudge {
    /// The plan in force, and the one before it, if that was in force in the same phases.
    now: JudgedPlan,
    before: JudgedPlan,
    has_before: bool,
    /// The combinations of phases that programs are or were in, the present one first.
    situations: Vec<Situation>,
    /// Whether a trial of no partitioning is running.
    pub(crate) is_trial: bool,
    /// When a trial ends at the latest.
    trial_ends: Time,
    /// The total length of trials so far, in nanoseconds.
    tried_nanos: u64,
    /// The estimated outcome of no partitioning, before it was tried.
    estimated: Outcome,
    /// The error of that estimate in the last trial, in units of 2^-32.
    error: Option<u64>,
    /// The best IPC of each program by phase, now and before the plan was made; reused.
    best_ipc: Vec<(AppId, u32, Q32)>,
    best_before: Vec<(AppId, u32, Q32)>,
}

/// A plan, and what its programs did under it.
#[derive(Clone, Debug, Default)]
struct JudgedPlan {
    placed: Vec<(AppId, usize)>,
    ways: Vec<u32>,
    /// From when on windows show the plan's effect; `None` while it is not in force.
    settled: Option<Time>,
    seen: Vec<SeenProgram>,
    /// Its estimated gain over the plan before, in units of 2^-32.
    promised: u64,
}

/// The cycles and instructions of a program under a plan.
#[derive(Clone, Copy, Debug)]
struct SeenProgram {
    app: AppId,
    phase: u32,
    cycles: u64,
    instructions: u64,
    window: Duration,
}

/// A combination of the programs' phases, and what was learned about plans in it.
#[derive(Clone, Debug, Default)]
struct Situation {
    phases: Vec<(AppId, u32)>,
    /// The error of estimates, in units of 2^-32.
    doubt: u64,
    /// Whether a trial of no partitioning was made.
    is_tried: bool,
}

impl JudgedPlan {
    fn is(&self, placed: &[(AppId, usize)], ways: &[u32]) -> bool {
        self.placed == placed && self.ways == ways
    }

    /// Adds a window in which only this plan was in force.
    fn add(&mut self, sample: &Sample, phase: u32) {
        let (Some(cycles), Some(instructions)) =
            (sample.counters.cycles, sample.counters.instructions)
        else {
            return;
        };
        let known = self.seen.iter().position(|one| one.app == sample.app);
        let place = known.unwrap_or_else(|| {
            let (app, window) = (sample.app, Duration::ZERO);
            self.seen.push(SeenProgram { app, phase, cycles: 0, instructions: 0, window });
            self.seen.len() - 1
        });
        let seen = &mut self.seen[place];
        if seen.phase != phase {
            (seen.phase, seen.cycles, seen.instructions, seen.window) =
                (phase, 0, 0, Duration::ZERO);
        }
        seen.cycles = seen.cycles.saturating_add(cycles);
        seen.instructions = seen.instructions.saturating_add(instructions);
        seen.window = seen.window.saturating_add(sample.window);
    }

    /// A program's cycles per instruction, if it was seen for at least this long in this phase.
    fn cpi(&self, (app, phase): (AppId, u32), least: Duration) -> Option<Q32> {
        let seen = self.seen.iter().find(|one| one.app == app && one.phase == phase)?;
        let is_enough = seen.window >= least && seen.instructions > 0;
        is_enough.then(|| Q32::ratio(seen.cycles, seen.instructions))
    }
}

impl PlanJudge {
    /// Handles a new plan, or the same one after others were in force.
    pub(crate) fn plan_made(&mut self, at: Time, p: &Parameters, planner: &Planner) {
        let settled = Some(at.after(p.decision_period.saturating_mul(SETTLING)));
        if !planner.is_by_search() {
            self.disturb();
            self.now.placed.clear();
            self.has_before = false;
            return;
        }
        let Self { now, before, .. } = self;
        if !now.is(&planner.placed, &planner.planned_ways) {
            core::mem::swap(now, before);
            self.has_before = true;
            now.placed.clone_from(&planner.placed);
            now.ways.clone_from(&planner.planned_ways);
            now.promised = planner.promised_gain();
        }
        now.settled = settled;
        now.seen.clear();
        self.make_room(planner.placed.len());
    }

    /// Reserves memory for this many programs, so that nothing is allocated later.
    fn make_room(&mut self, programs: usize) {
        let Self { now, before, situations, best_ipc, best_before, .. } = self;
        for plan in [now, before] {
            plan.seen.reserve(programs.saturating_sub(plan.seen.len()));
            plan.placed.reserve(programs.saturating_sub(plan.placed.len()));
            plan.ways.reserve(programs.saturating_sub(plan.ways.len()));
        }
        for best in [best_ipc, best_before] {
            best.reserve(programs.saturating_sub(best.len()));
        }
        situations.resize_with(MOST_SITUATIONS, Situation::default);
        for Situation { phases, .. } in situations {
            phases.reserve(programs.saturating_sub(phases.len()));
        }
    }

    /// Windows from now on do not show the plan.
    pub(crate) const fn disturb(&mut self) {
        self.now.settled = None;
    }

    /// Adds a window of a program in normal operation.
    pub(crate) fn add(&mut self, at: Time, sample: &Sample, phase: u32) {
        let is_shown = self.now.settled.is_some_and(|from| at >= from.after(sample.window));
        if is_shown && !sample.straddled {
            self.now.add(sample, phase);
        }
    }

    /// Moves the present combination of phases to the front, and returns whether it is unchanged.
    /// If it is not, the measurements of the combination before are dropped.
    fn turn_to(&mut self, p: &Parameters, learners: &[LearnedProgram]) -> bool {
        if self.situations.is_empty() {
            return false;
        }
        let place = self.place(p, learners).unwrap_or_else(|| {
            let last = self.situations.len() - 1;
            let situation = &mut self.situations[last];
            (situation.doubt, situation.is_tried) = (0, false);
            situation.phases.clear();
            situation.phases.extend(learners.iter().map(|one| (one.app, phase(p, one))));
            last
        });
        self.situations[..=place].rotate_right(1);
        if place > 0 {
            self.now.seen.clear();
            (self.has_before, self.is_trial) = (false, false);
        }
        place == 0
    }

    /// The place of the present combination of phases.
    fn place(&self, p: &Parameters, learners: &[LearnedProgram]) -> Option<usize> {
        self.situations.iter().position(|situation| {
            situation.phases.len() == learners.len()
                && situation.phases.iter().zip(learners).all(|(&(app, number), learner)| {
                    (app, number) == (learner.app, phase(p, learner))
                })
        })
    }

    /// The plan in force, and the one before it.
    fn plans(&self) -> impl Iterator<Item = &JudgedPlan> {
        core::iter::once(&self.now).chain(self.has_before.then_some(&self.before))
    }

    /// The error of estimates in the present phases, in units of 2^-32.
    pub(crate) fn doubt(&self, p: &Parameters, learners: &[LearnedProgram]) -> u64 {
        self.place(p, learners).map_or(0, |place| self.situations[place].doubt)
    }

    /// Whether a program ran faster, by more than one part in `OTHER_PHASE`, than the best that was
    /// known of it before the plan was made.
    fn are_faster_than_known(&self) -> bool {
        self.best_ipc.iter().zip(&self.best_before).any(|((_, _, now), (_, _, before))| {
            now.raw() > before.raw().saturating_add(before.raw() / OTHER_PHASE)
        })
    }

    /// Records that a plan promised this gain and lost that: estimates err by both together.
    fn note(&mut self, promised: u64, lost: u64) {
        let situation = &mut self.situations[0];
        situation.doubt = situation.doubt.max(promised.saturating_add(lost));
    }
}

/// The phase in which a program is judged; one for all if its phases are so short that a plan is
/// measured in many of them.
pub(crate) fn phase(p: &Parameters, learner: &LearnedProgram) -> u32 {
    learner.phase(p.decision_period.saturating_mul(MEASURED) / 2)
}

/// The outcome of a plan by its programs' cycles per instruction; `None` if one was not seen.
fn outcome(
    objective: Objective,
    planner: &Planner,
    best_ipc: &[(AppId, u32, Q32)],
    plan: &JudgedPlan,
    least: Duration,
) -> Option<Outcome> {
    let mut outcome = Outcome::NONE;
    for &(app, phase, best) in best_ipc {
        let cpi = plan.cpi((app, phase), least)?;
        let wish = &planner.known.iter().find(|program| program.app == app)?.wish;
        let slowdown = (u128::from(cpi.raw()) * u128::from(best.raw())) >> 32;
        let slowdown = u64::try_from(slowdown).unwrap_or(u64::MAX).max(1);
        let weight = objective.weight(wish.importance);
        if wish.best_effort {
            outcome.add_best_effort(slowdown, weight);
        } else {
            outcome.add(slowdown, weight);
        }
    }
    Some(outcome)
}

impl Fairways {
    /// Judges the current plan if enough was seen of it; returns whether another plan was made.
    pub(super) fn judge_plan(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) -> bool {
        let Some(llc) = self.running.llc() else { return false };
        if !self.judge.turn_to(&self.parameters, &self.learners) {
            return false;
        }
        let is_settled = !self.judge.has_before && self.judge.situations[0].is_tried;
        if is_settled && !self.judge.is_trial {
            return false;
        }
        let Some([Some(now), before]) = self.measured(&llc) else {
            if !self.judge.is_trial || at < self.judge.trial_ends {
                return false;
            }
            self.judge.is_trial = false;
            self.judge.situations[0].is_tried = true;
            return self.take_back(at, &llc, UNSEEN, act);
        };
        let p = &self.parameters;
        let tolerance = p.fairness_tolerance_percent;
        if self.judge.is_trial {
            self.judge.is_trial = false;
            self.judge.situations[0].is_tried = true;
            if self.judge.are_faster_than_known() {
                return self.take_back(at, &llc, ENDED, act);
            }
            let estimated = &self.judge.estimated;
            let error = p.objective.gain(estimated, &now).max(p.objective.gain(&now, estimated));
            self.judge.error = Some(error);
            let Some(before) = before else { return false };
            self.judge.has_before = false;
            if p.objective.is_better_within(tolerance, &before, &now) {
                // No partitioning stays.
                let lost = p.objective.gain(&before, &now);
                self.judge.note(self.judge.before.promised, lost);
                return false;
            }
            return self.take_back(at, &llc, BETTER, act);
        }
        if core::mem::take(&mut self.judge.has_before) {
            let Some(before) = before else { return false };
            let percent = (1 << 32) / 100;
            let lost = p.objective.gain(&now, &before);
            if lost > NOISE_PERCENT * percent
                && p.objective.is_better_within(tolerance, &now, &before)
            {
                let promised = self.judge.now.promised;
                self.judge.note(promised, lost);
                return self.take_back(at, &llc, BETTER, act);
            }
        }
        self.try_no_partitioning(at, &llc, &now, act)
    }

    /// The outcome under the current plan and the one before it; `None` if a program is not known
    /// yet.
    fn measured(&mut self, llc: &Llc) -> Option<[Option<Outcome>; 2]> {
        let Self { learners, planner, judge, parameters: p, running, .. } = self;
        if learners.len() != running.programs().len() {
            return None;
        }
        let least = p.decision_period.saturating_mul(MEASURED);
        judge.best_ipc.clear();
        for learner in learners.iter() {
            if learner.first_windows > 0 || !learner.is_seen() {
                return None;
            }
            let best = p.reference.ipc(&learner.profile.as_ref()?.ipc, llc.ways);
            let here = (learner.app, phase(p, learner));
            // If a program ran faster than its curves say, its best is that.
            let faster = judge.plans().filter_map(|plan| plan.cpi(here, least));
            let faster = faster.map(|cpi| Q32::ratio(1 << 32, cpi.raw().max(1)));
            let best = faster.fold(best, Q32::max);
            judge.best_ipc.push((here.0, here.1, best));
        }
        let mut plans =
            judge.plans().map(|plan| outcome(p.objective, planner, &judge.best_ipc, plan, least));
        Some([plans.next().flatten(), plans.next().flatten()])
    }

    /// Tries no partitioning, unless the plan is clearly better, or the trial would take too much
    /// time or too much of a phase.
    fn try_no_partitioning(
        &mut self,
        at: Time,
        llc: &Llc,
        now: &Outcome,
        act: &mut dyn FnMut(Action<'_>),
    ) -> bool {
        let p = &self.parameters;
        let takes = p.decision_period.saturating_mul(SETTLING + MEASURED);
        let lasts = takes.saturating_mul(LASTING).as_nanos();
        let is_due = !self.judge.situations[0].is_tried
            && self.planner.planned_ways.len() > 1
            && self.planner.promises.is_empty()
            && self.learners.iter().all(|one| {
                phase(p, one) == ALL_PHASES
                    || one.phases_last().is_none_or(|of| u128::from(of) >= lasts)
            });
        let Some(since) = self.learning_since.filter(|_| is_due) else { return false };
        let allowed = at.since(since).as_nanos() / TRIED_PART + u128::from(FIRST_NANOS);
        if u128::from(self.judge.tried_nanos) > allowed {
            return false;
        }
        let limits = Planner::limits(p, llc);
        let Some((whole, gain)) = self.planner.gain_over_one_cluster(p, limits) else {
            return false;
        };
        let clearly = self.judge.error.map(|error| (2 * error).clamp(LEAST_CLEARLY, CLEARLY));
        if p.objective.gain(&whole, now) >= clearly.unwrap_or(CLEARLY) {
            return false;
        }
        self.judge.now.promised = gain;
        self.judge.estimated = whole;
        self.judge.best_before.clone_from(&self.judge.best_ipc);
        self.planner.leave_one_cluster(self.running.programs(), limits);
        let nanos = u64::try_from(takes.as_nanos()).unwrap_or(u64::MAX);
        self.judge.tried_nanos = self.judge.tried_nanos.saturating_add(nanos);
        self.judge.trial_ends = at.after(takes.saturating_mul(PATIENCE));
        self.judge.is_trial = true;
        self.make_plan(at, Some(TRIED), act);
        true
    }

    /// Returns to the plan before.
    fn take_back(
        &mut self,
        at: Time,
        llc: &Llc,
        reason: &'static str,
        act: &mut dyn FnMut(Action<'_>),
    ) -> bool {
        let plan = &self.judge.before;
        let limits = Planner::limits(&self.parameters, llc);
        if !self.planner.go_back((&plan.placed, &plan.ways), self.running.programs(), limits) {
            return false;
        }
        self.make_plan(at, Some(reason), act);
        self.judge.has_before = false;
        true
    }
}
