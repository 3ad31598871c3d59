//! A loss, by the neighbours that cause it.

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
    /// By its lines and ways.
    pub cache: Q32,
    /// By its traffic.
    pub bus: Q32,
}

/// A slowdown from which on a neighbour is blamed: 1 and a 40th; and the least part that one is
/// blamed for: a 100th.
const HARMED: Q32 = Q32::from_raw(Q32::ONE.raw() + Q32::ONE.raw() / 40);
const BLAMED: Q32 = Q32::from_raw(Q32::ONE.raw() / 100);

impl Caused {
    /// By all that it does.
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

    /// By neighbour, what it causes of a program's loss, in the order in which they started. Lines
    /// and ways count by what the neighbour has of them, traffic as far as it exceeds a fair share.
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

/// The share `own` of `all` of a part, times 2^32.
fn share(part: Q32, own: u128, all: u128) -> u64 {
    times(part.raw(), over(own, all.max(1)).raw())
}
