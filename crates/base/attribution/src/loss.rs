//! The losses, from what was observed.

use fairways_core::{AppId, Llc, Q32};

use crate::Attribution;
use crate::cost::AccessCost;
use crate::program::ObservedProgram;
use crate::sizes::{PER_WAY, times};

/// A number that is known within limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// It is hardly less.
    pub least: Q32,
    /// The best guess.
    pub likely: Q32,
    /// It is hardly more.
    pub most: Q32,
}

/// What a program loses. Parts are in units of its time alone: the likely slowdown is 1 and their
/// sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The program.
    pub app: AppId,
    /// Its cycles over those that it would take alone with the whole cache; 1 at least.
    pub slowdown: Bounds,
    /// The part that it loses to the lines of others in ways that it may fill.
    pub lines: Q32,
    /// The part that it loses because it may not fill all ways.
    pub ways: Q32,
    /// The part that its misses wait for the memory bus, beyond what they would alone.
    pub bus: Q32,
    /// The rest, of a program whose profile says how fast it is alone.
    pub unexplained: Q32,
    /// What would have to be measured for a narrower interval.
    pub unknown: Option<Unknown>,
}

/// What is not known of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// How often it misses with more of the cache than this, in ways.
    LargerSizes(Q32),
    /// How long a miss takes on an idle bus.
    IdleBus,
}

/// Cycles that are noise: one of 64.
const NOISE: u64 = Q32::ONE.raw() / 64;

/// An interval that is wider than this part of the slowdown, in percent, leaves it open.
const OPEN_PERCENT: u128 = 30;

/// Cycles that a program takes alone at least: one of 64.
const LEAST_LEFT: u128 = 64;

/// A part of the wait for the bus by which it may be off: a fourth.
const BUS_ERROR: u128 = 4;

/// A part of the speed alone by which a profile may be off: a 32nd.
const PROFILE_ERROR: u64 = 32;

/// The cycles that a program loses over the span: at least, likely, at most.
struct LostCycles {
    cache: [u128; 3],
    /// Of the likely ones for the cache, those that it would not lose alone in its own ways.
    lines: u128,
    bus: [u128; 3],
    is_bus_known: bool,
}

impl Attribution {
    /// The losses of all programs in the order in which they started; none of programs whose
    /// counters are missing.
    pub fn losses(&self) -> impl Iterator<Item = Loss> {
        let bus = self.bus_factor();
        self.programs.iter().filter_map(move |one| self.loss(one, self.llc?, bus))
    }

    /// How many times longer misses take than on an idle bus, times 2^32, over all programs of
    /// which that is known.
    pub(crate) fn bus_factor(&self) -> Option<u64> {
        let known = self.programs.iter().filter_map(|one| {
            let cost = self.cost(one).filter(|cost| cost.is_known)?;
            let misses = u128::from(one.span.counters.llc_misses?);
            Some([cost.miss, cost.idle].map(|each| (misses * u128::from(each)) >> 32))
        });
        let [miss, idle] = known.fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        (idle > 0).then(|| over(miss, idle).max(Q32::ONE).raw())
    }

    pub(crate) fn cost(&self, one: &ObservedProgram) -> Option<AccessCost> {
        AccessCost::new(&one.span.counters, self.latency, one.least_cost)
    }

    pub(crate) fn loss(&self, one: &ObservedProgram, llc: Llc, bus: Option<u64>) -> Option<Loss> {
        let cycles = u128::from(one.span.counters.cycles.filter(|&cycles| cycles > 0)?);
        let by_profile = one.profile.as_ref().zip(one.span.counters.instructions);
        let by_profile = by_profile.map(|(profile, instructions)| {
            let ipc = profile.ipc.at(llc.ways.get()).raw();
            over(cycles * u128::from(ipc), u128::from(instructions.max(1)) << 32).max(Q32::ONE)
        });
        let Some(lost) = self.lost_cycles(one, llc, bus) else {
            let slowdown =
                if one.span.counters.llc_misses? == 0 { Some(Q32::ONE) } else { by_profile };
            return Some(Loss::unexplained(one.app, slowdown?));
        };
        let all = [0, 1, 2].map(|which| {
            let lost = lost.cache[which] + lost.bus[which];
            lost.min(cycles - cycles / LEAST_LEFT - 1)
        });
        let [least, likely, most] = all.map(|lost| over(cycles, cycles - lost));
        let mut slowdown = Bounds {
            least: Q32::from_raw(least.raw().saturating_sub(NOISE)).max(Q32::ONE),
            likely,
            most: Q32::from_raw(most.raw().saturating_add(NOISE)),
        };
        if let Some(known) = by_profile {
            slowdown = Bounds::about(known);
        }
        // Parts of the likely slowdown; no more of it than they explain.
        let loss = slowdown.likely.raw() - Q32::ONE.raw();
        let explained = likely.raw() - Q32::ONE.raw();
        let whole = (lost.cache[1] + lost.bus[1]).max(1);
        let parts = [lost.lines, lost.cache[1] - lost.lines, lost.bus[1]];
        let [lines, ways, bus] = parts.map(|cycles| {
            Q32::from_raw(times(loss.min(explained), over(cycles, whole).raw().min(1 << 32)))
        });
        Some(Loss {
            app: one.app,
            slowdown,
            lines,
            ways,
            bus,
            unexplained: Q32::from_raw(loss.saturating_sub(explained)),
            unknown: lost.unknown(one, llc),
        })
    }

    /// What a program loses, by what its misses cost; `None` without misses, or the counters.
    fn lost_cycles(&self, one: &ObservedProgram, llc: Llc, bus: Option<u64>) -> Option<LostCycles> {
        let misses = one.span.counters.llc_misses?;
        let cost = self.cost(one)?;
        let idle = match bus.filter(|_| !cost.is_known) {
            Some(factor) => Q32::ratio(cost.miss, factor).raw(),
            None => cost.idle,
        };
        let saved = SavedMisses::new(one, llc);
        // Of the wait for the bus, its own traffic causes a part alone, too.
        let alone = idle + times(cost.miss - idle, self.own_traffic(one, saved.whole[1], misses));
        let saves = alone.saturating_sub(cost.hit);
        let waits = fixed_times(misses.into(), cost.miss - alone);
        let is_bus_known = cost.is_known || bus.is_some();
        let bus = if is_bus_known {
            [waits - waits / BUS_ERROR, waits, waits + waits / BUS_ERROR]
        } else {
            [0, waits, fixed_times(misses.into(), cost.miss.saturating_sub(cost.hit))]
        };
        let cache = saved.whole.map(|saved| fixed_times(saved, saves));
        // In ways of its own it loses none to the lines of others.
        let has_mates = one.span.neighbours.iter().any(|neighbour| neighbour.lines > 0);
        let lines = if has_mates { fixed_times(saved.own, saves) } else { 0 };
        Some(LostCycles { cache, lines, bus, is_bus_known })
    }

    /// The part of all traffic that a program would cause alone, without the misses that it saves.
    fn own_traffic(&self, one: &ObservedProgram, saved: u128, misses: u64) -> u64 {
        let traffic = self.programs.iter().map(|other| other.traffic);
        let all = traffic.fold(0, u64::saturating_add);
        let misses = u128::from(misses);
        let left = u128::from(one.traffic) * (misses - saved.min(misses)) / misses;
        over(left, u128::from(all.max(1))).min(Q32::ONE).raw()
    }
}

impl LostCycles {
    fn unknown(&self, one: &ObservedProgram, llc: Llc) -> Option<Unknown> {
        let largest = one.largest();
        let is_seen = one.profile.is_some()
            || largest + u64::from(PER_WAY) > u64::from(PER_WAY * llc.ways.get())
            || self.cache[0] == self.cache[2];
        match (is_seen, self.is_bus_known) {
            (false, _) => {
                Some(Unknown::LargerSizes(Q32::from_raw((largest << 32) / u64::from(PER_WAY))))
            }
            (true, false) => Some(Unknown::IdleBus),
            (true, true) => None,
        }
    }
}

/// The misses that a program would not have.
struct SavedMisses {
    /// With the whole cache: at least, likely, at most.
    whole: [u128; 3],
    /// Alone in its own ways: of those that it likely saves, as many as it may.
    own: u128,
}

impl SavedMisses {
    fn new(one: &ObservedProgram, llc: Llc) -> Self {
        let mut all = Self { whole: [0; 3], own: 0 };
        let whole = u64::from(PER_WAY * llc.ways.get());
        let mut placed = 0;
        for (phase, size, misses, by_ways) in one.span.misses() {
            placed += u128::from(misses);
            let left = one.left(phase, size, whole);
            for (sum, left) in all.whole.iter_mut().zip(left) {
                *sum += fixed_times(misses.into(), Q32::ONE.raw() - left);
            }
            let own = over(u128::from(by_ways) * u128::from(PER_WAY), misses.into()).raw() >> 32;
            let left = one.left(phase, size, own.min(whole).max(size))[2].max(left[1]);
            all.own += fixed_times(misses.into(), Q32::ONE.raw() - left);
        }
        // What happened at sizes that are not known is taken to be as the rest.
        let others = u128::from(one.span.misses_of_unknown_size);
        if let Some(times) = ((placed + others) << 32).checked_div(placed) {
            let times = u64::try_from(times).unwrap_or(u64::MAX);
            all.own = fixed_times(all.own, times);
            all.whole = all.whole.map(|saved| fixed_times(saved, times));
            // Few windows say little of many.
            if others > placed {
                all.whole[2] = all.whole[2].max(others);
            }
        } else {
            all.whole[2] = others;
        }
        all
    }
}

/// A count times a number in units of 2^-32.
pub(crate) fn fixed_times(count: u128, number: u64) -> u128 {
    (count.min(u64::MAX.into()) * u128::from(number)) >> 32
}

/// A quotient; `whole` is not 0.
pub(crate) fn over(part: u128, whole: u128) -> Q32 {
    let fits = part >> 96 == 0;
    let quotient = if fits { (part << 32) / whole } else { part / (whole >> 32).max(1) };
    Q32::from_raw(u64::try_from(quotient).unwrap_or(u64::MAX))
}

impl Bounds {
    /// What a profile says.
    fn about(known: Q32) -> Self {
        let off = known.raw() / PROFILE_ERROR;
        let [least, most] = [known.raw() - off, known.raw().saturating_add(off)];
        Self { least: Q32::from_raw(least).max(Q32::ONE), likely: known, most: Q32::from_raw(most) }
    }
}

impl Loss {
    /// Whether the interval is so narrow that the likely slowdown says something.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let Bounds { least, likely, most } = self.slowdown;
        let width = u128::from(most.raw().saturating_sub(least.raw()));
        width * 100 <= u128::from(likely.raw()) * OPEN_PERCENT
    }

    /// The same loss, of which no more is taken for true than is certain: the slowdown is the
    /// least, with parts in proportion.
    #[must_use]
    pub fn at_least(mut self) -> Self {
        let Bounds { least, likely, .. } = self.slowdown;
        let [least, whole] = [least, likely].map(|of| of.raw().saturating_sub(Q32::ONE.raw()));
        let share = Q32::ratio(least.min(whole), whole.max(1)).raw();
        for part in [&mut self.lines, &mut self.ways, &mut self.bus, &mut self.unexplained] {
            *part = Q32::from_raw(times(part.raw(), share));
        }
        self.slowdown.likely = self.slowdown.least.min(likely);
        self
    }

    fn unexplained(app: AppId, slowdown: Q32) -> Self {
        let none = Q32::default();
        let rest = Q32::from_raw(slowdown.raw() - Q32::ONE.raw());
        let exact = Bounds { least: Q32::ONE, likely: Q32::ONE, most: Q32::ONE };
        let slowdown = if slowdown == Q32::ONE { exact } else { Bounds::about(slowdown) };
        Self { app, slowdown, lines: none, ways: none, bus: none, unexplained: rest, unknown: None }
    }
}
