//! How a victim's loss is divided among the neighbours that cause it.

use fairways_core::{AppId, Q32};

use crate::Attribution;
use crate::loss::{Loss, over};
use crate::program::Neighbour;
use crate::sizes::times;

/// The part of a victim's loss that a neighbour causes, in units of the victim's time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caused {
    /// The neighbour.
    pub culprit: AppId,
    /// Through the lines and ways that it occupies.
    pub cache: Q32,
    /// Through its memory traffic.
    pub bus: Q32,
}

/// A neighbour is blamed only if the victim's slowdown is at least this (1 + 1/40), and only for a
/// part of the loss of at least this (1/100), in units of the victim's time alone.
const HARMED: Q32 = Q32::from_raw(Q32::ONE.raw() + Q32::ONE.raw() / 40);
const BLAMED: Q32 = Q32::from_raw(Q32::ONE.raw() / 100);

impl Caused {
    /// Through the cache and the bus.
    #[must_use]
    pub const fn total(&self) -> Q32 {
        Q32::from_raw(self.cache.raw().saturating_add(self.bus.raw()))
    }
}

impl Attribution {
    /// The neighbour that causes the largest part of a program's loss; `None` if the program loses
    /// too little to blame one.
    #[must_use]
    pub fn worst_culprit(&self, loss: Loss) -> Option<Caused> {
        let worst = self.caused(loss).max_by_key(Caused::total)?;
        (loss.slowdown.likely >= HARMED && worst.total() >= BLAMED).then_some(worst)
    }

    /// What each neighbour causes of a program's loss, in the order in which the neighbours
    /// started. Lines and ways are charged by how many of them the neighbour has, traffic by how
    /// far it exceeds a fair share.
    pub fn caused(&self, loss: Loss) -> impl Iterator<Item = Caused> {
        let place = self.programs.iter().position(|one| one.app == loss.app);
        let neighbours = place.map_or(&[][..], |place| &self.programs[place].span.neighbours);
        let sum =
            |of: fn(&Neighbour) -> u64| neighbours.iter().map(|one| u128::from(of(one))).sum();
        let [lines, ways, bytes]: [u128; 3] =
            [sum(|one| one.lines), sum(|one| one.ways), sum(|one| one.bytes)];
        let fair = bytes / (neighbours.len() as u128).saturating_sub(1).max(1);
        let above = neighbours.iter().map(|one| u128::from(one.bytes).saturating_sub(fair)).sum();
        let (fair, bytes) = if above > 0 { (fair, above) } else { (0, bytes) };
        let others = self.programs.iter().zip(neighbours);
        others.filter(move |(one, _)| one.app != loss.app).map(move |(one, neighbour)| {
            let by_lines = share(loss.lines, neighbour.lines.into(), lines);
            let by_ways = share(loss.ways, neighbour.ways.into(), ways);
            let by_bytes = u128::from(neighbour.bytes).saturating_sub(fair);
            let bus = Q32::from_raw(share(loss.bus, by_bytes, bytes));
            Caused { culprit: one.app, cache: Q32::from_raw(by_lines + by_ways), bus }
        })
    }
}

/// The part `own / all` of `part`, times 2^32.
fn share(part: Q32, own: u128, all: u128) -> u64 {
    times(part.raw(), over(own, all.max(1)).raw())
}
