//! What two clusters miss when ways are divided between them.

use core::hint::select_unpredictable;

use fairways_core::Curve;

/// Two miss curves, among which lookahead divides more and more ways, at least one each.
///
/// With fewer ways, lookahead takes the same steps as with more, for as long as they fit: the steepest
/// step of all is the steepest of those that fit too. So steps are taken once for all numbers of ways,
/// and only those that come up against the end are looked for again.
#[derive(Clone, Debug)]
pub(crate) struct Split<'a> {
    curves: [&'a Curve; 2],
    /// What each has after the steps that fit so far, and how many ways all may have.
    owned: [u32; 2],
    most: u32,
    /// The step that each would take next.
    next: [SplitStep; 2],
}

/// How far a curve falls, and within how many ways, where it falls most a way.
#[derive(Clone, Copy, Debug)]
struct SplitStep {
    fall: u64,
    ways: u32,
}

impl<'a> Split<'a> {
    /// For up to `most` ways, at least 2.
    pub(crate) fn new(curves: [&'a Curve; 2], most: u32) -> Self {
        let next = curves.map(|curve| SplitStep::steepest(curve, 1, most - 2));
        Self { curves, owned: [1; 2], most, next }
    }

    /// What both miss with `ways` ways, 2 to the most; not fewer than asked for before.
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

    /// The same, from where the next step does not fit any more.
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
        // What no curve falls for is split evenly; the odd way is the first's.
        owned[0] += free.div_ceil(2);
        owned[1] += free / 2;
        self.curves[0].at(owned[0]).raw() + self.curves[1].at(owned[1]).raw()
    }
}

/// Whose step is steeper; the first of equals.
fn steeper([one, other]: [SplitStep; 2]) -> usize {
    usize::from(other.fall * u64::from(one.ways) > one.fall * u64::from(other.ways))
}

impl SplitStep {
    /// The steepest within `free` ways; the shortest of those.
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
        /// Against lookahead for each number of ways on its own.
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
