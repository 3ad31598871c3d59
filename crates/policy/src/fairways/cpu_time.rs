//! CPU time for what the ways leave unfair, on a machine that lets policies order turns.
//!
//! A program's slowdown is its cycles over those that it would have taken alone with the whole
//! cache. By a profile, these follow from its instructions. Without one, they are the cycles in which
//! it was not stalled for L2 misses, and for each reference the stall that it had at the largest size
//! that it was seen with: so what it computes may change, and how often it uses the cache (cache-fair
//! §3.2 divides a CPI into the same parts). Its fair CPI is the one
//! with the slowdown that all programs are to have in common: a program that is slower gets longer
//! turns, one that is faster shorter ones, so that all make the same progress for their share of the
//! CPUs. The difference is exchanged with best-effort threads, as by `cache-fair` (§4.2, §5.4).
//!
//! The common slowdown is the one at which best-effort threads give as much as their bound lets
//! them, but none below that of the fastest program: that would cost them time and make nothing
//! fairer. Beyond their bound, the time comes from the programs that are faster.
//!
//! A slowdown is known within bounds: exactly with a profile, or once the program was sampled; else
//! it could gain more from ways that it never had. Within these bounds nothing is adjusted. A program with promised ways never gives time, and a service with an
//! objective takes no part.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Cpus, EndedTurn, Event, Llc, Q32, Sample, Time};

use super::Fairways;
use super::learner::LearnedProgram;
use super::objective::Objective;
use super::parameters::Parameters;
use crate::cache_fair::{Account, Exchange, Role};
use crate::program::RunningProgram;

/// Slowdowns are of about so many spans of `normal_window`.
const REMEMBERED: u64 = 16;

/// How many quanta a thread counts as ahead or behind at most, as in `cache-fair`.
const MOST_DEBT: i128 = 100;

/// What a program's slowdown is between, in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlowdownBounds {
    /// 0 where nothing is known.
    least: u64,
    most: u64,
}

const UNKNOWN: SlowdownBounds = SlowdownBounds { least: 0, most: u64::MAX };

/// Cycles, instructions, cycles stalled for L2 misses, and references to the last-level cache.
type PacedCounts = [u64; 4];

/// What is known of a program alone with the whole cache.
#[derive(Clone, Copy, Debug)]
enum AloneRate {
    /// Instructions per cycle.
    Profile(Q32),
    /// The cycles that a reference stalls it, and the share of its cycles that it could save beyond
    /// that, in units of 2^-32.
    Observed(Q32, u64),
}

/// A program whose progress is to be as large as that of the others.
#[derive(Clone, Copy, Debug)]
struct PacedProgram {
    app: AppId,
    /// Its phase, if it is learned.
    phase: u32,
    /// The counts of the span at hand, and of the last ones together.
    span: PacedCounts,
    recent: PacedCounts,
    bounds: SlowdownBounds,
}

/// CPU time as a lever beside ways and bandwidth.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuTime {
    /// `None` where no turns are ordered.
    cpus: Option<Cpus>,
    exchange: Exchange<()>,
    programs: Vec<PacedProgram>,
    /// The slowdown that programs are to have in common; `None` where none is known.
    common: Option<u64>,
    /// When the span at hand ends.
    span_end: Time,
}

/// The part of a program in the exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExchangePart {
    Paced,
    BestEffort,
}

/// A program's part; `None` for a service, whose latencies decide.
const fn part(program: &RunningProgram) -> Option<ExchangePart> {
    if program.wish.objective.is_some() {
        return None;
    }
    Some(if program.wish.best_effort { ExchangePart::BestEffort } else { ExchangePart::Paced })
}

fn part_of(programs: &[RunningProgram], app: AppId) -> Option<ExchangePart> {
    part(programs.iter().find(|program| program.app == app)?)
}

impl PacedProgram {
    const fn new(app: AppId) -> Self {
        Self { app, phase: 0, span: [0; 4], recent: [0; 4], bounds: UNKNOWN }
    }

    /// Ends a span, in this phase.
    fn end_span(&mut self, phase: u32, alone: Option<AloneRate>, is_promised: bool) {
        if core::mem::replace(&mut self.phase, phase) != phase {
            self.recent = [0; 4];
        }
        for (recent, span) in self.recent.iter_mut().zip(&mut self.span) {
            *recent = (*recent - *recent / REMEMBERED).saturating_add(core::mem::take(span));
        }
        self.bounds = alone.and_then(|alone| self.slowdown(alone)).unwrap_or(UNKNOWN);
        if is_promised {
            self.bounds.most = u64::MAX;
        }
    }

    /// Its slowdown in the last spans.
    fn slowdown(&self, alone: AloneRate) -> Option<SlowdownBounds> {
        let [cycles, instructions, stalls, references] = self.recent.map(u128::from);
        let (alone, gain) = match alone {
            AloneRate::Profile(ipc) => ((instructions << 32) / u128::from(ipc.raw().max(1)), 0),
            AloneRate::Observed(stall, gain) => {
                // No program is faster than alone.
                let stalled = (references * u128::from(stall.raw())) >> 32;
                ((cycles.saturating_sub(stalls) + stalled).min(cycles), gain)
            }
        };
        let least = (cycles << 32).checked_div(alone)?.clamp(1, 1 << 63);
        let most = (least << 32) / u128::from(Q32::ONE.raw().saturating_sub(gain).max(1));
        let [least, most] = [least, most].map(|raw| u64::try_from(raw).unwrap_or(u64::MAX));
        (cycles > 0).then_some(SlowdownBounds { least, most })
    }
}

/// The slowdown that all are to have in common if best-effort threads give `budget` hundredths of a
/// thread's time; `None` without a bound. `None` if no slowdown is known.
fn common_slowdown(
    bounds: impl Iterator<Item = SlowdownBounds> + Clone,
    budget: Option<u64>,
) -> Option<u64> {
    let known = bounds.filter(|bounds| bounds.least > 0);
    let mut low = known.clone().map(|bounds| bounds.least).min()?.max(Q32::ONE.raw());
    let mut high = known.clone().map(|bounds| bounds.least).max()?.max(low);
    let Some(budget) = budget else { return Some(low) };
    // The least at which they need no more time than they have and what best-effort threads give.
    while low < high {
        let common = low + (high - low) / 2;
        let (mut needed, mut available) = (0u128, u128::from(budget) * u128::from(common));
        for one in known.clone() {
            needed += 100 * u128::from(common.clamp(one.least, one.most));
            available += 100 * u128::from(common);
        }
        if needed <= available { high = common } else { low = common + 1 }
    }
    Some(low)
}

impl CpuTime {
    /// Whether turns are ordered.
    const fn is_on(&self) -> bool {
        self.cpus.is_some()
    }

    /// Adapts to how the machine lets threads take turns.
    fn set_cpus(&mut self, p: &Parameters, cpus: Cpus) {
        let evens = matches!(p.objective, Objective::Unfairness | Objective::MaxSlowdown);
        let is_used = p.compensate_cpu && evens && cpus.count > 0 && !cpus.quantum.is_zero();
        let cpus = Some(cpus).filter(|_| is_used);
        if cpus == self.cpus {
            return;
        }
        self.cpus = cpus;
        match cpus {
            Some(cpus) => self.exchange.begin(cpus.quantum, p.penalty_limit, None),
            None => *self = Self::default(),
        }
    }

    /// Adapts to the programs that run.
    fn follow(&mut self, at: Time, programs: &[RunningProgram], act: &mut dyn FnMut(Action<'_>)) {
        while let Some(app) = self.misplaced(programs) {
            self.exchange.exit(at, app, act);
        }
        self.programs.retain(|one| part_of(programs, one.app) == Some(ExchangePart::Paced));
        for program in programs.iter().filter(|one| part(one) == Some(ExchangePart::Paced)) {
            if !self.programs.iter().any(|one| one.app == program.app) {
                self.programs.push(PacedProgram::new(program.app));
            }
        }
    }

    /// A program whose threads have another part than before, or that has ended.
    fn misplaced(&self, programs: &[RunningProgram]) -> Option<AppId> {
        let mut all = self.exchange.threads.iter();
        let found = all.find(|(id, thread)| {
            let own = if thread.is_best_effort() {
                ExchangePart::BestEffort
            } else {
                ExchangePart::Paced
            };
            part_of(programs, id.app) != Some(own)
        });
        found.map(|(id, _)| id.app)
    }

    /// Forgets slowdowns, on another cache.
    fn forget(&mut self) {
        self.common = None;
        self.programs.iter_mut().for_each(|one| *one = PacedProgram::new(one.app));
    }

    /// Adds a window, and settles the CPU time that its program had.
    fn add(&mut self, sample: &Sample) {
        let Some(program) = self.programs.iter_mut().find(|one| one.app == sample.app) else {
            return;
        };
        let counters = &sample.counters;
        let counted = counters.cycles.zip(counters.instructions);
        // A program that waited for its turn shows nothing.
        if counted.is_some_and(|(cycles, instructions)| cycles == 0 || instructions == 0) {
            return;
        }
        let common = self.common.filter(|_| self.exchange.has_best_effort());
        let most = self.exchange.quantum() * MOST_DEBT;
        let slowdown = common.unwrap_or(0).clamp(program.bounds.least, program.bounds.most);
        if let Some((cycles, instructions)) = counted {
            // Without its stalls, it counts as one that has none.
            let stalls = counters.stalls_l2_miss.zip(counters.llc_references);
            let (stalls, references) = stalls.unwrap_or((0, 0));
            for (sum, count) in
                program.span.iter_mut().zip([cycles, instructions, stalls, references])
            {
                *sum = sum.saturating_add(count);
            }
        }
        for (_, role) in self.exchange.roles_of(sample.app) {
            let Role::Fair(account, ()) = role else { continue };
            match counted.zip(common) {
                Some(((cycles, _), common)) => {
                    let fair =
                        u128::from(cycles) * u128::from(common) / u128::from(slowdown.max(1));
                    account.window(cycles, u64::try_from(fair).unwrap_or(u64::MAX).max(1), most);
                }
                None => account.pass(),
            }
        }
    }

    /// The common slowdown, by the last spans.
    fn set_common(&mut self, penalty_limit: u32) {
        let threads = self.exchange.threads.values();
        let best_effort = threads.filter(|thread| thread.is_best_effort()).count() as u64;
        let budget = (penalty_limit > 0).then(|| u64::from(penalty_limit) * best_effort);
        self.common = common_slowdown(self.programs.iter().map(|one| one.bounds), budget);
    }
}

/// What is known of a program alone.
fn alone(
    p: &Parameters,
    llc: &Llc,
    program: &RunningProgram,
    learner: Option<&LearnedProgram>,
) -> Option<AloneRate> {
    if let Some(profile) = &program.profile {
        return Some(AloneRate::Profile(p.reference.ipc(&profile.ipc, llc.ways)));
    }
    let learner = learner.filter(|learner| learner.first_windows == 0)?;
    let observed = learner.observed();
    Some(AloneRate::Observed(observed.stall_at_best()?, observed.possible_gain(llc.ways)))
}

impl Fairways {
    /// Adapts to how the machine lets threads take turns, to a change of the programs, or to
    /// another cache; watches the programs that nothing else watches.
    pub(super) fn follow_cpu_time(
        &mut self,
        at: Time,
        event: &Event,
        act: &mut dyn FnMut(Action<'_>),
    ) {
        match event {
            Event::Cpus(cpus) => self.cpu_time.set_cpus(&self.parameters, *cpus),
            Event::Machine(_) => self.cpu_time.forget(),
            _ => {}
        }
        if !self.cpu_time.is_on() {
            return;
        }
        for program in self.running.programs() {
            let is_new = part(program) == Some(ExchangePart::Paced)
                && !self.cpu_time.programs.iter().any(|one| one.app == program.app);
            if is_new && program.profile.is_some() && !self.bandwidth.is_on() {
                self.watch_normally(program.app, act);
            }
        }
        self.cpu_time.follow(at, self.running.programs(), act);
    }

    /// A thread's turn ended.
    pub(super) fn end_turn(&mut self, at: Time, turn: &EndedTurn, act: &mut dyn FnMut(Action<'_>)) {
        let Self { cpu_time, running, .. } = self;
        if !cpu_time.is_on() {
            return;
        }
        let role = match part_of(running.programs(), turn.thread.app) {
            Some(ExchangePart::Paced) => || Role::Fair(Account::default(), ()),
            Some(ExchangePart::BestEffort) => Role::best_effort,
            None => return,
        };
        cpu_time.exchange.note(at, turn.thread, role, act);
        cpu_time.exchange.slice(at, turn, act);
    }

    /// A window ended.
    pub(super) fn pace(&mut self, at: Time, sample: &Sample) {
        let Self { cpu_time, running, learners, parameters: p, .. } = self;
        let Some(llc) = running.llc().filter(|_| cpu_time.is_on()) else { return };
        cpu_time.add(sample);
        if at < cpu_time.span_end {
            return;
        }
        cpu_time.span_end = at.after(p.normal_window);
        for paced in &mut cpu_time.programs {
            let program = running.programs().iter().find(|program| program.app == paced.app);
            let Some(program) = program else { continue };
            let learner = learners.iter().find(|learner| learner.app == paced.app);
            let phase = learner.map_or(0, LearnedProgram::phases_begun);
            let alone = alone(p, &llc, program, learner);
            paced.end_span(phase, alone, program.wish.baseline_ways.is_some());
        }
        cpu_time.set_common(p.penalty_limit);
    }
}
