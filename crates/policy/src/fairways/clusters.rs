//! How a cluster fares with every number of ways: by the occupancy sweep of the published model
//! (LFOC §3), once for each set of programs.

use alloc::vec::Vec;

use fairways_core::Curve;

use super::objective::Outcome;
use crate::occupancy::{interpolate_raw, pressure_at};

/// Programs that may be searched: a set of them is a word, bit `i` for program `i`.
pub(crate) const MOST_PROGRAMS: usize = 64;

/// The outcomes of sets of programs. Its memory is reused from decision to decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    slowdowns: Vec<Curve>,
    pressures: Vec<Curve>,
    ways: usize,
    /// The set of each row.
    sets: Vec<u64>,
    /// At `[row * ways + w - 1]`.
    outcomes: Vec<Outcome>,
    /// A table of rows by their sets, with open addresses; `u32::MAX` is free.
    places: Vec<u32>,
    members: Vec<Member>,
}

/// A program of the set at hand, the ways that it occupies, times 2^32, and how hard it presses.
type Member = (usize, u64, u64);

/// The place of a set's outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(u32);

const FREE: u32 = u32::MAX;

impl Clusters {
    /// Begins with programs of these slowdowns and pressures (LLCMPKC), all curves of this many
    /// ways.
    pub(crate) fn restart(&mut self, ways: u32, programs: impl Iterator<Item = (Curve, Curve)>) {
        self.ways = ways as usize;
        self.slowdowns.clear();
        self.pressures.clear();
        for (slowdowns, pressures) in programs {
            self.slowdowns.push(slowdowns);
            self.pressures.push(pressures);
        }
        self.sets.clear();
        self.outcomes.clear();
        self.places.fill(FREE);
    }

    /// The outcome of a set with some ways, at least one.
    pub(crate) fn outcome(&self, Row(row): Row, ways: u32) -> &Outcome {
        &self.outcomes[row as usize * self.ways + ways as usize - 1]
    }

    /// The row of a set, which is evaluated if it is new.
    pub(crate) fn row(&mut self, set: u64) -> Row {
        if self.places.len() < 2 * (self.sets.len() + 1) {
            self.grow();
        }
        let place = self.find(set);
        if self.places[place] == FREE {
            self.places[place] = u32::try_from(self.sets.len()).unwrap_or(FREE);
            self.sets.push(set);
            self.evaluate(set);
        }
        Row(self.places[place])
    }

    /// Where a set is in the table, or where it belongs.
    fn find(&self, set: u64) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing: the high bits of the product are well mixed.
        let hash = set.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut place = usize::try_from(hash).unwrap_or(0) & mask;
        while self.places[place] != FREE && self.sets[self.places[place] as usize] != set {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(256);
        self.places.clear();
        self.places.resize(length, FREE);
        for row in 0..self.sets.len() {
            let place = self.find(self.sets[row]);
            self.places[place] = u32::try_from(row).unwrap_or(FREE);
        }
    }

    /// The slowdown of each program of a set with this number of ways, and the ways that it
    /// occupies, both in units of 2^-32.
    pub(crate) fn slowdowns(&mut self, set: u64, ways: u32, mut each: impl FnMut(usize, u64, u64)) {
        self.gather(set);
        let Self { slowdowns, pressures, members, .. } = self;
        if let [(only, ..)] = members[..] {
            each(only, slowdowns[only].at(ways).raw(), u64::from(ways) << 32);
            return;
        }
        (0..ways).for_each(|_| divide_way(pressures, members));
        for &(program, occupancy, _) in &*members {
            each(program, interpolate_raw(&slowdowns[program], occupancy), occupancy);
        }
    }

    /// Lists the members of a set, which occupy nothing.
    fn gather(&mut self, set: u64) {
        let all = (0..self.slowdowns.len()).filter(|program| set >> program & 1 == 1);
        self.members.clear();
        self.members.extend(all.map(|program| (program, 0, 0)));
    }

    fn evaluate(&mut self, set: u64) {
        self.gather(set);
        let Self { slowdowns, pressures, ways, members, outcomes, .. } = self;
        if let [(only, ..)] = members[..] {
            outcomes.extend((1..).take(*ways).map(|ways| {
                let mut outcome = Outcome::NONE;
                outcome.add(slowdowns[only].at(ways).raw());
                outcome
            }));
            return;
        }
        for _ in 0..*ways {
            divide_way(pressures, members);
            let mut outcome = Outcome::NONE;
            for &(program, occupancy, _) in &*members {
                outcome.add(interpolate_raw(&slowdowns[program], occupancy));
            }
            outcomes.push(outcome);
        }
    }
}

/// Divides one more way among members, by how hard each presses.
fn divide_way(pressures: &[Curve], members: &mut [Member]) {
    let even = (1 << 32) / members.len().max(1) as u64;
    let mut bits = 0;
    for (program, occupancy, presses) in &mut *members {
        *presses = pressure_at(&pressures[*program], *occupancy);
        bits |= *presses;
    }
    // Each has 31 bits then: sums of 64 members, and 32 bits more for one, fit.
    let spare = (u64::BITS - bits.leading_zeros()).saturating_sub(31);
    let total: u64 = members.iter().map(|(.., presses)| presses >> spare).sum();
    for (_, occupancy, presses) in members {
        *occupancy += ((*presses >> spare) << 32).checked_div(total).unwrap_or(even);
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::Q32;

    use super::*;

    #[test]
    fn a_set_is_evaluated_once_and_shares_its_ways_by_pressure() {
        let curve = |values: [u32; 2]| Curve::new(values.map(Q32::from_int)).unwrap();
        let mut clusters = Clusters::default();
        // Equal pressures: after two ways each occupies one.
        let programs = [(curve([4, 2]), curve([1, 1])), (curve([8, 1]), curve([1, 1]))];
        clusters.restart(2, programs.into_iter());
        let [first, both] = [0b01, 0b11].map(|set| clusters.row(set));
        let slowdowns = |row| {
            [1, 2].map(|ways| {
                let outcome = clusters.outcome(row, ways);
                (outcome.largest >> 32, outcome.smallest >> 32)
            })
        };
        assert_eq!(slowdowns(first), [(4, 4), (2, 2)]);
        // Below one way, curves go on along their first two values: 5 and 11.5.
        assert_eq!(slowdowns(both), [(11, 5), (8, 4)]);
        assert_eq!((clusters.row(0b11), clusters.sets.len()), (both, 2));
    }

    #[test]
    fn every_set_keeps_its_row_as_the_table_grows() {
        let curve = |value| Curve::new([Q32::from_int(value)]).unwrap();
        let mut clusters = Clusters::default();
        clusters.restart(1, (1..=10).map(|value| (curve(value), curve(1))));
        let rows: Vec<Row> = (1..1024).map(|set| clusters.row(set)).collect();
        assert_eq!(clusters.sets.len(), 1023);
        for (set, row) in (1..1024).zip(rows) {
            assert_eq!(clusters.row(set), row);
        }
        assert_eq!(clusters.sets.len(), 1023);
    }
}
