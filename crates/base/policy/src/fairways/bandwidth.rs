//! Limits of memory bandwidth, if memory is the bottleneck.
//!
//! Ways come first: they reduce traffic at its source. Once the bus has been full for some spans
//! (`bandwidth_gate.rs`), one program at a time gets a lower limit (`bandwidth_user.rs`):
//! best-effort programs first, then streaming programs. A limit stays only if the others gain more
//! than the program loses (`bandwidth_trial.rs`). Programs with promised ways or an objective are
//! never limited. No limits are set if traffic can't be measured, the machine's capacity is not
//! known, or the kernel adjusts limits itself (`mba_MBps`).

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::{
    Action, AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Latencies, Levers, Llc,
    Partition, Sample, Time,
};

use super::Fairways;
use super::bandwidth_gate::BusGate;
use super::bandwidth_plan::LimitedPlan;
use super::bandwidth_trial::{LimitTrial, StepVerdict};
use super::bandwidth_user::{BusUser, LimitRank};
use super::parameters::Parameters;
use crate::announce::Announcer;
use crate::program::RunningProgram;

/// Bandwidth as a second lever.
#[derive(Clone, Debug, Default)]
pub(crate) struct BandwidthControl {
    /// The lever, and the memory's capacity in bytes per second; `None` if limits are not used.
    pub(super) lever: Option<(BandwidthLever, u64)>,
    pub(super) users: Vec<BusUser>,
    gate: BusGate,
    trial: Option<LimitTrial>,
    /// The end of the current span.
    span_end: Option<Time>,
    /// Whether another plan came into force in the current span.
    is_disturbed: bool,
    /// The programs that have a limit, in the order in which their limits last changed.
    pub(super) limited: Vec<AppId>,
    /// No limit is raised before this time; then how long raising was barred last.
    raise_barred: Time,
    raise_bar: Duration,
    /// By level, the largest traffic per running thread that it did not slow, in bytes per second.
    unfelt: Vec<(BandwidthLevel, u64)>,
    pub(super) plan: LimitedPlan,
}

/// The longest time for which a step is barred.
const LONGEST_BAR: Duration = Duration::from_secs(600);

/// The length of the next bar: `limit_retry` at first, then twice the one before, up to
/// [`LONGEST_BAR`].
pub(super) fn next_bar(bar: Duration, p: &Parameters) -> Duration {
    if bar.is_zero() { p.limit_retry } else { (bar * 2).min(LONGEST_BAR) }
}

const LOWER: [&str; 2] = [
    "memory is the bottleneck: a lower limit of bandwidth for a best-effort program",
    "memory is the bottleneck: a lower limit of bandwidth for a program that streams",
];
const TAKEN_BACK: &str = "a lower limit of bandwidth did not help: taken back";
const RAISED: &str = "memory has room again: a limit of bandwidth is raised";
const FULL_AGAIN: &str = "memory was full again without it: the limit of bandwidth is back";
const UNMEASURED: &str = "memory traffic can't be measured: no limits of bandwidth";

impl BandwidthControl {
    /// Adapts to a machine with these levers. Limits of another lever are dropped.
    pub(super) fn set_levers(&mut self, p: &Parameters, levers: &Levers) {
        let usable = levers
            .bandwidth
            .filter(|lever| p.limit_bandwidth && lever.unit != BandwidthUnit::MibPerSecond);
        let lever = usable.and_then(|lever| {
            let capacity = u64::from(lever.capacity_mbps.filter(|mbps| *mbps > 0)?) * 1_000_000;
            Some((lever, capacity))
        });
        if lever != self.lever {
            *self = Self { lever, users: core::mem::take(&mut self.users), ..Self::default() };
            self.users.iter_mut().for_each(BusUser::forget);
        }
    }

    /// Whether programs have to be watched for limits.
    pub(super) const fn is_on(&self) -> bool {
        self.lever.is_some()
    }

    /// Whether a step is being judged; nothing else may change then.
    pub(super) const fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Whether a program has a limit. If so, its windows do not show how it behaves without one.
    pub(super) fn is_limited(&self, app: AppId) -> bool {
        self.limited.contains(&app)
    }

    /// Adapts to the programs that run. A step that is still being judged is undone.
    pub(super) fn follow(&mut self, programs: &[RunningProgram]) {
        self.users.retain(|user| programs.iter().any(|program| program.app == user.app));
        for program in programs {
            if !self.users.iter().any(|user| user.app == program.app) {
                self.users.push(BusUser::new(program.app));
            }
        }
        if let Some(trial) = self.trial.take() {
            self.set_limit(trial.app, trial.from);
        }
        let Self { users, limited, .. } = self;
        for program in programs.iter().filter(|program| !LimitRank::allows(program)) {
            users.iter_mut().filter(|user| user.app == program.app).for_each(BusUser::release);
        }
        limited.retain(|app| users.iter().any(|user| user.app == *app && user.limit.is_some()));
        self.gate = BusGate::default();
        self.is_disturbed = true;
    }

    /// Notes that another plan comes into force, so that the current span shows neither.
    pub(super) const fn disturb(&mut self) {
        self.is_disturbed = true;
    }

    /// Adds a window.
    pub(super) fn measure(&mut self, sample: &Sample) {
        let user = self.users.iter_mut().find(|user| user.app == sample.app);
        if let Some(user) = user.filter(|_| self.lever.is_some() && !sample.straddled) {
            user.add(sample);
        }
    }

    /// Adds the latencies of a service.
    pub(super) fn measure_latencies(&mut self, latencies: &Latencies, programs: &[RunningProgram]) {
        let program = programs.iter().find(|program| program.app == latencies.app);
        let objective = program.and_then(|program| program.wish.objective);
        let user = self.users.iter_mut().find(|user| user.app == latencies.app);
        if let (Some(user), Some(objective)) = (user, objective) {
            user.add_latencies(latencies, &objective);
        }
    }

    /// Sets or removes a program's limit.
    fn set_limit(&mut self, app: AppId, limit: Option<BandwidthLevel>) {
        let Some(user) = self.users.iter_mut().find(|user| user.app == app) else { return };
        user.limit = limit;
        self.limited.retain(|other| *other != app);
        if limit.is_some() {
            self.limited.push(app);
        }
    }

    /// Removes all limits; returns whether there were any.
    fn release_all(&mut self) -> bool {
        self.trial = None;
        self.users.iter_mut().for_each(BusUser::release);
        let were_any = !self.limited.is_empty();
        self.limited.clear();
        were_any
    }

    /// Handles a refused plan: if it had limits, removes them and tries none for [`LONGEST_BAR`].
    /// Returns whether it had any.
    pub(super) fn refuse(&mut self, at: Time) -> bool {
        let had_limits = self.release_all();
        if had_limits {
            for user in &mut self.users {
                user.barred_until = at.after(LONGEST_BAR);
            }
        }
        had_limits
    }

    /// Gives limited programs their levels in a plan, and announces them.
    pub(super) fn limit(
        &mut self,
        llc: &Llc,
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) {
        if let Some((lever, _)) = self.lever.filter(|_| !self.limited.is_empty()) {
            self.plan.limit(&self.users, lever.scope, llc, partition, announcer);
        }
    }

    /// Ends the current span if it is time. Returns the reason for a plan, if one is needed.
    pub(super) fn decide(
        &mut self,
        at: Time,
        p: &Parameters,
        programs: &[RunningProgram],
        is_sampling: bool,
    ) -> Option<&'static str> {
        let (lever, capacity) = self.lever?;
        if self.span_end.is_some_and(|end| at < end) {
            return None;
        }
        let is_first = self.span_end.is_none();
        self.span_end = Some(at.after(p.limit_period));
        let is_disturbed = core::mem::take(&mut self.is_disturbed) || is_first || is_sampling;
        let is_trying = self.trial.is_some();
        let mut are_known = !is_disturbed;
        for (user, program) in self.users.iter_mut().zip(programs) {
            user.end_span(program, is_disturbed, is_trying);
            are_known &= user.is_known();
        }
        if self.users.iter().any(BusUser::is_silent) {
            self.gate = BusGate::default();
            return self.release_all().then_some(UNMEASURED);
        }
        if !are_known {
            return None;
        }
        let used = self.users.iter().map(|user| user.traffic).fold(0, u64::saturating_add);
        self.gate.observe(p, used, capacity);
        if let Some(trial) = self.trial.take() {
            return self.judge(at, p, trial);
        }
        // A service may miss its objective long before memory is full.
        let is_late = self.users.iter().any(BusUser::is_late);
        if self.gate.is_full() || (is_late && !self.gate.is_free()) {
            self.lower(at, p, lever, capacity)
        } else if self.gate.is_free() && at >= self.raise_barred {
            self.raise(lever)
        } else {
            None
        }
    }

    /// Lowers the limit of one program by a step.
    fn lower(
        &mut self,
        at: Time,
        p: &Parameters,
        lever: BandwidthLever,
        capacity: u64,
    ) -> Option<&'static str> {
        let Self { users, unfelt, .. } = self;
        let able = users.iter().filter_map(|user| {
            let is_able = at >= user.barred_until && user.traffic >= capacity / 100 * 5;
            let rank = user.rank.filter(|_| is_able)?;
            let next = user.next_level(lever, capacity, unfelt)?;
            Some((rank, core::cmp::Reverse(user.weighted_traffic()), user.app, next))
        });
        let (rank, _, app, next) = able.min()?;
        users.iter_mut().for_each(BusUser::begin_trial);
        let user = users.iter().find(|user| user.app == app)?;
        self.trial = Some(LimitTrial::lower(app, user.limit, p));
        self.set_limit(app, Some(next));
        Some(LOWER[rank as usize])
    }

    /// Raises the limit that was lowered last, by a step.
    fn raise(&mut self, lever: BandwidthLever) -> Option<&'static str> {
        let app = *self.limited.last()?;
        let user = self.users.iter().find(|user| user.app == app)?;
        let from = user.limit;
        let higher = user.higher_level(lever, from?);
        self.trial = Some(LimitTrial::raise(app, from));
        self.set_limit(app, higher);
        Some(RAISED)
    }

    /// Judges the step that is being tried.
    fn judge(&mut self, at: Time, p: &Parameters, mut trial: LimitTrial) -> Option<&'static str> {
        let verdict = trial.judge(p, &self.users, self.gate.is_full_now());
        match verdict {
            StepVerdict::Wait => {
                self.trial = Some(trial);
                None
            }
            StepVerdict::Keep => {
                self.raise_bar = Duration::ZERO;
                None
            }
            StepVerdict::Further => self.further(at, p, trial),
            StepVerdict::TakeBack if trial.is_raise() => {
                self.raise_bar = next_bar(self.raise_bar, p);
                self.raise_barred = at.after(self.raise_bar);
                self.set_limit(trial.app, trial.from);
                Some(FULL_AGAIN)
            }
            StepVerdict::TakeBack => self.take_back(at, p, &trial),
        }
    }

    /// The program does not feel its limit: tries the next lower one that it may feel.
    fn further(&mut self, at: Time, p: &Parameters, trial: LimitTrial) -> Option<&'static str> {
        let (lever, capacity) = self.lever?;
        let user = self.users.iter().find(|user| user.app == trial.app)?;
        let (limit, traffic) = (user.limit?, user.traffic_per_thread());
        match self.unfelt.iter_mut().find(|(level, _)| *level == limit) {
            Some((_, most)) => *most = traffic.max(*most),
            None => self.unfelt.push((limit, traffic)),
        }
        let Some(next) = user.next_level(lever, capacity, &self.unfelt) else {
            return self.take_back(at, p, &trial);
        };
        let reason = LOWER[user.rank.unwrap_or(LimitRank::Streaming) as usize];
        self.trial = Some(LimitTrial::lower(trial.app, trial.from, p));
        self.set_limit(user.app, Some(next));
        Some(reason)
    }

    fn take_back(&mut self, at: Time, p: &Parameters, trial: &LimitTrial) -> Option<&'static str> {
        self.set_limit(trial.app, trial.from);
        if let Some(user) = self.users.iter_mut().find(|user| user.app == trial.app) {
            user.bar = next_bar(user.bar, p);
            user.barred_until = at.after(user.bar);
        }
        self.users.iter_mut().for_each(BusUser::undo_trial);
        Some(TAKEN_BACK)
    }
}

impl Fairways {
    /// Adapts to a change of the programs or of the machine.
    pub(super) fn follow_bandwidth(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let Self { bandwidth, running, parameters: p, .. } = self;
        let Some(levers) = running.levers() else { return };
        bandwidth.set_levers(p, &levers);
        if !bandwidth.is_on() {
            return;
        }
        let watched = bandwidth.users.len();
        bandwidth.follow(running.programs());
        for (user, program) in bandwidth.users.iter_mut().zip(running.programs()) {
            let profile = program.profile.as_deref();
            user.ipc_alone = profile.map(|of| p.reference.ipc(&of.ipc, levers.llc.ways));
        }
        if bandwidth.users.len() > watched || bandwidth.span_end.is_none() {
            self.arm(at, act);
        }
    }

    /// Ends a span, and plans if a limit is to change.
    pub(super) fn judge_bandwidth(&mut self, at: Time, act: &mut dyn FnMut(Action<'_>)) {
        let is_sampling = self.session.is_some();
        let Self { bandwidth, parameters: p, running, .. } = self;
        if let Some(reason) = bandwidth.decide(at, p, running.programs(), is_sampling) {
            self.make_plan(at, Some(reason), act);
        }
    }
}
