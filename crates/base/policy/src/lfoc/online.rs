//! Between normal operation and sampling mode, and back (§4.2).

use alloc::boxed::Box;

use fairways_core::{Action, AppId, Llc, Partition, PlanId, Sample, Time, WayMask};

use super::Lfoc;
use super::announce::{UNKNOWN, withdraw_division};
use super::classify::Evidence;
use super::monitor::Learner;
use super::sampling::{SamplingSession, SamplingStep};
use crate::running::leave_unpartitioned;

/// A sampling that was given up is put off for at most this many warm-ups.
const MOST_PUT_OFF: u32 = 32;

impl Lfoc {
    /// A window ended.
    pub(super) fn sampled(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        if !self.fits(sample, act) {
            return;
        }
        if self.session.as_ref().is_some_and(|session| session.app == sample.app) {
            self.sample(sample, act);
            return;
        }
        let sampling = self.session.is_some();
        let p = &self.parameters;
        let Some(learner) = self.learners.get_mut(sample.app) else {
            // What a program does while another is sampled says nothing about it.
            if !sampling {
                self.hold_against_profile(sample, act);
            }
            return;
        };
        let waiting = self.queue.contains(&sample.app);
        if learner.warm_up > 0 || learner.class.is_none() {
            learner.warm_up = learner.warm_up.saturating_sub(1);
            if learner.warm_up > 0 || waiting {
                return;
            }
        } else {
            // What a program does while another is sampled says nothing about its class.
            if sampling || waiting {
                return;
            }
            let Some(signal) = learner.observe(p, sample) else { return };
            self.running.announce_changing(sample.app, &signal, act);
        }
        self.queue.push_back(sample.app);
        if !sampling {
            self.go_on(act);
        }
    }

    /// A window of a program with a profile ended. If the program is another one than its profile
    /// says, it is of unknown class from now on, and is sampled (decision LFOC 24).
    fn hold_against_profile(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters: p, running, sets, learners, watched, queue, .. } = self;
        let (app, Some(llc)) = (sample.app, running.llc()) else { return };
        let own = running.mask_of(app).map_or(llc.ways.get(), WayMask::count);
        let program = running.programs().iter().find(|program| program.app == app);
        let Some(profile) = program.and_then(|program| program.profile.as_deref()) else { return };
        if !watched.is_unlike(profile, sample, own, p.averaged_periods) {
            return;
        }
        running.drop_profile(app);
        watched.retain(|watched| watched != app);
        sets.forget(app);
        sets.learn(p, &llc, app, None);
        let reason = "not as its profile says; to be sampled";
        running.announcer(act).announce_class(app, UNKNOWN, reason);
        let place = learners.0.partition_point(|learner| learner.app < app);
        learners.0.insert(place, Learner::to_be_sampled(app, p));
        queue.push_back(app);
        self.go_on(act);
    }

    /// A window of the program that is being sampled ended.
    fn sample(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let others = self.running.programs().len() - 1;
        let (Some(llc), Some(session)) = (self.running.llc(), &mut self.session) else { return };
        let largest = SamplingSession::largest(&llc, others);
        // A machine may have given the program more or fewer ways than planned.
        let ways = self.running.deviating_ways(session.app).unwrap_or(session.ways);
        match session.add_window(&self.parameters, sample, ways, largest) {
            SamplingStep::Wait => {}
            SamplingStep::Grow => {
                session.grow(largest);
                self.replan(act);
            }
            SamplingStep::Stop(by) => self.finish(&llc, by, act),
        }
    }

    /// Ends a sampling that was completed.
    fn finish(&mut self, llc: &Llc, by: Evidence, act: &mut dyn FnMut(Action<'_>)) {
        let Some(session) = self.leave() else { return };
        let Self { parameters: p, running, learners, .. } = self;
        let (app, result) = (session.app, session.finish(p, llc));
        if let Some(learner) = learners.get_mut(app) {
            if let Some((class, sampled)) = result {
                running.announce_class(p, llc.ways, app, (class, by, sampled.known(p)), act);
                learner.set_class(class, sampled, p);
            } else {
                running.announce_unchanged(app, learner.class, act);
            }
        }
        self.relearn(llc, app);
        self.watch(app, self.parameters.normal_window, act);
        self.go_on(act);
    }

    /// Puts a program into the set of its sampled class.
    fn relearn(&mut self, llc: &Llc, app: AppId) {
        let Self { parameters: p, sets, learners, .. } = self;
        let sampled = learners.get(app).and_then(|learner| learner.sampled.as_ref());
        let known = sampled.map(|sampled| sampled.known(p));
        sets.forget(app);
        sets.learn(p, llc, app, known);
    }

    /// Gives up a sampling that can't go on. The program keeps its class, and is sampled again
    /// after another warm-up, twice as long each time (decision LFOC 18).
    fn give_up(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(app) = self.leave().map(|session| session.app) else { return };
        if let Some(learner) = self.learners.get_mut(app) {
            let put_off = 1 << learner.given_up.min(MOST_PUT_OFF.ilog2());
            learner.warm_up = self.parameters.warm_up_intervals.max(1).saturating_mul(put_off);
            learner.given_up += 1;
            self.running.announce_unchanged(app, learner.class, act);
        }
        self.watch(app, self.parameters.normal_window, act);
        self.go_on(act);
    }

    /// Leaves sampling mode, however it ends: the lines of all programs have moved.
    pub(super) fn leave(&mut self) -> Option<Box<SamplingSession>> {
        let session = self.session.take()?;
        for learner in &mut self.learners.0 {
            learner.disturb(&self.parameters);
        }
        Some(session)
    }

    /// Adapts to another cache: samples of a cache with another number of ways are void, and a
    /// sampling under way begins again.
    pub(super) fn resample(&mut self, llc: &Llc, act: &mut dyn FnMut(Action<'_>)) {
        if let Some(session) = self.leave() {
            // It may have to wait until the cache changes again.
            self.watch(session.app, self.parameters.normal_window, act);
            self.queue.push_front(session.app);
        }
        for index in 0..self.learners.0.len() {
            let learner = &mut self.learners.0[index];
            let app = learner.app;
            let ways = llc.ways.get() as usize;
            if learner.sampled.as_ref().is_some_and(|sampled| sampled.ipc.values().len() != ways) {
                learner.sampled = None;
                learner.class = None;
                let reason = "the cache is another one; to be sampled on it";
                self.running.announcer(act).announce_class(app, UNKNOWN, reason);
            }
            self.relearn(llc, app);
        }
    }

    /// Goes on with the next program that waits to be sampled, or with normal operation, and plans.
    pub(super) fn go_on(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Some(llc) = self.running.llc() else { return };
        // No program is to be sampled, or they wait until the machine changes.
        if self.learners.0.is_empty() || !SamplingSession::is_possible(&llc) {
            self.replan(act);
            return;
        }
        let others = self.running.programs().len().saturating_sub(1);
        match &self.session {
            // Another program started while this one had the whole cache, which was the last size.
            Some(session) if session.ways > SamplingSession::largest(&llc, others) => {
                self.finish(&llc, Evidence::EverySize, act);
                return;
            }
            Some(_) => {}
            None => {
                let next = self.queue.pop_front();
                self.session = next.map(|app| Box::new(SamplingSession::new(app, &llc)));
            }
        }
        self.replan(act);
    }

    /// Plans, for sampling mode or by Algorithm 1.
    fn replan(&mut self, act: &mut dyn FnMut(Action<'_>)) {
        let Self { parameters: p, running, sets, clustering, learners, session, .. } = self;
        self.is_overdue = false;
        if let Some(session) = session {
            clustering.forget_division();
            self.plan = running.plan(act, |llc, programs, partition, announcer| {
                withdraw_division(&sets.sensitive, announcer);
                session.plan(llc, programs, partition)
            });
            if session.plan.is_some() {
                // Other programs came or went. Windows go on; otherwise, programs that come and go
                // faster than a window lasts would put sampling off for ever.
                session.has_joined = true;
                return;
            }
            session.plan = self.plan;
            self.is_divided = true;
            let (app, window) = (session.app, p.sampling_window);
            self.watch(app, window, act);
            return;
        }
        self.plan = running.change_plan(act, |llc, programs, partition, announcer| {
            // A program of which something is learned may have been announced again since.
            if learners.0.is_empty()
                && let Some(reason) = clustering.place_again(p, llc, sets, partition)
            {
                return reason;
            }
            partition.clear();
            clustering.cluster(p, llc, (programs, sets, learners), partition, announcer)
        });
    }

    /// Handles the report of what the machine made of a plan: the learners have these ways now.
    pub(super) fn applied(
        &mut self,
        plan: PlanId,
        actual: &Partition,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        if self.plan != Some(plan) || self.learners.0.is_empty() {
            return;
        }
        self.running.applied(plan, actual);
        let Self { parameters: p, running, learners, session, .. } = self;
        if let Some(session) = session {
            // What a program does with ways that it shares says nothing about a number of ways.
            if running.shares_its_ways(session.app) {
                self.give_up(act);
            }
            return;
        }
        for place in running.partition().placements() {
            if let Some(learner) = learners.get_mut(place.app) {
                learner.set_mask(running.mask_of(place.app).unwrap_or_default(), p);
            }
        }
    }

    /// The decision that falls due every `decision_period`. It makes no plan if nothing that a plan
    /// depends on has changed since the last one.
    pub(super) fn decide(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        act(Action::Wake { at: at.after(self.parameters.decision_period) });
        if let Some(session) = &mut self.session {
            session.silent += 1;
            if session.silent > self.parameters.sampling_patience {
                self.give_up(act);
            }
        } else if self.is_overdue {
            self.replan(act);
        }
    }

    /// A plan could not be carried out.
    pub(super) fn refused(&mut self, plan: PlanId, act: &mut dyn FnMut(Action<'_>)) {
        if self.plan != Some(plan) {
            return;
        }
        if self.session.is_some() {
            self.give_up(act);
            return;
        }
        for learner in &mut self.learners.0 {
            learner.disturb(&self.parameters);
        }
        if core::mem::take(&mut self.is_divided) {
            // No program is to be left with the ways that a sampling partition could spare. One
            // cluster requires the least of a machine.
            let sensitive = &self.sets.sensitive;
            self.clustering.forget_division();
            self.plan = self.running.plan(act, |llc, programs, partition, announcer| {
                leave_unpartitioned(llc, programs, partition);
                withdraw_division(sensitive, announcer);
                "one cluster with every way until a plan after sampling is accepted"
            });
        }
        // The next decision tries again.
        self.is_overdue = true;
    }
}
