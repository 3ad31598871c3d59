//! The misses of two clusters when ways are divided between them.

use core::hint::select_unpredictable;

use fairways_core::Curve;

/// Two miss curves, among which lookahead divides more and more ways, at least one each.
///
/// With fewer ways, lookahead takes the same steps as with more, as long as they fit: the steepest
/// of all steps is the steepest of those that fit, too. So the steps are computed once for all
/// numbers of ways, and only those that reach the end are computed again.
#[derive(Clone, Debug)]
pub(crate) struct Split<'a> {
    curves: [&'a Curve; 2],
    /// The ways of each after the steps that fit so far.
    owned: [u32; 2],
    /// The most ways of both together.
    most: u32,
    /// The step that each would take next.
    next: [SplitStep; 2],
}

/// The step of a curve that falls most for each way: how far it falls, and within how many ways.
#[derive(Clone, Copy, Debug)]
struct SplitStep {
    fall: u64,
    ways: u32,
}

impl<'a> Split<'a> {
    /// Prepares to divide up to `most` ways, at least 2.
    pub(crate) fn new(curves: [&'a Curve; 2], most: u32) -> Self {
        let next = curves.map(|curve| SplitStep::steepest(curve, 1, most - 2));
        Self { curves, owned: [1; 2], most, next }
    }

    /// The misses of both with `ways` ways, from 2 to the most; not fewer than in the call before.
    pub(crate) fn misses(&mut self, ways: u32) -> u64 {
        loop {
            let winner = steeper(self.next);
            let SplitStep { fall, ways: more } = self.next[winner];
            if fall == 0 || self.owned[0] + self.owned[1] + more > ways {
                break;
            }
            self.owned[winner] += more;
            let free = self.most - self.owned[0] - self.owned[1];
            for place in [0, 1] {
                if place == winner || self.next[place].ways > free {
                    self.next[place] =
                        SplitStep::steepest(self.curves[place], self.owned[place], free);
                }
            }
        }
        self.misses_near_the_end(ways)
    }

    /// The misses with `ways` ways, from the point where the next step no longer fits.
    fn misses_near_the_end(&self, ways: u32) -> u64 {
        let mut owned = self.owned;
        let mut free = ways - owned[0] - owned[1];
        while free > 0 {
            let steps =
                [0, 1].map(|place| SplitStep::steepest(self.curves[place], owned[place], free));
            let winner = steeper(steps);
            let SplitStep { fall, ways } = steps[winner];
            if fall == 0 {
                break;
            }
            owned[winner] += ways;
            free -= ways;
        }
        // Ways that make no curve fall are split evenly; the odd way goes to the first.
        owned[0] += free.div_ceil(2);
        owned[1] += free / 2;
        self.curves[0].at(owned[0]).raw() + self.curves[1].at(owned[1]).raw()
    }
}

/// The index of the steeper step; of equals, the first.
fn steeper([one, other]: [SplitStep; 2]) -> usize {
    usize::from(other.fall * u64::from(one.ways) > one.fall * u64::from(other.ways))
}

impl SplitStep {
    /// The steepest step within `free` ways; of equals, the shortest.
    fn steepest(curve: &Curve, owned: u32, free: u32) -> Self {
        let reach = &curve.values()[owned as usize - 1..(owned + free) as usize];
        let Some((here, there)) = reach.split_first() else { return Self { fall: 0, ways: 1 } };
        let mut best = Self { fall: 0, ways: 1 };
        for (ways, value) in (1..).zip(there) {
            let fall = here.raw().saturating_sub(value.raw());
            // Values are below 2^56 and ways below 2^6.
            let better = fall * u64::from(best.ways) > best.fall * u64::from(ways);
            best.fall = select_unpredictable(better, fall, best.fall);
            best.ways = select_unpredictable(better, ways, best.ways);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use fairways_core::Q32;
    use proptest::prelude::*;

    use super::*;
    use crate::lookahead::Lookahead;

    proptest! {
        /// Compares with lookahead for each number of ways on its own.
        #[test]
        fn every_number_of_ways_is_divided_as_lookahead_does(
            tables in prop::array::uniform2(prop::collection::vec(0u32..30, 12)),
        ) {
            let curves = tables.map(|table| {
                Curve::new(table.into_iter().map(Q32::from_int)).unwrap()
            });
            let mut split = Split::new([&curves[0], &curves[1]], 12);
            for ways in 2..=12 {
                let owned = Lookahead::default().divide(&curves, ways, 1).to_vec();
                let parts = curves.iter().zip(&owned).map(|(curve, &ways)| curve.at(ways).raw());
                let expected: u64 = parts.collect::<Vec<_>>().iter().sum();
                prop_assert_eq!(split.misses(ways), expected, "{} {:?}", ways, owned);
            }
        }
    }
}
