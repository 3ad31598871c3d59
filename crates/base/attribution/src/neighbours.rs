//! How many lines and ways each neighbour takes from a program.
//!
//! If a neighbour that fills the same ways were gone, the others would share its lines by how fast
//! each brings lines in: if all bring in `F` lines, the neighbour `n` of them and a program `f`,
//! the program gets the part `f / (F - n)` of the neighbour's lines. Ways that a program may not
//! fill are taken by the programs that may, each by its share of the lines there.

use alloc::vec::Vec;
use core::time::Duration;

use fairways_core::WayMask;

use crate::Attribution;
use crate::program::{Neighbour, ObservedProgram};

impl Attribution {
    /// The programs that may fill any way of a mask, with their places.
    pub(crate) fn sharing(&self, mask: WayMask) -> impl Iterator<Item = (usize, &ObservedProgram)> {
        self.programs.iter().enumerate().filter(move |(_, one)| one.may_fill_of(mask))
    }

    /// Records how many ways count as a program's own: of shared ways, its share of the lines. If
    /// an occupancy is missing, its share of the lines that all bring in.
    pub(crate) fn own(&mut self, place: usize, mask: WayMask) {
        let is_known = self.sharing(mask).all(|(_, one)| one.occupancy.is_some() || one.fills == 0);
        let all: u64 = self.sharing(mask).map(|(_, one)| one.lines(is_known)).sum();
        let ways = u64::from(mask.count()) << 8;
        self.programs[place].owned = ways * self.programs[place].lines(is_known) / all.max(1);
    }

    /// Adds what neighbours took while a program ran this long, to the present span and to the next
    /// one, as `counts` says.
    pub(crate) fn count_neighbours(
        &mut self,
        place: usize,
        window: Duration,
        mask: WayMask,
        counts: [bool; 2],
    ) {
        let micros = u64::try_from(window.as_micros()).unwrap_or(u64::MAX).min(1 << 30);
        let own = self.programs[place].fills.max(1);
        let all = self.sharing(mask).map(|(_, one)| one.fills).fold(0, u64::saturating_add);
        let mut counted = self.programs[place].take_neighbours(counts);
        let [first, next] = &mut counted;
        for (other, one) in self.programs.iter().enumerate() {
            if other == place {
                continue;
            }
            let taken = one.takes(micros, own, all, mask);
            for neighbours in [&mut *first, &mut *next] {
                if let Some(neighbour) = neighbours.get_mut(other) {
                    neighbour.add(&taken);
                }
            }
        }
        self.programs[place].put_neighbours(counted);
    }
}

impl ObservedProgram {
    /// What it takes, in this time, from a program that brings in `own` of the `all` lines of a
    /// mask.
    #[inline]
    fn takes(&self, micros: u64, own: u64, all: u64, mask: WayMask) -> Neighbour {
        let (mut lines, mut ways) = (0, 0);
        if self.may_fill_of(mask) {
            let rest = all.saturating_sub(self.fills).max(own);
            lines = micros * self.owned / 256 * (own.saturating_mul(256) / rest);
        } else {
            ways = micros * self.owned;
        }
        Neighbour { lines, ways, bytes: (micros / 1000).saturating_mul(self.traffic) }
    }

    /// Moves the lists of neighbours out of the spans that count, for `put_neighbours` to put back.
    fn take_neighbours(&mut self, counts: [bool; 2]) -> [Vec<Neighbour>; 2] {
        let mut taken = [Vec::new(), Vec::new()];
        for ((span, counts), taken) in self.spans_mut().zip(counts).zip(&mut taken) {
            if counts {
                *taken = core::mem::take(&mut span.neighbours);
            }
        }
        taken
    }

    fn put_neighbours(&mut self, taken: [Vec<Neighbour>; 2]) {
        for (span, taken) in self.spans_mut().zip(taken) {
            if !taken.is_empty() {
                span.neighbours = taken;
            }
        }
    }
}

impl Neighbour {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.lines = self.lines.saturating_add(other.lines);
        self.ways = self.ways.saturating_add(other.ways);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
