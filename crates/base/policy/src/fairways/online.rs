//! Windows change the curves of programs. The policy decides when they have changed, and samples
//! the program with the highest stake.

use core::time::Duration;

use fairways_core::{Action, AppId, Llc, Q32, Sample, Time, WayMask, WindowLength};

use super::learner::{ALL_PHASES, LearnedProgram};
use super::parameters::Parameters;
use super::planner::{Knowledge, Outlook};
use super::reasons::{KEPT, KEPT_AFTER_SAMPLING};
use super::{Fairways, judge};
use crate::program::RunningProgram;
use crate::running::Change;

/// After this many windows in which a program did not run, its first windows are over. That many
/// windows last as long as five turns of 20 ms.
const MOST_IDLE: u32 = 100;

/// If phases last this many decision periods, a plan for a new phase is made at once, whatever it
/// gains; otherwise its lines would soon have to move again.
const LASTING: u32 = 2;

/// How many windows in a row must be unlike a program's profile before it is learned again.
const UNLIKE: u32 = 2;

/// The longest time that a plan is assumed to last.
const LONGEST: Duration = Duration::from_secs(60);
const BESIDE_SERVICES: Duration = Duration::from_secs(1);

impl Fairways {
    /// Requests windows of normal operation.
    pub(super) fn watch_normally(&self, app: AppId, act: &mut dyn FnMut(Action<'_>)) {
        let every = WindowLength::Time(self.parameters.normal_window);
        act(Action::Watch { app, every });
    }

    /// Handles the end of a window.
    pub(super) fn sampled(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        // A program that waited for its turn, or slept, measured nothing useful.
        if sample.counters.cycles == Some(0) {
            self.idled(sample, act);
            return;
        }
        let sampled = self.sampling();
        // While the program is filling its ways, short windows may look steady.
        let is_settled = sampled != Some(sample.app)
            && self.learners.iter().any(|one| one.app == sample.app && one.first_windows == 0);
        let needs_own = is_settled || sample.occupancy.is_none();
        let own = if needs_own { self.own_ways(sample.app) } else { None };
        let Some(learner) = self.learners.iter_mut().find(|learner| learner.app == sample.app)
        else {
            self.hold_against_profile(at, sample, act);
            return;
        };
        // Under a limit of bandwidth, a window does not show the program's own behaviour.
        if self.bandwidth.is_limited(sample.app) && learner.first_windows == 0 {
            return;
        }
        let is_first = learner.first_windows > 0;
        let alone = own.filter(|(_, is_alone)| *is_alone).map(|(own, _)| own);
        let occupancy = learner.add(sample, alone);
        if let Some((own, _)) = own.filter(|_| is_settled) {
            learner.reach(own);
        }
        learner.first_windows = learner.first_windows.saturating_sub(1);
        if is_settled {
            self.judge.add(at, sample, judge::phase(&self.parameters, learner));
        }
        let is_known_now = is_first && learner.first_windows == 0;
        let lasting = self.parameters.decision_period.saturating_mul(LASTING);
        let has_turned = learner.first_windows == 0 && learner.take_turn(lasting);
        self.has_turned |= has_turned;
        if sampled == Some(sample.app) {
            self.go_on(at, occupancy, sample, act);
        } else if is_known_now {
            self.watch_normally(sample.app, act);
            if self.session.is_none() {
                self.decide(at, None, act);
            }
        } else if has_turned && self.session.is_none() && !self.bandwidth.is_trying() {
            // The plan was made for another phase.
            self.judge.is_trial = false;
            self.decide(at, None, act);
        }
    }

    /// Handles the end of a window of a program with a profile. If the program behaves differently
    /// from its profile, it is learned from now on.
    fn hold_against_profile(&mut self, at: Time, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let (app, Some(llc)) = (sample.app, self.running.llc()) else { return };
        let own = self.running.mask_of(app).map_or(llc.ways.get(), WayMask::count);
        let program = self.running.programs().iter().find(|program| program.app == app);
        let Some(profile) = program.and_then(|program| program.profile.as_deref()) else { return };
        if self.watched.is_unlike(profile, sample, own, UNLIKE) {
            self.running.drop_profile(app);
            self.learn(at, None, act);
        }
    }

    /// Handles a window in which the program did not run. If that goes on, its first windows are
    /// over, too, as short windows cost time.
    fn idled(&mut self, sample: &Sample, act: &mut dyn FnMut(Action<'_>)) {
        let app = sample.app;
        let learner = self.learners.iter_mut().find(|learner| learner.app == app);
        let Some(learner) = learner else { return };
        learner.idled(sample.occupancy);
        if learner.first_windows == 0 {
            return;
        }
        learner.idle_windows += 1;
        if learner.idle_windows >= MOST_IDLE {
            learner.first_windows = 0;
            self.watch_normally(app, act);
        }
    }

    /// A program's own ways, and whether it has them alone. If it shares them: the part of them
    /// that equals its share of the cluster's lines. `None` if that is not known.
    fn own_ways(&self, app: AppId) -> Option<(Q32, bool)> {
        let mask = self.running.mask_of(app)?;
        let (mut own, mut all) = (1, 1);
        for program in self.running.programs() {
            let other = self.running.mask_of(program.app).unwrap_or_default();
            if program.app == app || !other.overlaps(mask) {
                continue;
            }
            if all == 1 {
                own = self.lines(app)?;
                all = own;
            }
            all += if other == mask { self.lines(program.app)? } else { return None };
        }
        let ways = u128::from(WayMask::count(mask)) << 32;
        let own_ways = u64::try_from(ways * own / all.max(1)).ok()?;
        Some((Q32::from_raw(own_ways), all == 1))
    }

    /// The lines of a program without a profile, in ways times 2^32.
    fn lines(&self, app: AppId) -> Option<u128> {
        let learner = self.learners.iter().find(|learner| learner.app == app)?;
        learner.occupancy.map(|occupancy| occupancy.raw().into())
    }

    /// Sets the first alarm.
    pub(super) fn arm(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        if !core::mem::replace(&mut self.is_armed, true) {
            act(Action::Wake { at: at.after(self.parameters.decision_period) });
        }
    }

    /// Begins to learn the programs that have neither a profile nor an objective, and to watch
    /// those with a profile. A program that has just `started` occupies nothing.
    pub(super) fn learn(
        &mut self,
        at: Time,
        started: Option<AppId>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let Self { running, learners, watched, parameters: p, .. } = self;
        let programs = running.programs();
        watched.retain(|app| programs.iter().any(|one| one.app == app && is_watched(one)));
        for program in programs.iter().filter(|program| is_watched(program)) {
            if watched.begin(program.app) {
                let every = WindowLength::Time(p.normal_window);
                act(Action::Watch { app: program.app, every });
            }
        }
        learners.retain(|learner| {
            running
                .programs()
                .iter()
                .any(|program| program.app == learner.app && is_learned(program))
        });
        let before = learners.len();
        for program in running.programs().iter().filter(|program| is_learned(program)) {
            let app = program.app;
            if !learners.iter().any(|learner| learner.app == app) {
                let occupancy = (started == Some(app)).then(Q32::default);
                learners.push(LearnedProgram::new(app, p.first_windows, occupancy));
                act(Action::Watch { app, every: WindowLength::Time(p.sampling_window) });
            }
        }
        if self.learners.len() > before {
            self.learning_since.get_or_insert(at);
            self.arm(at, act);
        }
        let sampled = self.sampling();
        if sampled.is_some_and(|app| !self.learners.iter().any(|learner| learner.app == app)) {
            self.leave(at);
        }
    }

    /// Handles the alarm.
    pub(super) fn wake(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        act(Action::Wake { at: at.after(self.parameters.decision_period) });
        self.judge_services(at, act);
        for learner in &mut self.learners {
            learner.put_off = learner.put_off.saturating_sub(1);
        }
        match self.session {
            // Its windows do not arrive.
            Some(session) if at.since(session.last_window) > self.patience() => {
                self.give_up(at, act);
            }
            Some(_) => {}
            // While a limit is being tried, nothing else changes.
            None if self.bandwidth.is_trying() => {}
            None => {
                if !self.judge_plan(at, act) {
                    self.decide(at, None, act);
                }
            }
        }
        self.judge_bandwidth(at, act);
    }

    /// How long a window of the program that is being sampled may take.
    fn patience(&self) -> Duration {
        let Parameters { decision_period, sampling_window, .. } = self.parameters;
        decision_period.max(sampling_window).saturating_mul(4)
    }

    /// Makes a plan after a change or after new observations, or first samples the program with the
    /// highest stake.
    pub(super) fn decide(
        &mut self,
        at: Time,
        change: Option<Change>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let Some(llc) = self.running.llc() else { return };
        if change.is_none() && self.judge.is_trial {
            return;
        }
        if change.is_some() {
            self.judge.is_trial = false;
            self.planner.promises.admit(&llc, self.running.programs(), self.services.parties());
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
            || self.services.is_refused
            || self.learners.iter().any(LearnedProgram::is_news);
        let has_turned = core::mem::take(&mut self.has_turned);
        let is_another = is_new && self.reconsider(at, &llc, has_turned);
        // A sampling that has just ended could begin again at once, so it waits for the next
        // decision.
        let next = if change.is_none() { self.next_sample(at, &llc) } else { None };
        if let Some(next) = next {
            self.begin(at, &llc, next, act);
        } else if are_others || is_another || self.is_divided || self.services.is_refused {
            self.make_plan(at, None, act);
        }
    }

    /// Makes the plan that was decided on; `reason` replaces that of its ways, if a level of memory
    /// bandwidth changes, or if a trial begins or a plan is taken back.
    pub(super) fn make_plan(
        &mut self,
        at: Time,
        reason: Option<&'static str>,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        let follows_sampling = core::mem::take(&mut self.follows_sampling);
        let Self { parameters: p, running, planner, services, bandwidth, judge, .. } = self;
        bandwidth.disturb();
        judge.plan_made(at, p, planner);
        self.plan = running.plan(act, |llc, programs, partition, announcer| {
            services.announce(announcer);
            let of_ways =
                planner.fill(p, llc, programs, &bandwidth.limited, (partition, announcer));
            bandwidth.limit(llc, partition, announcer);
            let is_kept = follows_sampling && of_ways == KEPT;
            reason.unwrap_or(if is_kept { KEPT_AFTER_SAMPLING } else { of_ways })
        });
        self.was_divided = core::mem::take(&mut self.is_divided);
    }

    /// Decides on a plan from all that is known; returns whether the plan has changed. If a new
    /// phase has begun, the plan before was made for another one, so any better plan is made.
    fn reconsider(&mut self, at: Time, llc: &Llc, has_turned: bool) -> bool {
        let Self { parameters: p, running, planner, learners, services, judge, .. } = self;
        // Profiles that have no other owner are updated in place.
        planner.known.clear();
        planner.knowledge.clear();
        for program in running.programs() {
            let mut program = program.clone();
            let mut knowledge = Knowledge::Profiled;
            if services.ways_of(program.app).is_some() {
                knowledge = Knowledge::Served;
                program.profile.clone_from(&services.curves);
            } else if program.profile.is_none() {
                let learner = learners.iter_mut().find(|learner| learner.app == program.app);
                let Some(learner) = learner else { continue };
                learner.refresh(llc.ways);
                knowledge = Knowledge::Observed { least_ipc: learner.least_ipc };
                if learner.first_windows > 0 || !learner.is_seen() {
                    // Until it is known, it must not share ways that were promised to others.
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
        let lever = running.levers().and_then(|levers| levers.bandwidth);
        let memory_mbps = lever.and_then(|lever| lever.capacity_mbps);
        let doubt = judge.doubt(p, learners);
        // What has lasted for some time is assumed to last as long again.
        let lived = self.learning_since.map_or(LONGEST, |since| at.since(since));
        let phases = learners.iter().filter(|learner| judge::phase(p, learner) != ALL_PHASES);
        let phases = phases.filter_map(LearnedProgram::phases_last).map(Duration::from_nanos);
        // Beside a service no plan lasts: the service's ways follow its load.
        let longest = if services.count() > 0 { BESIDE_SERVICES } else { LONGEST };
        let lasts = phases.fold(lived.min(longest), Duration::min).max(p.decision_period);
        let outlook = Outlook { memory_mbps, has_turned, doubt, lasts };
        planner.decide(p, llc, running.programs(), &outlook)
    }
}

/// Whether a program has to be learned: it has neither a profile nor an objective.
const fn is_learned(program: &RunningProgram) -> bool {
    program.profile.is_none() && program.wish.objective.is_none()
}

/// Whether a program has to be compared with its profile.
const fn is_watched(program: &RunningProgram) -> bool {
    program.profile.is_some() && program.wish.objective.is_none()
}
