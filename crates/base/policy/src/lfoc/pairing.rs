//! LFOC+: sensitive programs share ways in pairs where that is fairer (Saez, Castro, Garcia-Garcia
//! and Prieto-Matias, IEEE Transactions on Computers 71(8), 2022).
//!
//! First, lookahead's division is made fairer: the slowest program gets a way of one that can spare
//! it. Then the programs are visited, the slowest first. Each may share its ways with another, or
//! "steal": two programs with one way each share one of the ways, and the visited program gets the
//! other. Of all divisions along the way, the fairest is taken.

use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use fairways_core::{Curve, Q32};

use super::Parameters;
use crate::occupancy::{divide_way, interpolate_raw};

/// A division of ways among sensitive programs, and the memory that it is computed in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    /// By cluster: its ways.
    pub(crate) ways: Vec<u32>,
    /// By program: its cluster.
    pub(crate) cluster_of: Vec<u32>,
    best: Division,
    at: Division,
    /// By program: whether it was given a way.
    helped: Vec<bool>,
    order: Vec<usize>,
}

/// A division, with the slowdowns of its programs.
#[derive(Clone, Debug, Default)]
struct Division {
    programs: Vec<PairMember>,
}

#[derive(Clone, Copy, Debug)]
struct PairMember {
    /// The ways of its cluster.
    ways: u32,
    mate: Option<usize>,
    /// Its slowdown, in units of 2^-32.
    slowdown: u64,
}

/// The programs' slowdown tables, and how hard each presses on ways that it shares (LLCMPKC).
#[derive(Clone, Copy)]
struct PairTables<'a> {
    slowdowns: &'a [Curve],
    pressures: &'a [Curve],
}

impl Pairing {
    /// Divides the ways that lookahead gave among programs with these tables.
    #[inline(never)]
    pub(crate) fn divide(
        &mut self,
        p: &Parameters,
        slowdowns: &[Curve],
        pressures: &[Curve],
        owned: &[u32],
    ) {
        let tables = PairTables { slowdowns, pressures };
        let Self { ways, cluster_of, best, at, helped, order } = self;
        at.programs.clear();
        at.programs.extend(owned.iter().zip(slowdowns).map(|(&ways, curve)| PairMember {
            ways,
            mate: None,
            slowdown: curve.at(ways).raw(),
        }));
        helped.clear();
        helped.resize(owned.len(), false);
        at.help_the_slowest(p, tables, helped);
        best.programs.clone_from(&at.programs);
        order.clear();
        order.extend(0..owned.len());
        order.sort_unstable_by_key(|&index| (Reverse(at.programs[index].slowdown), index));
        for &index in &*order {
            if at.programs[index].mate.is_none()
                && at.share_or_steal(tables, index)
                && at.is_fairer(best)
            {
                best.programs.clone_from(&at.programs);
            }
        }
        ways.clear();
        cluster_of.clear();
        for (index, member) in best.programs.iter().enumerate() {
            let cluster = match member.mate {
                Some(mate) if mate < index => cluster_of[mate],
                _ => {
                    ways.push(member.ways);
                    u32::try_from(ways.len() - 1).unwrap_or(u32::MAX)
                }
            };
            cluster_of.push(cluster);
        }
    }

    /// A program's slowdown by its table in the last division.
    pub(crate) fn slowdown(&self, index: usize) -> Q32 {
        Q32::from_raw(self.best.programs[index].slowdown)
    }
}

impl Division {
    /// Moves ways to the slowest program from programs that stay faster than it was, as long as it
    /// gains about as much as they lose.
    fn help_the_slowest(&mut self, p: &Parameters, tables: PairTables<'_>, helped: &mut [bool]) {
        let most_cost = i128::from(Q32::ONE.raw()) * i128::from(p.help_cost_percent) / 100;
        for _ in 0..self.programs.len() {
            let slowest = (0..self.programs.len())
                .max_by_key(|&index| (self.programs[index].slowdown, Reverse(index)));
            let Some(slowest) = slowest else { return };
            if helped[slowest] {
                return;
            }
            let PairMember { ways, slowdown, .. } = self.programs[slowest];
            let gain = signed(slowdown) - tables.slowdown(slowest, ways + 1);
            let mut giver: Option<(i128, usize)> = None;
            for (index, member) in self.programs.iter().enumerate() {
                if index == slowest || helped[index] || member.ways < 2 {
                    continue;
                }
                let after = tables.slowdown(index, member.ways - 1);
                let cost = after - signed(member.slowdown) - gain;
                if after < signed(slowdown) && giver.is_none_or(|(least, _)| cost < least) {
                    giver = Some((cost, index));
                }
            }
            let Some((cost, giver)) = giver else { return };
            if cost > most_cost {
                return;
            }
            helped[slowest] = true;
            self.give(tables, giver, -1);
            self.give(tables, slowest, 1);
        }
    }

    /// Changes the ways of a program that does not share them.
    fn give(&mut self, tables: PairTables<'_>, index: usize, more: i32) {
        let member = &mut self.programs[index];
        member.ways = member.ways.saturating_add_signed(more);
        member.slowdown = tables.slowdowns[index].at(member.ways).raw();
    }

    /// Lets a program share, or steal a way, whichever lowers the sum of slowdowns most; whether it
    /// did either.
    fn share_or_steal(&mut self, tables: PairTables<'_>, index: usize) -> bool {
        let own = self.programs[index];
        let mut best = (0, None);
        for (other, member) in self.programs.iter().enumerate() {
            if other == index || member.mate.is_some() {
                continue;
            }
            let [a, b] = tables.shared([index, other], own.ways + member.ways);
            let before = signed(own.slowdown) + signed(member.slowdown);
            let change = signed(a) + signed(b) - before;
            if change < best.0 {
                best = (change, Some(PairingStep::Share(other)));
            }
        }
        let gain = tables.slowdown(index, own.ways + 1) - signed(own.slowdown);
        for first in 0..self.programs.len() {
            if first == index || !self.programs[first].has_one_way_alone() {
                continue;
            }
            for second in first + 1..self.programs.len() {
                if second == index || !self.programs[second].has_one_way_alone() {
                    continue;
                }
                let [a, b] = tables.shared([first, second], 1);
                let before = self.programs[first].slowdown + self.programs[second].slowdown;
                let change = gain + signed(a) + signed(b) - signed(before);
                if change < best.0 {
                    best = (change, Some(PairingStep::Steal(first, second)));
                }
            }
        }
        match best.1 {
            None => return false,
            Some(PairingStep::Share(other)) => {
                let ways = own.ways + self.programs[other].ways;
                self.pair(tables, [index, other], ways);
            }
            Some(PairingStep::Steal(first, second)) => {
                self.pair(tables, [first, second], 1);
                self.give(tables, index, 1);
            }
        }
        true
    }

    fn pair(&mut self, tables: PairTables<'_>, pair: [usize; 2], ways: u32) {
        let slowdowns = tables.shared(pair, ways);
        for (place, slowdown) in slowdowns.into_iter().enumerate() {
            self.programs[pair[place]] = PairMember { ways, mate: Some(pair[1 - place]), slowdown };
        }
    }

    /// Whether its unfairness is less than the other's, or equal with a higher STP.
    fn is_fairer(&self, other: &Self) -> bool {
        let ([most, least], [other_most, other_least]) = (self.extremes(), other.extremes());
        match (most * other_least).cmp(&(other_most * least)) {
            Ordering::Less => true,
            Ordering::Equal => self.stp() > other.stp(),
            Ordering::Greater => false,
        }
    }

    /// The largest and the smallest slowdown.
    fn extremes(&self) -> [u128; 2] {
        let slowdowns = self.programs.iter().map(|member| u128::from(member.slowdown));
        [slowdowns.clone().max().unwrap_or(0), slowdowns.min().unwrap_or(0)]
    }

    /// The system throughput: the sum of 1 / slowdown, in units of 2^-32.
    fn stp(&self) -> u64 {
        let progress =
            self.programs.iter().map(|member| Q32::ratio(Q32::ONE.raw(), member.slowdown).raw());
        progress.fold(0, u64::saturating_add)
    }
}

impl PairMember {
    fn has_one_way_alone(&self) -> bool {
        self.ways == 1 && self.mate.is_none()
    }
}

#[derive(Clone, Copy)]
enum PairingStep {
    Share(usize),
    Steal(usize, usize),
}

fn signed(raw: u64) -> i128 {
    i128::from(raw)
}

impl PairTables<'_> {
    /// A program's slowdown with `ways` ways of its own.
    fn slowdown(self, index: usize, ways: u32) -> i128 {
        signed(self.slowdowns[index].at(ways).raw())
    }

    /// The slowdowns of two programs that share these ways.
    fn shared(self, pair: [usize; 2], ways: u32) -> [u64; 2] {
        let pressures = pair.map(|index| &self.pressures[index]);
        let mut occupancy = [0; 2];
        for _ in 0..ways {
            divide_way(pressures, &mut occupancy);
        }
        [0, 1].map(|place| interpolate_raw(&self.slowdowns[pair[place]], occupancy[place]))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fairways_core::Ways;
    use proptest::prelude::*;

    use super::*;

    /// A curve of tenths.
    fn tenths(values: &[u64]) -> Curve {
        Curve::new(values.iter().map(|&value| Q32::ratio(value, 10))).unwrap()
    }

    fn flat(value: u32) -> Curve {
        Curve::from_fn(Ways::new(4).unwrap(), |_| Q32::from_int(value))
    }

    /// The ways of each cluster, and the cluster of each program.
    fn divide(slowdowns: &[Curve], pressures: &[Curve], owned: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut pairing = Pairing::default();
        pairing.divide(&Parameters::plus(), slowdowns, pressures, owned);
        (pairing.ways, pairing.cluster_of)
    }

    #[test]
    fn the_slowest_gets_a_way_that_another_can_spare() {
        let slowdowns = [tenths(&[30, 10, 10, 10]), tenths(&[13, 12, 11, 10])];
        assert_eq!(divide(&slowdowns, &[flat(10), flat(10)], &[1, 3]), (vec![2, 2], vec![0, 1]));
        // Not where the other one would become as slow.
        let slowdowns = [tenths(&[30, 10, 10, 10]), tenths(&[99, 30, 11, 10])];
        assert_eq!(divide(&slowdowns, &[flat(10), flat(10)], &[1, 3]), (vec![1, 3], vec![0, 1]));
    }

    #[test]
    fn a_program_that_presses_little_shares_with_one_that_gains() {
        let slowdowns = [tenths(&[20, 10, 10, 10]), tenths(&[10, 10, 10, 10])];
        assert_eq!(divide(&slowdowns, &[flat(100), flat(1)], &[1, 1]), (vec![2], vec![0, 0]));
        // If it pressed as hard, neither would gain.
        assert_eq!(divide(&slowdowns, &[flat(10), flat(10)], &[1, 1]), (vec![1, 1], vec![0, 1]));
    }

    #[test]
    fn two_of_a_way_share_one_and_the_other_is_stolen() {
        let slowdowns = [tenths(&[30, 20, 10, 10]), tenths(&[10; 4]), tenths(&[10; 4])];
        let pressures = [flat(10), flat(10), flat(10)];
        assert_eq!(divide(&slowdowns, &pressures, &[2, 1, 1]), (vec![3, 1], vec![0, 1, 1]));
    }

    proptest! {
        #[test]
        fn every_way_stays_with_one_or_two(
            programs in prop::collection::vec(
                (prop::collection::vec(10u64..40, 8), prop::collection::vec(0u64..300, 8), 1u32..5),
                1..10,
            ),
        ) {
            let slowdowns: Vec<Curve> = programs.iter().map(|(s, ..)| tenths(s)).collect();
            let pressures: Vec<Curve> = programs.iter().map(|(_, p, _)| tenths(p)).collect();
            let owned: Vec<u32> = programs.iter().map(|(.., owned)| *owned).collect();
            let (ways, cluster_of) = divide(&slowdowns, &pressures, &owned);
            prop_assert_eq!(ways.iter().sum::<u32>(), owned.iter().sum::<u32>());
            prop_assert_eq!(cluster_of.len(), owned.len());
            for (cluster, &ways) in (0..).zip(&ways) {
                let members = cluster_of.iter().filter(|&&own| own == cluster).count();
                prop_assert!((1..=2).contains(&members) && ways >= 1);
            }
        }
    }
}
