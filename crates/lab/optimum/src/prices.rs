//! Prices of programs, by which most clusters of a window are ruled out before any is combined.
//!
//! A clustering divides all programs among clusters and all ways among these. If every program has
//! a price in ways, and no cluster has fewer ways than its programs' prices, then the clusters of a
//! clustering spend at most what the ways exceed the sum of all prices by; a cluster that spends
//! more is in no clustering, and where the prices exceed the ways there is none. The best prices
//! are the dual solution of set partitioning's linear relaxation, found by column generation
//! (Barnhart et al., "Branch-and-Price", Operations Research 46(3), 1998); ruling clusters out by
//! them is called reduced cost fixing. The same is done with the most ways of a cluster, against
//! ways that nobody uses.

use rayon::prelude::*;

use crate::master::Master;
use crate::table::{FEW, PossibleCluster, ProgramSet};

/// Parts of a way in which prices are rounded, so that the conclusions are exact.
const PARTS: i64 = 1 << 20;

/// More rounds of column generation are not worth their time.
const MOST_ROUNDS: usize = 60;

/// Smaller gains of a column, in parts of a way, are errors of rounding.
const GAIN: i64 = 4;

/// Which ways of a cluster its programs' prices are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaysBound {
    /// The fewest: the programs need more ways than there are.
    Fewest,
    /// The most: the programs can use fewer ways than there are.
    Most,
}

impl WaysBound {
    /// What a cluster costs that may have these ways, a bit each.
    fn cost(self, ways: u64) -> i64 {
        match self {
            Self::Fewest => i64::from(ways.trailing_zeros()),
            Self::Most => -i64::from(ways.ilog2()),
        }
    }

    /// The bits of `ways` that cost at most `limit` parts of a way.
    fn within(self, mut ways: u64, limit: i64) -> u64 {
        let mut kept = 0;
        while ways != 0 {
            let bit = ways & ways.wrapping_neg();
            if self.cost(bit) * PARTS <= limit {
                kept |= bit;
            }
            ways ^= bit;
        }
        kept
    }
}

/// Those of these candidates that may be in a clustering of all `programs` into at most `clusters`
/// clusters with `ways` ways in all, with the ways that they may have there. `None` if there is no
/// such clustering.
pub(crate) fn rule_out(
    mut candidates: Vec<PossibleCluster>,
    programs: usize,
    ways: usize,
    clusters: usize,
) -> Option<Vec<PossibleCluster>> {
    let ways = i64::try_from(ways).ok()?;
    for side in [WaysBound::Fewest, WaysBound::Most] {
        let total = if side == WaysBound::Fewest { ways } else { -ways };
        let prices = best_prices(&candidates, programs, ways, side);
        let table = PriceTable::new(&prices);
        // Rounding may have made some clusters cheaper than their programs.
        let least = candidates.par_iter().with_min_len(FEW);
        let least = least.map(|of| side.cost(of.ways) * PARTS - table.sum(of.set)).min()?;
        let least = least.min(0);
        let others = i64::try_from(clusters).ok()? - 1;
        let spare = total * PARTS - prices.iter().sum::<i64>() - least * others;
        if spare < least {
            return None;
        }
        let left =
            candidates.into_par_iter().with_min_len(FEW).map(|PossibleCluster { set, ways }| {
                PossibleCluster { set, ways: side.within(ways, spare + table.sum(set)) }
            });
        candidates = left.filter(|candidate| candidate.ways != 0).collect();
    }
    Some(candidates)
}

/// The sums of prices over sets, of which each half is tabulated.
struct PriceTable {
    low: Vec<i64>,
    high: Vec<i64>,
    bits: usize,
}

impl PriceTable {
    fn new(prices: &[i64]) -> Self {
        let bits = prices.len() / 2;
        let (low, high) = prices.split_at(bits);
        Self { low: sums(low), high: sums(high), bits }
    }

    fn sum(&self, set: ProgramSet) -> i64 {
        let set = set as usize;
        self.low[set & ((1 << self.bits) - 1)] + self.high[set >> self.bits]
    }
}

/// The sum of each set of these.
fn sums(prices: &[i64]) -> Vec<i64> {
    let mut sums = vec![0];
    for price in prices {
        sums.extend_from_within(..);
        let half = sums.len() / 2;
        sums[half..].iter_mut().for_each(|sum| *sum += price);
    }
    sums
}

/// The prices of all programs, in parts of a way, with nearly the largest sum at which no candidate
/// costs less than its programs.
fn best_prices(
    candidates: &[PossibleCluster],
    programs: usize,
    ways: i64,
    side: WaysBound,
) -> Vec<i64> {
    let mut master = Master::new(programs, 4.0 * ways as f64);
    let mut prices = Vec::new();
    for _ in 0..MOST_ROUNDS {
        prices = master.prices().into_iter().map(in_parts).collect();
        let table = PriceTable::new(&prices);
        let mut is_better = false;
        for &PossibleCluster { set, ways } in
            cheapest(candidates, programs, &table, side).iter().flatten()
        {
            is_better |= master.add(set, side.cost(ways) as f64);
        }
        if !is_better || !master.solve() {
            break;
        }
    }
    prices
}

/// By highest program: the candidate that is cheapest for its programs, if it costs less than they.
fn cheapest(
    candidates: &[PossibleCluster],
    programs: usize,
    table: &PriceTable,
    side: WaysBound,
) -> Vec<Option<PossibleCluster>> {
    let candidates = candidates.par_iter().with_min_len(4 * FEW);
    let best = candidates.fold(
        || vec![(-GAIN, None); programs],
        |mut best: Vec<(i64, Option<PossibleCluster>)>, of| {
            let known = &mut best[of.set.ilog2() as usize];
            let cost = side.cost(of.ways) * PARTS - table.sum(of.set);
            if cost < known.0 {
                *known = (cost, Some(*of));
            }
            best
        },
    );
    let best = best.reduce(
        || vec![(-GAIN, None); programs],
        |a, b| a.into_iter().zip(b).map(|(a, b)| if b.0 < a.0 { b } else { a }).collect(),
    );
    best.into_iter().map(|(_, candidate)| candidate).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "prices are at most some hundred ways")]
fn in_parts(price: f64) -> i64 {
    (price * PARTS as f64).round() as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROGRAMS: usize = 5;
    const WAYS: usize = 7;

    /// Calls `visit` with each clustering of the programs in `left` and exactly these ways.
    fn each_clustering(
        candidates: &[PossibleCluster],
        left: ProgramSet,
        ways: usize,
        chosen: &mut Vec<(ProgramSet, u64)>,
        visit: &mut impl FnMut(&[(ProgramSet, u64)]),
    ) {
        if left == 0 {
            if ways == 0 {
                visit(chosen);
            }
            return;
        }
        let first = left & left.wrapping_neg();
        for of in candidates.iter().filter(|of| of.set & first != 0 && of.set & !left == 0) {
            for own in (1..=ways).filter(|own| of.ways >> own & 1 == 1) {
                chosen.push((of.set, 1 << own));
                each_clustering(candidates, left ^ of.set, ways - own, chosen, visit);
                chosen.pop();
            }
        }
    }

    proptest! {
        /// What is in a clustering is never ruled out; where there is one, `None` is not returned.
        #[test]
        fn no_clustering_is_lost(all in prop::collection::vec(0u64..1 << WAYS, 1 << PROGRAMS)) {
            // A third of the sets, so that often there is no clustering.
            let candidates: Vec<PossibleCluster> = (1..)
                .zip(&all[1..])
                .map(|(set, ways)| PossibleCluster { set, ways: (ways & ways >> 1) << 1 })
                .filter(|of| of.ways != 0)
                .collect();
            let mut used = vec![0; 1 << PROGRAMS];
            let all = (1 << PROGRAMS) - 1;
            each_clustering(&candidates, all, WAYS, &mut Vec::new(), &mut |clusters| {
                clusters.iter().for_each(|&(set, own)| used[set as usize] |= own);
            });
            let left = rule_out(candidates, PROGRAMS, WAYS, PROGRAMS).unwrap_or_default();
            for (set, own) in (0..).zip(used) {
                let kept = left.iter().find(|of| of.set == set).map_or(0, |of| of.ways);
                prop_assert_eq!(own & !kept, 0, "set {}: {:b} of {:b}", set, kept, own);
            }
        }
    }

    /// Two programs need five ways each: there are ten, which leaves nothing else, or nine.
    #[test]
    fn where_ways_are_scarce_little_is_left() {
        let some = [(0b01, 0b1110_0000), (0b10, 0b1110_0000), (0b11, 0b1000_0000_0000)];
        let candidates = some.map(|(set, ways)| PossibleCluster { set, ways }).to_vec();
        let left = rule_out(candidates.clone(), 2, 10, 2).expect("five ways each");
        assert_eq!(left, [0b01, 0b10].map(|set| PossibleCluster { set, ways: 1 << 5 }));
        assert_eq!(rule_out(candidates, 2, 9, 2), None);
    }
}
