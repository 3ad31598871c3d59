//! How a cluster fares with every number of ways: by the occupancy sweep of the published model
//! (LFOC §3), once for each set of programs.

use alloc::vec::Vec;

use super::objective::Outcome;
use super::program::SharingProgram;
use crate::occupancy::{SweepMember, divide_way_among, interpolate_raw};

/// Programs that may be searched: a set of them is a word, bit `i` for program `i`.
pub(crate) const MOST_PROGRAMS: usize = 64;

/// The outcomes of sets of programs. Its memory is reused from decision to decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    programs: Vec<SharingProgram>,
    ways: usize,
    /// The set of each row.
    sets: Vec<u64>,
    /// The fewest ways with which a set, and with which any more, keeps what is promised to its
    /// programs; more than there are if it never does.
    least: Vec<u32>,
    /// At `[row * ways + w - 1]`.
    outcomes: Vec<Outcome>,
    /// By row, the best value of each number over all ways: no outcome is better.
    best_cases: Vec<Outcome>,
    /// A table of rows by their sets, with open addresses; `u32::MAX` is free.
    places: Vec<u32>,
    /// The programs of the set at hand.
    members: Vec<SweepMember<usize>>,
}

/// The place of a set's outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(u32);

const FREE: u32 = u32::MAX;

impl Clusters {
    /// Begins with these programs, all of whose curves are of this many ways.
    pub(crate) fn restart(&mut self, ways: u32, programs: impl Iterator<Item = SharingProgram>) {
        self.ways = ways as usize;
        self.programs.clear();
        self.programs.extend(programs);
        self.sets.clear();
        self.least.clear();
        self.outcomes.clear();
        self.best_cases.clear();
        self.places.fill(FREE);
    }

    /// The fewest ways of a set, given the least that a cluster may have.
    pub(crate) fn least(&self, Row(row): Row, least_ways: u32) -> u32 {
        self.least[row as usize].max(least_ways)
    }

    /// The outcome of a set with some ways, at least one.
    pub(crate) fn outcome(&self, Row(row): Row, ways: u32) -> &Outcome {
        &self.outcomes[row as usize * self.ways + ways as usize - 1]
    }

    /// A bound on the outcomes of a set: its best value of each number, over all ways.
    pub(crate) fn best_case(&self, Row(row): Row) -> &Outcome {
        &self.best_cases[row as usize]
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
        let Self { programs, members, .. } = self;
        if let [SweepMember { member: only, .. }] = members[..] {
            each(only, programs[only].slowdowns.at(ways).raw(), u64::from(ways) << 32);
            return;
        }
        for _ in 0..ways {
            divide_way_among(members, |program| &programs[program].pressures);
        }
        for &SweepMember { member: program, occupancy, .. } in &*members {
            each(program, interpolate_raw(&programs[program].slowdowns, occupancy), occupancy);
        }
    }

    /// The outcome of a plan: sets, and the ways of each.
    pub(crate) fn outcome_of(
        &mut self,
        plan: impl Iterator<Item = (u64, u32)>,
        least_ways: u32,
    ) -> Outcome {
        let mut all = Outcome::NONE;
        for (set, ways) in plan {
            let row = self.row(set);
            if ways < self.least(row, least_ways) {
                return Outcome::BROKEN;
            }
            all = all.with(self.outcome(row, ways));
        }
        all
    }

    /// Lists the members of a set, which occupy nothing.
    fn gather(&mut self, set: u64) {
        let all = (0..self.programs.len()).filter(|program| set >> program & 1 == 1);
        self.members.clear();
        self.members.extend(all.map(SweepMember::new));
    }

    fn evaluate(&mut self, set: u64) {
        self.gather(set);
        let Self { programs, ways, members, outcomes, least, best_cases, .. } = self;
        let first = outcomes.len();
        let mut fewest = 1;
        if let [SweepMember { member: only, .. }] = members[..] {
            let only = &programs[only];
            fewest = only.promise.map_or(1, |(ways, _)| ways);
            outcomes.extend((1..).take(*ways).map(|ways| {
                let mut outcome = Outcome::NONE;
                only.add_to(&mut outcome, only.slowdowns.at(ways).raw());
                outcome
            }));
        } else {
            for ways in (1..).take(*ways) {
                divide_way_among(members, |program| &programs[program].pressures);
                let mut outcome = Outcome::NONE;
                for &SweepMember { member: program, occupancy, .. } in &*members {
                    let program = &programs[program];
                    let slowdown = interpolate_raw(&program.slowdowns, occupancy);
                    program.add_to(&mut outcome, slowdown);
                    if program.promise.is_some_and(|(_, slowest)| slowdown > slowest) {
                        fewest = ways + 1;
                    }
                }
                outcomes.push(outcome);
            }
        }
        least.push(fewest);
        let best = outcomes[first..].iter().copied().reduce(|one, other| Outcome {
            largest: one.largest.min(other.largest),
            smallest: one.smallest.max(other.smallest),
            stp: one.stp.max(other.stp),
        });
        best_cases.push(best.unwrap_or(Outcome::NONE));
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{Curve, Q32};

    use super::*;

    fn program(slowdowns: Curve, pressures: Curve) -> SharingProgram {
        SharingProgram { slowdowns, pressures, promise: None, is_best_effort: false, weight: 1 }
    }

    fn curve(values: [u32; 5]) -> Curve {
        Curve::new(values.map(Q32::from_int)).unwrap()
    }

    /// Two programs that share evenly: the first is as fast as its promise demands from four ways
    /// on, with two of which it would be so alone.
    #[test]
    fn a_promise_demands_ways_of_its_set() {
        let mut clusters = Clusters::default();
        let promise = Some((2, 6 << 32));
        let first = program(curve([9, 6, 4, 3, 2]), curve([1; 5]));
        let first = SharingProgram { promise, ..first };
        let second = program(curve([9; 5]), curve([1; 5]));
        let best_effort = SharingProgram { is_best_effort: true, ..second.clone() };
        let never = SharingProgram { promise: Some((2, 0)), ..second.clone() };
        clusters.restart(5, [first, second, best_effort, never].into_iter());
        for (set, least) in [(0b0001, 2), (0b0010, 1), (0b0011, 4), (0b1010, 6), (0b1000, 2)] {
            let row = clusters.row(set);
            assert_eq!(clusters.least(row, 1), least, "{set:b}");
        }
        let row = clusters.row(0b0101);
        assert_eq!(clusters.outcome(row, 4).largest, 6 << 32);
    }

    #[test]
    fn a_set_is_evaluated_once_and_shares_its_ways_by_pressure() {
        let curve = |values: [u32; 2]| Curve::new(values.map(Q32::from_int)).unwrap();
        let mut clusters = Clusters::default();
        // Equal pressures: after two ways each occupies one.
        let programs =
            [curve([4, 2]), curve([8, 1])].map(|slowdowns| program(slowdowns, curve([1, 1])));
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
        clusters.restart(1, (1..=10).map(|value| program(curve(value), curve(1))));
        let rows: Vec<Row> = (1..1024).map(|set| clusters.row(set)).collect();
        assert_eq!(clusters.sets.len(), 1023);
        for (set, row) in (1..1024).zip(rows) {
            assert_eq!(clusters.row(set), row);
        }
        assert_eq!(clusters.sets.len(), 1023);
    }
}
