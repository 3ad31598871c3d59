//! CPU time makes up for unfairness that ways can't remove, on a machine where policies set the
//! length of turns.
//!
//! A program's slowdown is its CPI divided by its CPI alone with the whole cache, by its profile.
//! Its fair CPI is the one at which it has the common slowdown of all programs: slower programs get
//! longer turns, faster ones shorter turns, so that all make the same progress for their share of
//! the CPUs. The difference is exchanged with best-effort threads, as by `cache-fair` (§4.2, §5.4).
//!
//! The common slowdown is the one at which best-effort threads give as much time as their bound
//! allows, but at least the slowdown of the fastest program: a lower one would cost best-effort
//! threads time without being fairer. Beyond the bound, the time comes from the faster programs.
//!
//! A program with promised ways gives back only time that it had in excess. Programs without a
//! profile (decision Fairways 4) and services with an objective are not adjusted.

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Cpus, EndedTurn, Event, Q32, Sample, Time};

use super::Fairways;
use super::objective::Objective;
use super::parameters::Parameters;
use crate::cache_fair::{self, Account, Exchange, Role};
use crate::program::RunningProgram;

/// A slowdown is the mean of roughly this many spans of `normal_window`.
const REMEMBERED: u64 = 16;

/// The cap on a slowdown, so that sums do not overflow.
const MOST_SLOWDOWN: u64 = 1 << 60;

/// A program whose progress is to equal that of the others.
#[derive(Clone, Copy, Debug)]
struct PacedProgram {
    app: AppId,
    /// Cycles and instructions: of the current span, and of the last ones together.
    span: [u64; 2],
    recent: [u64; 2],
    /// Its slowdown in the last spans, in units of 2^-32; `None` if it is not known.
    slowdown: Option<u64>,
    is_promised: bool,
}

/// CPU time as a lever, beside ways and bandwidth.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuTime {
    /// `None` if the policy sets no turns.
    cpus: Option<Cpus>,
    exchange: Exchange<()>,
    programs: Vec<PacedProgram>,
    /// The common slowdown; `None` if no slowdown is known.
    common: Option<u64>,
    /// The end of the current span.
    span_end: Time,
}

/// A program's role in the exchange of CPU time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExchangePart {
    Paced,
    BestEffort,
}

/// A program's role; `None` for a service: its latencies decide instead.
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
        Self { app, span: [0; 2], recent: [0; 2], slowdown: None, is_promised: false }
    }

    /// Ends a span of a program whose IPC alone is this.
    fn end_span(&mut self, ipc_alone: Option<Q32>) {
        for (recent, span) in self.recent.iter_mut().zip(&mut self.span) {
            *recent = (*recent - *recent / REMEMBERED).saturating_add(core::mem::take(span));
        }
        let [cycles, instructions] = self.recent;
        let ipc = Q32::ratio(instructions, cycles.max(1)).raw();
        self.slowdown = ipc_alone
            .filter(|_| ipc > 0)
            .map(|alone| Q32::ratio(alone.raw(), ipc).raw().clamp(1, MOST_SLOWDOWN));
    }

    /// The slowdown to compare with `common`. A program with promised ways is never ahead; a
    /// program whose slowdown is not known is neither ahead nor behind.
    fn evened(&self, common: u64) -> u64 {
        match self.slowdown {
            Some(slowdown) if self.is_promised => slowdown.max(common),
            Some(slowdown) => slowdown,
            None => common,
        }
    }
}

/// The common slowdown if best-effort threads give `budget` hundredths of a thread's time (`None`:
/// without a bound). Returns `None` if no slowdown is known.
fn common_slowdown(programs: &[PacedProgram], budget: Option<u64>) -> Option<u64> {
    let known = programs.iter().filter_map(|one| one.slowdown);
    let (mut low, mut high) = (known.clone().min()?, known.max()?);
    let Some(budget) = budget else { return Some(low) };
    // The least slowdown at which programs need no more than their own time and that of best-effort
    // threads.
    while low < high {
        let common = low + (high - low) / 2;
        let (mut needed, mut available) = (0u128, u128::from(budget) * u128::from(common));
        for one in programs {
            needed += 100 * u128::from(one.evened(common));
            available += 100 * u128::from(common);
        }
        if needed <= available { high = common } else { low = common + 1 }
    }
    Some(low)
}

impl CpuTime {
    /// Whether the policy sets turns.
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

    /// A program that has ended, or whose threads have another role than before.
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

    /// The sum of all promises, and the carry.
    #[cfg(test)]
    pub(super) fn books(&self) -> (i128, i128) {
        self.exchange.books()
    }

    /// Forgets slowdowns, on another cache.
    fn forget(&mut self) {
        self.common = None;
        self.programs.iter_mut().for_each(|one| *one = PacedProgram::new(one.app));
    }

    /// Adds a window, and accounts for the CPU time of its program.
    fn add(&mut self, sample: &Sample) {
        let Some(program) = self.programs.iter_mut().find(|one| one.app == sample.app) else {
            return;
        };
        let counted = sample.counters.cycles.zip(sample.counters.instructions);
        // A program that waited for its turn counted nothing useful.
        if counted.is_some_and(|(cycles, instructions)| cycles == 0 || instructions == 0) {
            return;
        }
        let common = self.common.filter(|_| self.exchange.has_best_effort());
        // The same bound as in `cache-fair`.
        let most_debt = cache_fair::Parameters::default().most_debt;
        let most = self.exchange.quantum() * i128::from(most_debt);
        let slowdown = program.evened(common.unwrap_or(1));
        if let Some((cycles, instructions)) = counted {
            let [all_cycles, all_instructions] = &mut program.span;
            *all_cycles = all_cycles.saturating_add(cycles);
            *all_instructions = all_instructions.saturating_add(instructions);
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

    /// Computes the common slowdown from the last spans.
    fn set_common(&mut self, penalty_limit: u32) {
        let threads = self.exchange.threads.values();
        let best_effort = threads.filter(|thread| thread.is_best_effort()).count() as u64;
        let budget = (penalty_limit > 0).then(|| u64::from(penalty_limit) * best_effort);
        self.common = common_slowdown(&self.programs, budget);
    }
}

impl Fairways {
    /// Adapts to how the machine lets threads take turns, to a change of the programs, or to
    /// another cache.
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
        let Self { cpu_time, running, parameters: p, .. } = self;
        let Some(llc) = running.llc().filter(|_| cpu_time.is_on()) else { return };
        cpu_time.add(sample);
        if at < cpu_time.span_end {
            return;
        }
        cpu_time.span_end = at.after(p.normal_window);
        for paced in &mut cpu_time.programs {
            let program = running.programs().iter().find(|program| program.app == paced.app);
            let Some(program) = program else { continue };
            paced.is_promised = program.wish.baseline_ways.is_some();
            let profile = program.profile.as_deref();
            paced.end_span(profile.map(|profile| p.reference.ipc(&profile.ipc, llc.ways)));
        }
        cpu_time.set_common(p.penalty_limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The common slowdown of programs with these slowdowns in percent, `true` for promised ways,
    /// rounded to a percent.
    fn common(programs: &[(u64, bool)], budget: Option<u64>) -> u64 {
        let programs: Vec<PacedProgram> = programs
            .iter()
            .map(|&(percent, is_promised)| PacedProgram {
                slowdown: (percent > 0).then_some((percent << 32) / 100),
                is_promised,
                ..PacedProgram::new(AppId(0))
            })
            .collect();
        common_slowdown(&programs, budget).map_or(0, |common| (common * 100 + (1 << 31)) >> 32)
    }

    #[test]
    fn the_common_slowdown_needs_what_best_effort_threads_may_give() {
        let two = [(120, false), (180, false)];
        // Without help, the mean: what one gives, the other gets.
        assert_eq!(common(&two, Some(0)), 150);
        // With half of a thread's time, 3 = 2.5 x 1.2.
        assert_eq!(common(&two, Some(25)), 133);
        assert_eq!(common(&two, Some(50)), 120);
        // More would cost best-effort threads time, and make nothing fairer.
        assert_eq!((common(&two, Some(500)), common(&two, None)), (120, 120));
        assert_eq!(common(&[], Some(10)), 0);
    }

    /// It keeps its share; the others even out among themselves.
    #[test]
    fn a_promised_program_gives_nothing_and_an_unknown_one_does_not_count() {
        assert_eq!(common(&[(110, true), (120, false), (180, false)], Some(0)), 150);
        assert_eq!(common(&[(0, false), (120, false), (180, false)], Some(0)), 150);
        // If it is behind, it gets time like any other.
        assert_eq!(common(&[(180, true), (120, false)], Some(0)), 150);
        assert_eq!(common(&[(0, false), (0, true)], Some(10)), 0);
    }
}
