//! What the policy does with what it observes: it adds windows to the curves, decides anew when they
//! have changed, and samples the program with most at stake.
//!
//! The stake of a program is how slow it could be under the plan, if it gained as much from more
//! ways as it possibly can. If it could be slower than the slowest, it is sampled; if it could not,
//! the plan would be the same whatever sampling found.

use fairways_core::{Action, AppId, Llc, PlanId, Q32, Sample, Time, WayMask, WindowLength};

use super::Fairways;
use super::session::{Growth, GrowthStep};

/// The time that sampling may take whatever share of the time it is.
const FIRST_NANOS: u64 = 1_000_000_000;

/// A sampling that was given up is put off for at most 2^5 decisions.
const MOST_GIVEN_UP: u32 = 5;

impl Fairways {
    /// Requests windows of a program.
    pub(super) fn watch(&self, app: AppId, every: WindowLength, act: &mut dyn FnMut(Action<'_>)) {
        act(Action::Watch { app, every });
    }

    fn watch_normally(&self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        self.watch(app, WindowLength::Instructions(self.parameters.normal_window), act);
    }

    /// A window ended.
    pub(super) fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let alone = self.ways_alone(sample.app);
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
                self.decide(at, false, act);
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

    /// A window of the program that is being sampled ended.
    fn go_on(&mut self, at: Time, occupancy: Option<Q32>, act: &mut dyn FnMut(Action<'_>)) {
        let Some(session) = &mut self.session else { return };
        let app = session.app;
        let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) else {
            return;
        };
        let step = session.observe(&self.parameters, occupancy);
        if step == GrowthStep::Grow {
            session.grow();
            self.divide(act);
            return;
        }
        if step == GrowthStep::Complete {
            learner.set_sampled();
        }
        if step == GrowthStep::Complete
            || learner.observed().least_cpi() > Some(session.cpi_of_interest)
        {
            self.leave(at);
            self.watch_normally(app, act);
            self.decide(at, false, act);
        }
    }

    /// The alarm rang.
    pub(super) fn wake(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        act(Action::Wake { at: at.after(self.parameters.decision_period) });
        for learner in &mut self.learners {
            learner.put_off = learner.put_off.saturating_sub(1);
        }
        match self.session {
            // Its windows do not come.
            Some(session) if at.since(session.began) > 4 * self.parameters.decision_period => {
                self.give_up(at, act);
            }
            Some(_) => {}
            None => self.decide(at, false, act),
        }
    }

    /// Plans, or samples the program with most at stake first. `is_due`: other programs run, or the
    /// machine has changed.
    pub(super) fn decide(&mut self, at: Time, is_due: bool, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        if self.session.is_some() {
            self.divide(act);
            return;
        }
        let Self { parameters: p, running, planner, learners, .. } = self;
        // Profiles that nothing else has are brought up to date in place.
        planner.known.clear();
        let mut has_changed = is_due || self.is_divided;
        for learner in &mut *learners {
            has_changed |= learner.refresh(llc.ways);
        }
        let ready = learners.iter().any(|learner| learner.put_off == 0);
        if !has_changed && !ready {
            return;
        }
        for program in running.programs() {
            let mut program = program.clone();
            if program.profile.is_none() {
                let learner = learners.iter().find(|learner| learner.app == program.app);
                program.profile = learner.and_then(|learner| learner.profile.clone());
            }
            if program.profile.is_some() {
                planner.known.push(program);
            }
        }
        let is_another = has_changed && planner.decide(p, &llc, running.programs());
        if let Some((app, cpi)) = self.next_sample(at, &llc) {
            self.begin(at, &llc, app, cpi, act);
            return;
        }
        if is_due || is_another || self.is_divided {
            let Self { parameters: p, running, planner, .. } = self;
            self.plan = running.plan(act, |llc, programs, partition, announcer| {
                planner.fill(p, llc, programs, partition, announcer)
            });
            self.is_divided = false;
        }
    }

    /// The program to sample. It is of interest as long as it could take fewer cycles per
    /// instruction than the number beside it.
    fn next_sample(&self, at: Time, llc: &Llc) -> Option<(AppId, Q32)> {
        let since = at.since(self.learning_since?);
        let allowed = since.as_nanos() * u128::from(self.parameters.sampling_percent) / 100;
        if llc.max_clusters() < 2
            || self.running.programs().len() < 2
            || u128::from(self.sampled_nanos) > allowed + u128::from(FIRST_NANOS)
        {
            return None;
        }
        let known = || self.planner.known.iter().zip(&self.planner.slowdowns);
        let slowest = known().map(|(_, &slowdown)| slowdown).max()?;
        let bound = u128::from(slowest) * u128::from(100 + self.parameters.stake_percent) / 100;
        let stakes = known().filter_map(|(program, &slowdown)| {
            let learner = self.learners.iter().find(|learner| learner.app == program.app)?;
            let best_ipc = self.parameters.reference.ipc(&program.profile.as_ref()?.ipc, llc.ways);
            let planned = u128::from(Q32::ratio(slowdown, best_ipc.raw()).raw());
            let least = u128::from(learner.observed().least_cpi()?.raw().max(1));
            let possible = (planned << 32) / least;
            let of_interest = u64::try_from((planned << 32) / u128::from(slowest.max(1)));
            (learner.put_off == 0 && !learner.observed().is_sampled && possible > bound)
                .then_some((possible, program.app, Q32::from_raw(of_interest.unwrap_or(u64::MAX))))
        });
        let most = stakes.max_by_key(|&(possible, app, _)| (possible, core::cmp::Reverse(app)));
        most.map(|(_, app, of_interest)| (app, of_interest))
    }

    /// Begins to sample a program.
    fn begin(
        &mut self,
        at: Time,
        llc: &Llc,
        app: AppId,
        cpi_of_interest: Q32,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let learner = self.learners.iter().find(|learner| learner.app == app);
        let range = learner.and_then(|learner| learner.observed().range());
        self.session = Some(Growth::new(app, llc, at, range, cpi_of_interest));
        self.divide(act);
        self.watch(app, WindowLength::Time(self.parameters.sampling_window), act);
    }

    /// Plans for the program that is being sampled.
    fn divide(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(session) = &mut self.session else { return };
        self.plan = self
            .running
            .plan(act, |llc, programs, partition, _| session.plan(llc, programs, partition));
        session.plan = self.plan;
        self.is_divided = true;
    }

    /// Ends a sampling.
    pub(super) fn leave(&mut self, at: Time) {
        let Some(session) = self.session.take() else { return };
        let nanos = u64::try_from(at.since(session.began).as_nanos()).unwrap_or(u64::MAX);
        self.sampled_nanos = self.sampled_nanos.saturating_add(nanos);
    }

    /// Gives up a sampling that can't go on, and puts it off, twice as long each time.
    fn give_up(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Some(app) = self.sampling() else { return };
        self.leave(at);
        if let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == app) {
            learner.put_off = 4 << learner.given_up.min(MOST_GIVEN_UP);
            learner.given_up += 1;
        }
        self.watch_normally(app, act);
        self.decide(at, false, act);
    }

    /// A plan could not be carried out.
    pub(super) fn refused(&mut self, at: Time, plan: PlanId, act: &mut dyn FnMut(Action<'_>)) {
        if self.plan != Some(plan) {
            return;
        }
        if self.session.is_some() {
            self.give_up(at, act);
        } else {
            // The next decision tries again.
            self.is_divided = self.learning_since.is_some();
        }
    }
}
