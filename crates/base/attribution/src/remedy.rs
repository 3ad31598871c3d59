//! What would end a victim's loss of cache: how many ways of its own it needs, and what they cost
//! others.
//!
//! This follows from the programs' sizes and from how often each misses at other sizes. If the
//! victim gets ways of its own, the lines of all others shrink in proportion. The bus is assumed to
//! stay as it is.

use alloc::vec::Vec;

use fairways_core::{AppId, Llc, Q32};

use crate::Attribution;
use crate::loss::{Bounds, Loss, fixed_times, over};
use crate::program::ObservedProgram;
use crate::sizes::{PER_WAY, size_of};

/// Ways of a victim's own that would help it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The neighbour that costs the victim most.
    pub culprit: AppId,
    /// How many ways.
    pub ways: u32,
    /// How much faster the victim would be, in units of its time alone.
    pub saves: Bounds,
    /// How much slower the culprit would be, in units of its time alone.
    pub costs: Bounds,
    /// How much slower all other programs would be, added up: the best guess.
    pub costs_others: Q32,
    /// Whether the victim was never seen with this many ways.
    pub is_guess: bool,
}

/// A smaller gain is not worth a change: a 100th.
const WORTH: Q32 = Q32::from_raw(Q32::ONE.raw() / 100);

/// A program whose size might change.
struct SizedProgram<'a> {
    of: &'a ObservedProgram,
    /// Its occupancy, in parts of a way.
    size: u64,
    /// How many more cycles a miss costs than a hit, times 2^32.
    by_miss: u64,
    /// The cycles that the span would take it alone, by its least, likely and largest slowdown.
    alone: [u128; 3],
}

impl Attribution {
    /// The smallest number of own ways whose net gain (what the program saves, less what it costs
    /// the others) is within a 100th of the best. `None` if no neighbour is blamed, the cache can't
    /// be divided, or no number of ways helps.
    #[must_use]
    pub fn remedy(&self, loss: Loss) -> Option<Remedy> {
        let culprit = self.worst_culprit(loss)?.culprit;
        let llc = self.llc.filter(|llc| llc.clos > 1)?;
        let bus = self.bus_factor();
        let all: Vec<SizedProgram<'_>> =
            self.programs.iter().filter_map(|one| self.sized(one, llc, bus)).collect();
        let victim = all.iter().find(|one| one.of.app == loss.app)?;
        let tried: Vec<Remedy> =
            (1..llc.ways.get()).map(|ways| try_ways(&all, victim, culprit, ways, llc)).collect();
        let best = tried.iter().map(Remedy::net).max()?;
        let nearly = best - i128::from(WORTH.raw());
        let fewest = tried.into_iter().find(|of| of.net() >= nearly)?;
        (best > 0 && fewest.saves.likely >= WORTH).then_some(fewest)
    }

    /// `None` for a program whose counters or occupancy are missing, or that never missed.
    fn sized<'a>(
        &self,
        of: &'a ObservedProgram,
        llc: Llc,
        bus: Option<u64>,
    ) -> Option<SizedProgram<'a>> {
        let Bounds { least, likely, most } = self.loss(of, llc, bus)?.slowdown;
        let (cost, cycles) = (self.cost(of)?, u128::from(of.span.counters.cycles?) << 32);
        Some(SizedProgram {
            of,
            size: size_of(of.occupancy?) as u64,
            by_miss: cost.miss.saturating_sub(cost.hit),
            alone: [least, likely, most].map(|slow| (cycles / u128::from(slow.raw())).max(1)),
        })
    }
}

/// What a program would save, and cost others, with this many ways of its own.
fn try_ways(
    all: &[SizedProgram<'_>],
    victim: &SizedProgram<'_>,
    culprit: AppId,
    ways: u32,
    llc: Llc,
) -> Remedy {
    let (whole, size) = (u64::from(PER_WAY * llc.ways.get()), u64::from(PER_WAY * ways));
    let seen = victim.of.largest() + u64::from(PER_WAY);
    let mut found = Remedy {
        culprit,
        ways,
        saves: victim.saves_at(size),
        costs: Bounds::default(),
        costs_others: Q32::default(),
        is_guess: victim.of.profile.is_none() && size >= seen,
    };
    for other in all.iter().filter(|one| one.of.app != victim.of.app) {
        let rest = other.size * (whole - size) / whole.saturating_sub(victim.size).max(1);
        let costs = other.costs_at(rest.min(other.size));
        if other.of.app == culprit {
            found.costs = costs;
        } else {
            let sum = found.costs_others.raw().saturating_add(costs.likely.raw());
            found.costs_others = Q32::from_raw(sum);
        }
    }
    found
}

impl SizedProgram<'_> {
    /// How much faster the program would be at this size, in units of its time alone.
    fn saves_at(&self, size: u64) -> Bounds {
        let now = self.misses();
        self.bounds(self.misses_at(size).map(|then| now.saturating_sub(then)))
    }

    /// How much slower it would be, likewise.
    fn costs_at(&self, size: u64) -> Bounds {
        let now = self.misses();
        self.bounds(self.misses_at(size).map(|then| then.saturating_sub(now)))
    }

    fn bounds(&self, misses: [u128; 3]) -> Bounds {
        let [least, likely, most] = [0, 1, 2]
            .map(|which| over(fixed_times(misses[which], self.by_miss), self.alone[which]));
        Bounds { least, likely, most }
    }

    fn misses(&self) -> u128 {
        self.of.span.counters.llc_misses.unwrap_or(0).into()
    }

    /// The misses of the span if it had this size: by the least change, the likely one, and the
    /// largest.
    fn misses_at(&self, size: u64) -> [u128; 3] {
        let mut sums = [0; 3];
        for (phase, from, misses, _) in self.of.span.misses() {
            let left = self.of.left(phase, from.min(size), from.max(size));
            for (sum, left) in sums.iter_mut().zip(left) {
                *sum += if from <= size {
                    fixed_times(misses.into(), left)
                } else {
                    (u128::from(misses) << 32) / u128::from(left.max(1))
                };
            }
        }
        let most = u128::from(self.of.span.counters.llc_references.unwrap_or(0)).max(self.misses());
        sums.map(|misses| misses.min(most))
    }
}

impl Remedy {
    /// What the victim saves, less what all others lose.
    fn net(&self) -> i128 {
        let [saves, costs, others] = [self.saves.likely, self.costs.likely, self.costs_others]
            .map(|of| i128::from(of.raw()));
        saves - costs - others
    }
}
