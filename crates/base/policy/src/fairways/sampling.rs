//! Decides which program is sampled, and when sampling begins and ends.
//!
//! The stake of a program is its slowdown under the plan if it gained as much from more ways as it
//! possibly can. If that could exceed the largest slowdown, the program is sampled. Otherwise the
//! plan would be the same whatever sampling found.

use fairways_core::{Action, AppId, Llc, PlanId, Q32, Sample, Time, WindowLength};

use super::Fairways;
use super::session::{Growth, GrowthStep};
use crate::running::leave_unpartitioned;

/// The time that sampling may take beyond its share of the time, in nanoseconds.
pub(super) const FIRST_NANOS: u64 = 1_000_000_000;

/// Each time a sampling is given up, it is put off for twice as many decisions, at most this many
/// times: from 4 to 4 times 2^5, or from `FOR_LONG`.
const MOST_GIVEN_UP: u32 = 5;

/// For this many decisions a program is not sampled again if it turned out not to be of interest,
/// or did not fill its partition in time.
const FOR_LONG: u32 = 40;

/// For this many decisions a program is not sampled again if its phase changed during sampling.
const AGAIN: u32 = 4;

/// A sampling that may take longer needs this many times the stake. With 8, as it may take 8 times
/// as long, mixes on the model were sampled a tenth longer in all, and were no fairer.
const STAKE_IF_LONG: u128 = 24;

const UNPARTITIONED_YET: &str =
    "one cluster with every way until a plan after sampling is accepted";

impl Fairways {
    /// The program to sample, and its CPI of interest: it is of interest as long as it could take
    /// fewer cycles per instruction than that.
    pub(super) fn next_sample(&self, at: Time, llc: &Llc) -> Option<(AppId, Q32)> {
        let since = at.since(self.learning_since?);
        let allowed = since.as_nanos() * u128::from(self.parameters.sampling_percent) / 100;
        let sampled = u128::from(self.sampled_nanos);
        if sampled > allowed + u128::from(FIRST_NANOS) {
            return None;
        }
        // Nothing shows how it would behave with other ways.
        let of_unknown_size = self.learners.iter().find(|learner| {
            learner.put_off == 0
                && learner.is_of_unknown_size()
                && !self.bandwidth.is_limited(learner.app)
                && self.sizes(learner.app, llc).is_some()
        });
        if let Some(learner) = of_unknown_size {
            return Some((learner.app, Q32::from_raw(u64::MAX)));
        }
        // A long sampling waits until it is within the share of the time.
        let may_take_long = sampled + Growth::longest(&self.parameters).as_nanos() <= allowed;
        let slowest = self.planner.slowdowns.iter().copied().max()?;
        let stake = u128::from(self.parameters.stake_percent);
        let known = self.planner.known.iter().zip(&self.planner.slowdowns);
        let stakes = known.filter_map(|(program, &slowdown)| {
            let learner = self.learners.iter().find(|learner| learner.app == program.app)?;
            let best_ipc = self.parameters.reference.ipc(&program.profile.as_ref()?.ipc, llc.ways);
            let planned = u128::from(Q32::ratio(slowdown, best_ipc.raw()).raw());
            let least = u128::from(learner.observed().least_cpi(llc.ways)?.raw().max(1));
            let possible = (planned << 32) / least;
            let of_interest = u64::try_from((planned << 32) / u128::from(slowest.max(1)));
            let is_long = learner.observed().is_unfinished;
            let times = if is_long { STAKE_IF_LONG } else { 1 };
            let bound = u128::from(slowest) * (100 + stake * times) / 100;
            let may_be = learner.put_off == 0
                && !learner.observed().is_sampled
                && (may_take_long || !is_long)
                && !self.bandwidth.is_limited(program.app);
            (may_be && possible > bound && self.sizes(program.app, llc).is_some()).then_some((
                possible,
                program.app,
                Q32::from_raw(of_interest.unwrap_or(u64::MAX)),
            ))
        });
        let most = stakes.max_by_key(|&(possible, app, _)| (possible, core::cmp::Reverse(app)));
        most.map(|(_, app, of_interest)| (app, of_interest))
    }

    /// The sizes of a program's sampling partition.
    pub(super) fn sizes(&self, app: AppId, llc: &Llc) -> Option<(u32, u32)> {
        Growth::sizes(app, llc, self.running.programs(), &self.planner.promises)
    }

    /// Handles the end of a window of the program that is being sampled.
    pub(super) fn go_on(
        &mut self,
        at: Time,
        occupancy: Option<Q32>,
        sample: &Sample,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let Some(session) = &mut self.session else { return };
        let app = session.app;
        let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) else {
            return;
        };
        let Some(llc) = self.running.llc() else { return };
        let held = (occupancy, sample.occupancy_at_least.is_none());
        let step = session.observe(&self.parameters, at, held, sample.counters.llcmpkc());
        if step == GrowthStep::Grow {
            session.grow();
            self.divide(act);
            return;
        }
        let is_over = matches!(step, GrowthStep::Complete | GrowthStep::Unfinished);
        let is_one_phase = session.phase == learner.phases_begun();
        if is_over && is_one_phase {
            learner.set_sampled(step == GrowthStep::Complete);
        } else if is_over {
            // The sizes were seen in more than one phase.
            learner.put_off = AGAIN;
        }
        let is_of_interest =
            learner.observed().least_cpi(llc.ways) <= Some(session.cpi_of_interest);
        if !is_of_interest || step == GrowthStep::Unfinished {
            learner.put_off = FOR_LONG;
            // Sampling did not show its occupancy, so there is no hurry to repeat it.
            if learner.is_of_unknown_size() {
                learner.put_off <<= learner.given_up.min(MOST_GIVEN_UP);
                learner.given_up += 1;
            }
        }
        if is_over || !is_of_interest {
            self.stop(at, act);
            self.decide(at, None, act);
        }
    }

    /// Begins to sample a program.
    pub(super) fn begin(
        &mut self,
        at: Time,
        llc: &Llc,
        next: (AppId, Q32),
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let (app, _) = next;
        let sizes = self.sizes(app, llc);
        let learner = self.learners.iter().find(|learner| learner.app == app);
        self.session = learner.and_then(|learner| {
            Growth::new(next, at, sizes, learner.observed(), learner.phases_begun())
        });
        self.divide(act);
        act(Action::Watch { app, every: WindowLength::Time(self.parameters.sampling_window) });
    }

    /// Makes the plan for the program that is being sampled.
    pub(super) fn divide(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { running, planner, session, bandwidth, judge, .. } = self;
        let Some(session) = session else { return };
        bandwidth.disturb();
        judge.disturb();
        self.plan = running.plan(act, |llc, programs, partition, announcer| {
            let reason = session.plan(llc, programs, &planner.promises, partition);
            bandwidth.limit(llc, partition, announcer);
            reason
        });
        (self.is_divided, self.follows_sampling) = (true, true);
    }

    /// Ends the sampling; its program still runs.
    pub(super) fn stop(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(app) = self.sampling() {
            self.leave(at);
            self.watch_normally(app, act);
        }
    }

    /// Ends the sampling, and adds up its time.
    pub(super) fn leave(&mut self, at: Time) {
        let Some(session) = self.session.take() else { return };
        let nanos = u64::try_from(at.since(session.began).as_nanos()).unwrap_or(u64::MAX);
        self.sampled_nanos = self.sampled_nanos.saturating_add(nanos);
    }

    /// Gives up a sampling that can't go on, and puts it off, twice as long each time.
    pub(super) fn give_up(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(app) = self.sampling() else { return };
        self.stop(at, act);
        if let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) {
            learner.put_off = 4 << learner.given_up.min(MOST_GIVEN_UP);
            learner.given_up += 1;
        }
        self.decide(at, None, act);
    }

    /// Handles a plan that could not be carried out.
    pub(super) fn refused(&mut self, at: Time, plan: PlanId, act: &mut dyn FnMut(Action<'_>)) {
        if self.plan != Some(plan) {
            return;
        }
        if self.session.is_some() {
            self.give_up(at, act);
            return;
        }
        let had_limits = self.bandwidth.refuse(at);
        if core::mem::take(&mut self.was_divided) {
            // No program may be left with only the ways beside a sampling partition. One cluster is
            // the easiest plan for a machine.
            let Self { running, planner, .. } = self;
            self.plan = running.plan(act, |llc, programs, partition, announcer| {
                leave_unpartitioned(llc, programs, partition);
                planner.announce_classes(llc, programs, UNPARTITIONED_YET, announcer);
                UNPARTITIONED_YET
            });
        }
        // The next decision tries again.
        self.is_divided = self.learning_since.is_some() || had_limits;
        self.services.is_refused = self.services.count() > 0;
    }
}
