//! Windows change the curves of programs; the policy decides when they have changed, and samples
//! the program with most at stake.

use core::time::Duration;

use fairways_core::{Action, AppId, Llc, Sample, Time, WayMask, WindowLength};

use super::Fairways;
use super::learner::LearnedProgram;
use super::parameters::Parameters;
use super::planner::Knowledge;
use crate::running::Change;

impl Fairways {
    /// Requests windows of normal operation.
    pub(super) fn watch_normally(&self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let every = WindowLength::Instructions(self.parameters.normal_window);
        act(Action::Watch { app, every });
    }

    /// A window ended.
    pub(super) fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let alone = if sample.occupancy.is_none() { self.ways_alone(sample.app) } else { None };
        let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == sample.app)
        else {
            return;
        };
        let occupancy = learner.add(sample, alone);
        let is_first = learner.first_windows > 0;
        learner.first_windows = learner.first_windows.saturating_sub(1);
        let is_known_now = is_first && learner.first_windows == 0;
        if self.sampling() == Some(sample.app) {
            self.go_on(at, occupancy, act);
        } else if is_known_now {
            self.watch_normally(sample.app, act);
            if self.session.is_none() {
                self.decide(at, None, act);
            }
        }
    }

    /// The ways that a program has for itself; `None` if it shares them.
    fn ways_alone(&self, app: AppId) -> Option<u32> {
        let own = self.running.mask_of(app)?;
        let mut others = self.running.programs().iter().filter(|program| program.app != app);
        let shares = others
            .any(|program| self.running.mask_of(program.app).unwrap_or_default().overlaps(own));
        (!shares).then_some(WayMask::count(own))
    }

    /// The alarm rang.
    pub(super) fn wake(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        act(Action::Wake { at: at.after(self.parameters.decision_period) });
        for learner in &mut self.learners {
            learner.put_off = learner.put_off.saturating_sub(1);
        }
        match self.session {
            // Its windows do not come.
            Some(session) if at.since(session.last_window) > self.patience() => {
                self.give_up(at, act);
            }
            Some(_) => {}
            None => self.decide(at, None, act),
        }
    }

    /// How long a window of the program that is being sampled may take.
    fn patience(&self) -> Duration {
        let Parameters { decision_period, sampling_window, .. } = self.parameters;
        decision_period.max(sampling_window).saturating_mul(4)
    }

    /// Plans, or samples the program with most at stake first, after a change or on what was
    /// observed.
    pub(super) fn decide(
        &mut self,
        at: Time,
        change: Option<Change>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let Some(llc) = self.running.llc() else { return };
        if change.is_some() {
            self.planner.promises.admit(&llc, self.running.programs());
        }
        if let Some(session) = &self.session {
            if session.fits(self.sizes(session.app, &llc)) {
                if change.is_some() {
                    self.divide(act);
                }
                return;
            }
            self.stop(at, act);
        }
        let are_others = change.is_some_and(|change| !matches!(change, Change::Wish { .. }));
        let is_new = change.is_some()
            || self.is_divided
            || self.learners.iter().any(LearnedProgram::is_news);
        let is_another = is_new && self.reconsider(&llc);
        // What ends now may begin again at once: sampling waits for the next decision.
        let next = if change.is_none() { self.next_sample(at, &llc) } else { None };
        if let Some(next) = next {
            self.begin(at, &llc, next, act);
        } else if are_others || is_another || self.is_divided {
            let Self { parameters: p, running, planner, .. } = self;
            self.plan = running.plan(act, |llc, programs, partition, announcer| {
                planner.fill(p, llc, programs, partition, announcer)
            });
            self.was_divided = core::mem::take(&mut self.is_divided);
        }
    }

    /// Decides on a plan by all that is known; `true` if the plan has changed.
    fn reconsider(&mut self, llc: &Llc) -> bool {
        let Self { parameters: p, running, planner, learners, .. } = self;
        // Profiles that nothing else has are brought up to date in place.
        planner.known.clear();
        planner.knowledge.clear();
        for program in running.programs() {
            let mut program = program.clone();
            let mut knowledge = Knowledge::Profiled;
            if program.profile.is_none() {
                let learner = learners.iter_mut().find(|learner| learner.app == program.app);
                let Some(learner) = learner else { continue };
                learner.refresh(llc.ways);
                knowledge = Knowledge::Observed;
                if learner.first_windows > 0 || !learner.is_seen() {
                    // It must not share what was promised to others.
                    if planner.promises.is_empty() {
                        continue;
                    }
                    learner.assume(llc.ways);
                    knowledge = Knowledge::Assumed;
                }
                program.profile.clone_from(&learner.profile);
            }
            planner.known.push(program);
            planner.knowledge.push(knowledge);
        }
        planner.decide(p, llc, running.programs())
    }
}
