//! Which neighbour takes how much.
//!
//! If a neighbour that fills the same ways were gone, its lines would go to the others there, by
//! how fast each brings lines in: a program that brings in `f` of `F` gets `f / (F - n)` of them,
//! where `n` are the neighbour's. Ways that a program may not fill are taken by those that may,
//! each as far as its lines are of theirs.

use core::time::Duration;

use fairways_core::WayMask;

use crate::Attribution;
use crate::program::ObservedProgram;

impl Attribution {
    /// The programs that may fill ways of a mask, with their places.
    pub(crate) fn sharing(&self, mask: WayMask) -> impl Iterator<Item = (usize, &ObservedProgram)> {
        self.programs.iter().enumerate().filter(move |(_, one)| one.may_fill_of(mask))
    }

    /// Notes how many ways are a program's own: of shared ways, its part of the lines.
    pub(crate) fn own(&mut self, place: usize, mask: WayMask) {
        let all: u64 = self.sharing(mask).map(|(_, one)| one.lines()).sum();
        let ways = u64::from(mask.count()) << 8;
        self.programs[place].owned = ways * self.programs[place].lines() / all.max(1);
    }

    /// Adds what its neighbours took while a program ran this long, to the span and to the next one
    /// if it counts for them.
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
        for other in (0..self.programs.len()).filter(|&other| other != place) {
            let ObservedProgram { fills, owned, traffic, .. } = self.programs[other];
            let (mut lines, mut ways) = (0, 0);
            if self.programs[other].may_fill_of(mask) {
                let rest = all.saturating_sub(fills).max(own);
                lines = micros * owned / 256 * (own.min(rest).saturating_mul(256) / rest);
            } else {
                ways = micros * owned;
            }
            let bytes = (micros / 1000).saturating_mul(traffic);
            let spans = self.programs[place].spans_mut().zip(counts);
            for (span, _) in spans.filter(|(_, counts)| *counts) {
                let neighbour = &mut span.neighbours[other];
                neighbour.lines = neighbour.lines.saturating_add(lines);
                neighbour.ways = neighbour.ways.saturating_add(ways);
                neighbour.bytes = neighbour.bytes.saturating_add(bytes);
            }
        }
    }
}
