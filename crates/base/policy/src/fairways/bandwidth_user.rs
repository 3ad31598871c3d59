//! How much memory traffic a program has, how fast it runs meanwhile, and which limit it may get.

use core::time::Duration;

use fairways_core::{
    AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, Latencies, LimitScope, Objective, Q32,
    Sample, Time,
};

use super::objective::Outcome;
use crate::program::RunningProgram;

/// Why a program may be limited, in the order in which programs are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitRank {
    /// Its owner calls it best effort.
    BestEffort,
    /// Most of its references to the last-level cache miss, so a limit costs it little, and more
    /// ways gain it little.
    Streaming,
}

impl LimitRank {
    /// Whether a program may be limited at all: its owner has no objective and no promised ways for
    /// it.
    pub(super) const fn allows(program: &RunningProgram) -> bool {
        program.wish.objective.is_none() && program.wish.baseline_ways.is_none()
    }
}

/// What the windows of a span counted, added up.
#[derive(Clone, Copy, Debug, Default)]
struct SpanCounts {
    bytes: u64,
    instructions: u64,
    cycles: u64,
    references: u64,
    misses: u64,
    nanos: u64,
    cpu_nanos: Option<u64>,
    answered: u64,
    late: u64,
}

/// A program that uses memory.
#[derive(Clone, Debug)]
pub(super) struct BusUser {
    pub(super) app: AppId,
    counts: SpanCounts,
    /// Whether a window of the current span lacked a count, whether one of the last span did, and
    /// for how many spans in a row nothing was counted.
    lacks_counts: bool,
    was_lacking: bool,
    silent: u32,
    /// In the last valid span: bytes and instructions per second, and the mean number of running
    /// threads.
    pub(super) traffic: u64,
    pub(super) speed: Option<u64>,
    threads: Q32,
    /// Cycles per second in that span.
    cycles: u64,
    /// Its IPC alone, from its profile; windows never show an idle bus.
    pub(super) ipc_alone: Option<Q32>,
    pub(super) rank: Option<LimitRank>,
    importance: u32,
    is_best_effort: bool,
    has_objective: bool,
    /// For a service, the share of answers that were late, and the share that may be, in units of
    /// 2^-32.
    late: Option<(Q32, Q32)>,
    /// Traffic, speed and late answers before the step that is being tried.
    pub(super) traffic_before: u64,
    pub(super) speed_before: Option<u64>,
    late_before: Option<(Q32, Q32)>,
    pub(super) limit: Option<BandwidthLevel>,
    /// Its speed before it had a limit.
    pub(super) unlimited: Option<u64>,
    pub(super) barred_until: Time,
    pub(super) bar: Duration,
}

/// A program is silent if nothing was counted of it for more than this many spans.
const SILENT: u32 = 8;

impl BusUser {
    pub(super) fn new(app: AppId) -> Self {
        Self {
            app,
            counts: SpanCounts::default(),
            lacks_counts: false,
            was_lacking: false,
            silent: 0,
            traffic: 0,
            speed: None,
            threads: Q32::ONE,
            cycles: 0,
            ipc_alone: None,
            rank: None,
            importance: 1,
            is_best_effort: false,
            has_objective: false,
            late: None,
            traffic_before: 0,
            speed_before: None,
            late_before: None,
            limit: None,
            unlimited: None,
            barred_until: Time::ZERO,
            bar: Duration::ZERO,
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.app);
    }

    /// Removes its limit.
    pub(super) const fn release(&mut self) {
        (self.limit, self.unlimited) = (None, None);
    }

    /// Adds a window.
    pub(super) fn add(&mut self, sample: &Sample) {
        let counters = &sample.counters;
        let (Some(bytes), Some(instructions)) = (counters.memory_bytes, counters.instructions)
        else {
            self.lacks_counts = true;
            return;
        };
        let sum = &mut self.counts;
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.instructions = sum.instructions.saturating_add(instructions);
        sum.cycles = sum.cycles.saturating_add(counters.cycles.unwrap_or(0));
        sum.references = sum.references.saturating_add(counters.llc_references.unwrap_or(0));
        sum.misses = sum.misses.saturating_add(counters.llc_misses.unwrap_or(0));
        let nanos = u64::try_from(sample.window.as_nanos()).unwrap_or(u64::MAX);
        sum.nanos = sum.nanos.saturating_add(nanos);
        if let Some(cpu) = counters.cpu_nanos {
            sum.cpu_nanos = Some(sum.cpu_nanos.unwrap_or(0).saturating_add(cpu));
        }
    }

    /// Adds the latencies of its requests.
    pub(super) fn add_latencies(&mut self, latencies: &Latencies, objective: &Objective) {
        let late = latencies.answered.iter().filter(|bin| bin.latency > objective.slo);
        let late = late.map(|bin| bin.requests).fold(0, u64::saturating_add);
        self.counts.late = self.counts.late.saturating_add(late);
        self.counts.answered = self.counts.answered.saturating_add(latencies.requests());
    }

    /// Ends a span. A span in which a plan changed is discarded. All spans of a step that is being
    /// tried are added up.
    pub(super) fn end_span(
        &mut self,
        program: &RunningProgram,
        is_disturbed: bool,
        is_trying: bool,
    ) {
        let counts = self.counts;
        if is_disturbed || !is_trying {
            self.counts = SpanCounts::default();
        }
        self.is_best_effort = program.wish.best_effort;
        self.has_objective = program.wish.objective.is_some();
        self.importance = program.wish.importance.unwrap_or(1);
        self.was_lacking = core::mem::take(&mut self.lacks_counts);
        if counts.nanos == 0 || self.was_lacking {
            self.silent = self.silent.saturating_add(1);
            return;
        }
        self.silent = 0;
        if is_disturbed {
            return;
        }
        self.traffic = per_second(counts.bytes, counts.nanos);
        let speed = per_second(counts.instructions, counts.nanos);
        self.cycles = per_second(counts.cycles, counts.nanos);
        // Without a trial, the mean with the span before, which is steadier.
        let before = self.speed.filter(|_| !is_trying).unwrap_or(speed);
        self.speed = Some(speed / 2 + before / 2);
        let threads = counts.cpu_nanos.map(|cpu| Q32::ratio(cpu, counts.nanos));
        self.threads = threads.unwrap_or(Q32::ONE).max(Q32::ONE);
        // A service that answers nothing is not late.
        self.late = program.wish.objective.filter(|_| counts.answered > 0).map(|objective| {
            let allowed = Q32::from_int(100).raw().saturating_sub(objective.percentile.raw()) / 100;
            (Q32::ratio(counts.late, counts.answered), Q32::from_raw(allowed))
        });
        // At least seven of ten references miss.
        let is_streaming = counts.references > 0
            && u128::from(counts.misses) * 10 >= u128::from(counts.references) * 7;
        self.rank = match (LimitRank::allows(program), program.wish.best_effort) {
            (false, _) => None,
            (true, true) => Some(LimitRank::BestEffort),
            (true, false) => is_streaming.then_some(LimitRank::Streaming),
        };
    }

    /// Whether its traffic in the last span is known.
    pub(super) const fn is_known(&self) -> bool {
        self.speed.is_some() && !self.was_lacking
    }

    /// Whether nothing was counted for more than [`SILENT`] spans.
    pub(super) const fn is_silent(&self) -> bool {
        self.silent > SILENT
    }

    /// Begins a step: saves the measurements from before it.
    pub(super) fn begin_trial(&mut self) {
        (self.traffic_before, self.speed_before) = (self.traffic, self.speed);
        self.late_before = self.late;
        if self.limit.is_none() {
            self.unlimited = self.speed;
        }
    }

    /// Undoes a step: restores the measurements from before it.
    pub(super) const fn undo_trial(&mut self) {
        (self.traffic, self.speed) = (self.traffic_before, self.speed_before);
        self.late = self.late_before;
    }

    /// Bytes per second for each of its running threads.
    pub(super) fn traffic_per_thread(&self) -> u64 {
        let threads = u128::from(self.threads.raw().max(1));
        u64::try_from((u128::from(self.traffic) << 32) / threads).unwrap_or(u64::MAX)
    }

    /// Its traffic, divided by its importance.
    pub(super) fn weighted_traffic(&self) -> u64 {
        self.traffic / u64::from(self.importance.max(1))
    }

    /// The next lower level that it may feel; `None` if there is none. `unfelt` has, by level, the
    /// traffic of a thread that the level did not slow.
    pub(super) fn next_level(
        &self,
        lever: BandwidthLever,
        capacity: u64,
        unfelt: &[(BandwidthLevel, u64)],
    ) -> Option<BandwidthLevel> {
        let from = self.limit.unwrap_or(lever.most);
        let unit = match (lever.unit, lever.scope) {
            (BandwidthUnit::Percent, LimitScope::Core) => {
                // Neighbouring levels may have the same effect, and it is not known which do.
                let thread = self.traffic_per_thread();
                let mut next = lever.below(from)?;
                while unfelt.iter().any(|&(level, most)| level == next && thread <= most) {
                    next = lever.below(next)?;
                }
                return Some(next);
            }
            (BandwidthUnit::Percent, LimitScope::Class) => capacity / 100,
            (unit, _) => unit.bytes_per_second(BandwidthLevel::new(1)?)?,
        };
        // An eighth below its traffic.
        let seven_eighths = (self.traffic - self.traffic / 8) / unit.max(1);
        let below = lever.below(from)?;
        let next = u32::try_from(seven_eighths).map_or(below.get(), |next| next.min(below.get()));
        BandwidthLevel::new(next.max(lever.least.get()))
    }

    /// The level above this one; `None` is no limit.
    pub(super) fn higher_level(
        &self,
        lever: BandwidthLever,
        from: BandwidthLevel,
    ) -> Option<BandwidthLevel> {
        let above = match lever.scope {
            LimitScope::Core => lever.above(from)?,
            // An eighth above the limit.
            LimitScope::Class => {
                let more = from.get().saturating_add((from.get() / 8).max(lever.step.get()));
                BandwidthLevel::new(more.min(lever.most.get()))?
            }
        };
        (above < lever.most).then_some(above)
    }

    /// How much its speed has changed since the step began, in units of 2^-10 of what it was, times
    /// its importance; 0 for best effort, or if a speed is not known.
    pub(super) fn change(&self) -> i64 {
        if self.is_best_effort {
            return 0;
        }
        let (Some(before), Some(after)) = (self.speed_before, self.speed) else { return 0 };
        let share = (i128::from(after) - i128::from(before)) * 1024 / i128::from(before.max(1));
        i64::try_from(share * i128::from(self.importance)).unwrap_or(i64::MAX)
    }

    /// Adds its slowdowns before the step and now to the two outcomes; `None` if its speed alone is
    /// not known.
    pub(super) fn add_to(&self, outcomes: &mut [Outcome; 2]) -> Option<()> {
        let alone = u128::from(self.ipc_alone?.raw()) * u128::from(self.cycles);
        for (outcome, speed) in outcomes.iter_mut().zip([self.speed_before?, self.speed?]) {
            let slowdown = u64::try_from(alone / u128::from(speed.max(1))).unwrap_or(u64::MAX);
            if self.is_best_effort || self.has_objective {
                outcome.add_best_effort(slowdown.max(1), 1);
            } else {
                outcome.add(slowdown.max(1), 1);
            }
        }
        Some(())
    }

    /// Whether it is a service that misses its objective.
    pub(super) fn is_late(&self) -> bool {
        self.late.is_some_and(|(late, allowed)| late > allowed)
    }

    /// Whether it is a service that missed its objective before the step, and now meets it, or
    /// misses it by at least a tenth less.
    pub(super) fn is_relieved(&self) -> bool {
        let (Some((before, allowed)), Some((after, _))) = (self.late_before, self.late) else {
            return false;
        };
        before > allowed && (after <= allowed || after.raw() <= before.raw() / 10 * 9)
    }

    /// Whether its speed is below the least that a limit may leave it.
    pub(super) fn is_below(&self, floor_percent: u32) -> bool {
        let (Some(unlimited), Some(speed)) = (self.unlimited, self.speed) else { return false };
        u128::from(speed) * 100 < u128::from(unlimited) * u128::from(floor_percent)
    }
}

/// The rate per second of `count` events in `nanos` nanoseconds.
fn per_second(count: u64, nanos: u64) -> u64 {
    let rate = u128::from(count) * 1_000_000_000 / u128::from(nanos.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fairways_core::{Counters, LatencyBin, Wish};

    use super::*;

    /// A span of a service with `late` late answers.
    fn span(user: &mut BusUser, objective: Option<Objective>, late: u64) {
        let window = Duration::from_millis(500);
        let counters = Counters {
            instructions: Some(1_000_000),
            memory_bytes: Some(1_000_000),
            ..Counters::default()
        };
        let (app, occupancy, plan, straddled) = (user.app, None, None, false);
        user.add(&Sample { occupancy, plan, straddled, ..Sample::new(app, counters, window) });
        let slo = Duration::from_millis(2);
        let known = Objective { slo, percentile: Q32::from_int(99) };
        if late > 0 {
            let answered = vec![LatencyBin { latency: 2 * slo, requests: late }];
            user.add_latencies(&Latencies { app, answered, window }, &known);
        }
        let wish = Wish { objective, ..Wish::default() };
        let program = RunningProgram { app, wish, profile: None };
        user.end_span(&program, false, false);
    }

    /// A service that answers nothing, or no longer has an objective, is not late.
    #[test]
    fn a_service_is_late_while_its_answers_are() {
        let slo = Duration::from_millis(2);
        let objective = Some(Objective { slo, percentile: Q32::from_int(99) });
        let mut user = BusUser::new(AppId(0));
        span(&mut user, objective, 10);
        assert!(user.is_late());
        span(&mut user, objective, 0);
        assert!(!user.is_late());
        span(&mut user, objective, 10);
        span(&mut user, None, 10);
        assert!(!user.is_late());
    }
}
