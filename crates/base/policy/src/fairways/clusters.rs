//! The outcome of a cluster with every number of ways, by the occupancy sweep of the published
//! model (LFOC §3). It is computed once for each set of programs, way by way, as far as needed.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::limits::Limits;
use super::objective::Outcome;
use super::program::{SharingProgram, members};
use super::sweep::{PressedCurves, SweptProgram};

/// The most programs that can be searched: a set of them is a word, bit `i` for program `i`.
pub(crate) const MOST_PROGRAMS: usize = 64;

/// The outcomes of sets of programs. Its memory is reused from decision to decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    programs: Vec<SharingProgram>,
    /// The most that the smallest slowdown of any plan can be.
    ceiling: u64,
    ways: u32,
    curves: PressedCurves,
    rows: Vec<EvaluatedSet>,
    /// Outcomes at `[row * ways + w - 1]`, as far as the set is evaluated: the largest slowdown,
    /// which is read most often, then the smallest one with the throughput.
    largest: Vec<u64>,
    others: Vec<[u64; 2]>,
    /// The ways that each member of each set occupies, after the last evaluated one.
    occupancies: Vec<u64>,
    /// A hash table with open addressing, from sets to rows; `u32::MAX` is free.
    places: Vec<u32>,
    /// The programs of the set that is being evaluated.
    swept: Vec<SweptProgram>,
}

/// A set of programs, evaluated way by way, as far as divisions need.
#[derive(Clone, Copy, Debug)]
struct EvaluatedSet {
    set: u64,
    /// The fewest ways with which, and with any more, it keeps the promises to its programs; more
    /// than the cache has if it never does.
    least: u32,
    /// The number of ways up to which it is evaluated.
    evaluated: u32,
    /// Where the occupancies of its members begin.
    first: usize,
}

/// The place of a set's outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row(u32);

const FREE: u32 = u32::MAX;

impl Clusters {
    /// Starts again with these programs, whose curves all have this many ways.
    pub(crate) fn restart(&mut self, ways: u32, programs: impl Iterator<Item = SharingProgram>) {
        self.ways = ways;
        self.programs.clear();
        self.programs.extend(programs);
        self.ceiling = self.programs.iter().map(SharingProgram::ceiling).min().unwrap_or(0);
        self.curves.restart(ways, &self.programs);
        self.rows.clear();
        self.largest.clear();
        self.others.clear();
        self.occupancies.clear();
        self.places.fill(FREE);
    }

    /// The fewest ways that a set may have, if a cluster has at least `least_ways`.
    pub(crate) fn least(&self, Row(row): Row, least_ways: u32) -> u32 {
        self.rows[row as usize].least.max(least_ways)
    }

    /// Whether a set is not evaluated for any number of ways yet.
    pub(crate) fn is_new(&self, Row(row): Row) -> bool {
        self.rows[row as usize].evaluated == 0
    }

    /// A bound on the smallest slowdown of any plan of all programs.
    pub(crate) const fn ceiling_of_all(&self) -> u64 {
        self.ceiling
    }

    /// The least that each program must occupy to be no slower than this, in units of 2^-32, if its
    /// slowdown counts; more than all ways if it is always slower.
    pub(crate) fn least_occupancies(&self, slowest: u64) -> impl Iterator<Item = u64> {
        self.programs.iter().map(move |program| program.least_occupancy(slowest))
    }

    /// The outcome of a set with some ways, at least one, for which it is evaluated.
    pub(crate) fn outcome(&self, row: Row, ways: u32) -> Outcome {
        let place = self.place(row, ways);
        let [smallest, stp] = self.others[place];
        Outcome { largest: self.largest[place], smallest, stp }
    }

    /// The largest slowdown of a set with a number of ways for which it is evaluated.
    pub(crate) fn largest(&self, row: Row, ways: u32) -> u64 {
        self.largest[self.place(row, ways)]
    }

    const fn place(&self, Row(row): Row, ways: u32) -> usize {
        row as usize * self.ways as usize + ways as usize - 1
    }

    /// The first number of ways in a range with which no program of a set is slower than this.
    pub(crate) fn fewest(
        &mut self,
        row: Row,
        ways: RangeInclusive<u32>,
        slowest: u64,
    ) -> Option<u32> {
        let (first, last) = ways.into_inner();
        let evaluated = self.rows[row.0 as usize].evaluated;
        if first <= evaluated.min(last) {
            let known = self.place(row, first)..=self.place(row, evaluated.min(last));
            if let Some(found) = self.largest[known].iter().position(|&one| one <= slowest) {
                return Some(first + u32::try_from(found).unwrap_or(0));
            }
        }
        let next = first.max(evaluated + 1);
        if next > last {
            return None;
        }
        self.evaluate_until(row, next..=last, slowest);
        let reached = self.rows[row.0 as usize].evaluated;
        (self.largest(row, reached) <= slowest).then_some(reached)
    }

    /// An upper bound on the smallest slowdown of a set with these numbers of ways; 0 for none.
    pub(crate) fn most_smallest(&mut self, row: Row, ways: RangeInclusive<u32>) -> u64 {
        let (first, last) = ways.into_inner();
        self.evaluate(row, last);
        (first..=last).map(|ways| self.others[self.place(row, ways)][0]).max().unwrap_or(0)
    }

    /// The row of a set.
    pub(crate) fn row(&mut self, set: u64) -> Row {
        if self.places.len() < 2 * (self.rows.len() + 1) {
            self.grow();
        }
        let place = self.find(set);
        if self.places[place] == FREE {
            self.places[place] = u32::try_from(self.rows.len()).unwrap_or(FREE);
            self.add(set);
        }
        Row(self.places[place])
    }

    /// Where the table has a set, or has room for it.
    fn find(&self, set: u64) -> usize {
        let mask = self.places.len() - 1;
        // Fibonacci hashing: the high bits of the product are well mixed.
        let hash = set.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut place = usize::try_from(hash).unwrap_or(0) & mask;
        while self.places[place] != FREE && self.rows[self.places[place] as usize].set != set {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (2 * self.places.len()).max(256);
        self.places.clear();
        self.places.resize(length, FREE);
        for row in 0..self.rows.len() {
            let place = self.find(self.rows[row].set);
            self.places[place] = u32::try_from(row).unwrap_or(FREE);
        }
    }

    /// Adds a set. It is evaluated at once only if that is needed to know what keeps a promise.
    fn add(&mut self, set: u64) {
        let row = self.rows.len();
        let first = self.occupancies.len();
        let mut promised = None;
        for program in members(set) {
            promised = promised.or(self.programs[program as usize].promise);
            self.occupancies.push(0);
        }
        let mut least = 1;
        if let Some((ways, _)) = promised.filter(|_| set.is_power_of_two()) {
            least = ways;
        }
        self.rows.push(EvaluatedSet { set, least, evaluated: 0, first });
        self.largest.resize((row + 1) * self.ways as usize, 0);
        self.others.resize((row + 1) * self.ways as usize, [0; 2]);
        if promised.is_some() && !set.is_power_of_two() {
            self.evaluate(Row(u32::try_from(row).unwrap_or(FREE)), self.ways);
        }
    }

    /// Adds a program with this slowdown to an outcome.
    pub(crate) fn add_to(&self, program: usize, outcome: &mut Outcome, slowdown: u64) {
        self.programs[program].add_to(outcome, slowdown);
    }

    /// Calls `each` for each program of a set with this number of ways: its slowdown and its
    /// occupancy, both in units of 2^-32.
    pub(crate) fn slowdowns(&mut self, set: u64, ways: u32, mut each: impl FnMut(usize, u64, u64)) {
        let Self { curves, swept, .. } = self;
        curves.gather(set, core::iter::repeat(0), swept);
        for _ in 0..ways {
            curves.divide_way(swept);
        }
        for &SweptProgram { program, occupancy, slowdown, .. } in &*swept {
            each(program, slowdown, occupancy);
        }
    }

    /// The outcome of a plan, given as sets and the ways of each, and of all programs elsewhere.
    pub(crate) fn outcome_of(
        &mut self,
        plan: impl Iterator<Item = (u64, u32)>,
        limits: Limits,
    ) -> Outcome {
        let mut all = limits.elsewhere;
        for (set, ways) in plan {
            let row = self.row(set);
            if ways < self.least(row, limits.least_ways) {
                return Outcome::BROKEN;
            }
            self.evaluate(row, ways);
            all = all.with(&self.outcome(row, ways));
        }
        all
    }

    /// Evaluates a set up to this many ways.
    pub(crate) fn evaluate(&mut self, row: Row, ways: u32) {
        if self.rows[row.0 as usize].evaluated < ways {
            self.evaluate_until(row, ways..=ways, 0);
        }
    }

    /// Evaluates a set up to the first number of ways in the range with which no program is slower
    /// than this, or to the last of them. It is not evaluated yet for the first.
    fn evaluate_until(&mut self, Row(row): Row, ways: RangeInclusive<u32>, slowest: u64) {
        let place = row as usize * self.ways as usize;
        let Self { programs, curves, rows, swept, largest, others, occupancies, .. } = self;
        let row = &mut rows[row as usize];
        curves.gather(row.set, occupancies[row.first..].iter().copied(), swept);
        let is_alone = swept.len() == 1;
        for next in row.evaluated + 1..=*ways.end() {
            curves.divide_way(swept);
            let mut outcome = Outcome::NONE;
            for &SweptProgram { program, slowdown, .. } in &*swept {
                let program = &programs[program];
                program.add_to(&mut outcome, slowdown);
                if !is_alone && program.promise.is_some_and(|(_, slowest)| slowdown > slowest) {
                    row.least = next + 1;
                }
            }
            largest[place + next as usize - 1] = outcome.largest;
            others[place + next as usize - 1] = [outcome.smallest, outcome.stp];
            row.evaluated = next;
            if next >= *ways.start() && outcome.largest <= slowest {
                break;
            }
        }
        for (known, one) in occupancies[row.first..].iter_mut().zip(&*swept) {
            *known = one.occupancy;
        }
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{Curve, Q32};

    use super::*;
    use crate::occupancy::below_one;

    fn program(slowdowns: Curve, pressures: Curve) -> SharingProgram {
        SharingProgram {
            slowest: below_one(&slowdowns).raw(),
            slowdowns,
            pressures,
            promise: None,
            is_best_effort: false,
            weight: 1,
        }
    }

    fn curve(values: [u32; 5]) -> Curve {
        Curve::new(values.map(Q32::from_int)).unwrap()
    }

    /// Two programs that share evenly: the first keeps its promise from four ways on; alone, two
    /// would suffice.
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
        clusters.evaluate(row, 4);
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
        clusters.evaluate(first, 2);
        // A set is evaluated only as far as needed, and further later.
        assert_eq!(clusters.fewest(both, 1..=2, 12 << 32), Some(1));
        assert_eq!(clusters.fewest(both, 1..=1, 8 << 32), None);
        assert_eq!(clusters.fewest(both, 1..=2, 8 << 32), Some(2));
        let slowdowns = |row| {
            [1, 2].map(|ways| {
                let outcome = clusters.outcome(row, ways);
                (outcome.largest >> 32, outcome.smallest >> 32)
            })
        };
        assert_eq!(slowdowns(first), [(4, 4), (2, 2)]);
        // Below one way, curves continue the line through their first two values: 5 and 11.5.
        assert_eq!(slowdowns(both), [(11, 5), (8, 4)]);
        assert_eq!((clusters.row(0b11), clusters.rows.len()), (both, 2));
    }

    #[test]
    fn every_set_keeps_its_row_as_the_table_grows() {
        let curve = |value| Curve::new([Q32::from_int(value)]).unwrap();
        let mut clusters = Clusters::default();
        clusters.restart(1, (1..=10).map(|value| program(curve(value), curve(1))));
        let rows: Vec<Row> = (1..1024).map(|set| clusters.row(set)).collect();
        assert_eq!(clusters.rows.len(), 1023);
        for (set, row) in (1..1024).zip(rows) {
            assert_eq!(clusters.row(set), row);
        }
        assert_eq!(clusters.rows.len(), 1023);
    }
}
