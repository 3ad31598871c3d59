//! Computes the losses from what was observed.

use fairways_core::{AppId, Llc, Q32};

use crate::Attribution;
use crate::cost::AccessCost;
use crate::program::ObservedProgram;
use crate::sizes::{PER_WAY, times};

/// A number that is known within limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The true value is hardly less.
    pub least: Q32,
    /// The best guess.
    pub likely: Q32,
    /// The true value is hardly more.
    pub most: Q32,
}

/// What a program loses. The parts are in units of its time alone: the likely slowdown is 1 plus
/// their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The program.
    pub app: AppId,
    /// Its cycles divided by those that it would take alone with the whole cache; at least 1.
    pub slowdown: Bounds,
    /// The part lost because others occupy lines in ways that it may fill.
    pub lines: Q32,
    /// The part lost because it may not fill all ways.
    pub ways: Q32,
    /// The part lost because its misses wait longer for the memory bus than they would alone.
    pub bus: Q32,
    /// The remainder, for a program whose profile says how fast it is alone.
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

/// The part of the cycles that counts as noise: a 64th.
const NOISE: u64 = Q32::ONE.raw() / 64;

/// If the interval is wider than this percentage of the slowdown, the slowdown is not known.
const OPEN_PERCENT: u128 = 30;

/// A program alone is taken to need at least this part of its cycles: a 64th.
const LEAST_LEFT: u128 = 64;

/// The relative error of the wait for the bus: a fourth.
const BUS_ERROR: u128 = 4;

/// The relative error of a profile's speed alone: a 32nd.
const PROFILE_ERROR: u64 = 32;

/// The cycles that a program loses over the span: at least, likely, at most.
struct LostCycles {
    cache: [u128; 3],
    /// Of the likely loss in `cache`, the part that it would not lose if it had its own ways alone.
    lines: u128,
    bus: [u128; 3],
    is_bus_known: bool,
}

impl Attribution {
    /// The losses of all programs, in the order in which they started. Programs whose counters are
    /// missing are left out.
    pub fn losses(&self) -> impl Iterator<Item = Loss> {
        let bus = self.bus_factor();
        self.programs.iter().filter_map(move |one| self.loss(one, self.llc?, bus))
    }

    /// How many times longer a miss takes than on an idle bus, times 2^32, over all misses of the
    /// programs whose cost of a miss on an idle bus is known; `None` if there are none.
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
        // The parts of the likely slowdown, at most as much of it as they explain.
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

    /// What a program loses, from what its misses cost; `None` without misses, or if a counter is
    /// missing.
    fn lost_cycles(&self, one: &ObservedProgram, llc: Llc, bus: Option<u64>) -> Option<LostCycles> {
        let misses = one.span.counters.llc_misses?;
        let cost = self.cost(one)?;
        let idle = match bus.filter(|_| !cost.is_known) {
            Some(factor) => Q32::ratio(cost.miss, factor).raw(),
            None => cost.idle,
        };
        let saved = SavedMisses::new(one, llc);
        // Alone, the program's own traffic would still cause a part of the wait for the bus.
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
        // If no neighbour shares its ways, it loses nothing to the lines of others.
        let has_mates = one.span.neighbours.iter().any(|neighbour| neighbour.lines > 0);
        let lines = if has_mates { fixed_times(saved.own, saves) } else { 0 };
        Some(LostCycles { cache, lines, bus, is_bus_known })
    }

    /// The part of all traffic that a program would still cause alone, without the misses it saves.
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

/// The misses that a program would save.
struct SavedMisses {
    /// With the whole cache: at least, likely, at most.
    whole: [u128; 3],
    /// Alone in its own ways: at most as many as it likely saves with the whole cache.
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
        // Misses at sizes that are not known are scaled from the others.
        let others = u128::from(one.span.misses_of_unknown_size);
        if let Some(times) = ((placed + others) << 32).checked_div(placed) {
            let times = u64::try_from(times).unwrap_or(u64::MAX);
            all.own = fixed_times(all.own, times);
            all.whole = all.whole.map(|saved| fixed_times(saved, times));
            // If most misses have no known size, the others say little about them.
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
    /// The interval around a slowdown that follows from a profile.
    fn about(known: Q32) -> Self {
        let off = known.raw() / PROFILE_ERROR;
        let [least, most] = [known.raw() - off, known.raw().saturating_add(off)];
        Self { least: Q32::from_raw(least).max(Q32::ONE), likely: known, most: Q32::from_raw(most) }
    }
}

impl Loss {
    /// Whether the interval is narrow enough for the likely slowdown to mean something.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let Bounds { least, likely, most } = self.slowdown;
        let width = u128::from(most.raw().saturating_sub(least.raw()));
        width * 100 <= u128::from(likely.raw()) * OPEN_PERCENT
    }

    /// The part of this loss that is certain: the slowdown is the least one, and the parts shrink
    /// in proportion.
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
