//! The least ratio of the largest slowdown to the smallest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::oracle::Oracle;
use crate::table::{ChosenCluster, ClusterTable, PossibleCluster, ordered};

/// Two ratios closer than this are equal.
pub(crate) const EQUAL: f64 = 1e-12;

/// An interval with more candidates is cut before the oracle is asked, if the ratio of its ends is
/// above [`WIDE`]. Tests cut the small problems that they solve, too.
const MANY_CANDIDATES: usize = if cfg!(test) { 1 << 6 } else { 1 << 12 };
const WIDE: f64 = 1.001;

/// The best clustering found so far.
#[derive(Clone, Debug)]
pub(crate) struct BestClustering {
    pub(crate) clusters: Vec<ChosenCluster>,
    /// Their ratio.
    pub(crate) value: f64,
}

/// Clusterings whose smallest slowdown is at least `low` and at most `top`.
#[derive(Clone, Debug)]
pub(crate) struct LowInterval {
    pub(crate) low: f64,
    pub(crate) top: f64,
    /// With all slowdowns at least `low`, no clustering has a largest slowdown below this.
    pub(crate) high: f64,
    /// What is searched for is at least this within.
    pub(crate) bound: f64,
    /// The clusters of which better clusterings can be made.
    pub(crate) candidates: Arc<[PossibleCluster]>,
}

impl PartialEq for LowInterval {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for LowInterval {}

impl PartialOrd for LowInterval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LowInterval {
    /// The most promising interval is the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(other.low.total_cmp(&self.low))
    }
}

/// The search for the least ratio. A clustering of ratio r whose smallest slowdown is L lies in the
/// window [L, rL], so prices and the oracle decide for intervals of L whether they admit a
/// clustering that is as good as the best known. Most admit none; the others are cut in two, each
/// with the clusters that were not ruled out, down to single Ls.
pub(crate) struct Search<'a> {
    table: &'a ClusterTable,
    oracle: Oracle<'a>,
    open: BinaryHeap<LowInterval>,
    pub(crate) found: Option<BestClustering>,
    /// No ratio is below this.
    floor: f64,
    /// Only ratios below this matter.
    limit: f64,
    /// The smallest slowdowns at which a ratio equals the best one known at the time; `None` if
    /// they are not kept.
    ties: Option<Vec<(f64, Vec<PossibleCluster>)>>,
    /// Whether a bound is needed before the search ends, which costs extra questions to the oracle.
    needs_bound: bool,
}

impl<'a> Search<'a> {
    pub(crate) fn new(table: &'a ClusterTable, oracle: Oracle<'a>, needs_bound: bool) -> Self {
        let ties = Some(Vec::new());
        Self { needs_bound, ties, ..Self::below(table, oracle, 1.0, f64::INFINITY) }
    }

    /// A search for ratios below a limit only, where no ratio is below `floor`.
    pub(crate) fn below(
        table: &'a ClusterTable,
        oracle: Oracle<'a>,
        floor: f64,
        limit: f64,
    ) -> Self {
        let candidates: Arc<[PossibleCluster]> = oracle.within(0.0, f64::INFINITY).into();
        let lows = table.lo.par_iter().copied().filter(|low| low.is_finite());
        let low = lows.clone().reduce(|| f64::INFINITY, f64::min);
        let top = lows.reduce(|| 0.0, f64::max);
        let all = LowInterval { low, top, high: 0.0, bound: floor, candidates };
        let open = BinaryHeap::from_iter((low <= top).then_some(all));
        Self { table, oracle, open, found: None, floor, limit, ties: None, needs_bound: false }
    }

    /// The oracle that answered the search's questions.
    pub(crate) fn into_oracle(self) -> Oracle<'a> {
        self.oracle
    }

    /// Examines the most promising interval; false once no interval can have a better clustering.
    pub(crate) fn step(&mut self) -> bool {
        let limit = self.accepted_below();
        let Some(interval) = self.open.pop().filter(|next| next.bound < limit) else {
            self.open.clear();
            return false;
        };
        let LowInterval { low, top, mut high, candidates, .. } = interval;
        let candidates = self.oracle.narrow(&candidates, low, limit * top);
        let Some(left) = self.oracle.remaining(candidates) else { return true };
        if self.oracle.is_priced && left.len() > MANY_CANDIDATES && top > low * WIDE {
            high = self.higher(&left, low, high, limit * top, false);
            let middle = (low * top).sqrt();
            self.cut(&left.into(), (low, middle), (middle.next_up(), top), high);
            return true;
        }
        self.ask(&left, low, top, high);
        true
    }

    /// Asks the oracle about an interval with these candidates, and cuts it if it may have a better
    /// clustering.
    fn ask(&mut self, left: &[PossibleCluster], low: f64, top: f64, high: f64) {
        let limit = self.accepted_below();
        let lows = self.table.values(&self.table.lo, left, low, top);
        let (Some(&low), Some(&top)) = (lows.first(), lows.last()) else { return };
        let left = self.oracle.narrow(left, low, limit * top);
        if !self.oracle.are_enough(&left, low, limit * top) {
            return;
        }
        let value = self.consider(self.oracle.clustering());
        if low == top {
            self.settle(left, low, value * low);
            return;
        }
        let high = self.higher(&left, low, high, (limit * top).min(value * top), true);
        let middle = (lows.len() - 1) / 2;
        self.cut(&left.into(), (low, lows[middle]), (lows[middle + 1], top), high);
    }

    /// The largest slowdown of clusterings between the known bounds on it: if none is below a
    /// guess, that guess, otherwise `high`. Asks the oracle only if it `may_ask`, otherwise prices
    /// alone.
    fn higher(
        &mut self,
        left: &[PossibleCluster],
        low: f64,
        high: f64,
        limit: f64,
        may_ask: bool,
    ) -> f64 {
        let guess = (high.max(low) * limit).sqrt();
        if !self.needs_bound || guess <= high || guess >= limit {
            return high;
        }
        let within = self.oracle.narrow(left, low, guess);
        let is_possible = match self.oracle.remaining(within) {
            Some(within) => !may_ask || self.oracle.are_enough(&within, low, guess),
            None => false,
        };
        if is_possible { high } else { guess }
    }

    /// Finds the least largest slowdown of clusterings whose smallest one is `low`: at most `most`.
    fn settle(&mut self, left: Vec<PossibleCluster>, low: f64, most: f64) {
        let highs = self.table.values(&self.table.hi, &left, 0.0, most);
        let (mut none, mut some) = (0, highs.len());
        while none < some {
            let middle = none + (some - none) / 2;
            let high = highs[middle].next_up();
            let within = self.oracle.narrow(&left, low, high);
            let within = self.oracle.remaining(within);
            if within.is_some_and(|within| self.oracle.are_enough(&within, low, high)) {
                self.consider(self.oracle.clustering());
                some = middle;
            } else {
                none = middle + 1;
            }
        }
        if let Some(ties) = &mut self.ties {
            ties.push((low, left));
        }
    }

    /// Keeps these clusters if they are better than the best known; returns their ratio.
    pub(crate) fn consider(&mut self, clusters: Vec<ChosenCluster>) -> f64 {
        let (lo, hi) = self.table.extremes(&clusters);
        let value = hi / lo;
        if self.found.as_ref().is_none_or(|found| value < found.value) {
            self.found = Some(BestClustering { clusters, value });
        }
        value
    }

    /// Leaves two parts of an interval open.
    fn cut(
        &mut self,
        candidates: &Arc<[PossibleCluster]>,
        lower: (f64, f64),
        upper: (f64, f64),
        high: f64,
    ) {
        for (low, top) in [lower, upper] {
            let bound = (high / top).max(self.floor);
            let candidates = Arc::clone(candidates);
            self.open.push(LowInterval { low, top, high, bound, candidates });
        }
    }

    fn best(&self) -> f64 {
        self.found.as_ref().map_or(self.limit, |found| found.value)
    }

    /// Ratios below this are good enough: those that equal the best one too, where ties are kept.
    fn accepted_below(&self) -> f64 {
        match self.ties {
            Some(_) => self.best() * (1.0 + EQUAL),
            None => self.best() * (1.0 - EQUAL),
        }
    }

    /// A lower bound on all ratios.
    pub(crate) fn bound(&self) -> f64 {
        let best = self.best();
        self.open.peek().map_or(best, |interval| interval.bound.min(best))
    }

    /// Once the least ratio is known, picks a clustering with the largest sum among those that have
    /// it.
    pub(crate) fn break_ties(&mut self) {
        let limit = self.accepted_below();
        let Some(found) = self.found.take() else { return };
        let mut best: Option<(f64, Vec<ChosenCluster>)> = None;
        for (low, candidates) in self.ties.take().unwrap_or_default() {
            let candidates = self.oracle.narrow(&candidates, low, limit * low);
            let Some(left) = self.oracle.remaining(candidates) else { continue };
            self.oracle.load(&left, low, limit * low);
            if let Some((sum, clusters)) = self.oracle.best(&self.table.sum)
                && best.as_ref().is_none_or(|(known, _)| sum > *known)
            {
                best = Some((sum, clusters));
            }
        }
        let clusters = best.map_or(found.clusters.clone(), |(_, clusters)| clusters);
        let (lo, hi) = self.table.extremes(&clusters);
        self.found = Some(BestClustering { clusters, value: hi / lo });
    }
}

/// The least largest slowdown.
pub(crate) fn least_largest(table: &ClusterTable, oracle: &mut Oracle<'_>) -> f64 {
    let highs = ordered(&table.hi);
    let least = highs.partition_point(|&high| !oracle.admits(0.0, high.next_up()));
    highs.get(least).copied().unwrap_or(f64::INFINITY)
}

/// The limit below which a value equals this one.
pub(crate) fn just_above(value: f64) -> f64 {
    (value * (1.0 + EQUAL)).next_up()
}

#[cfg(test)]
mod tests {
    use fairways_core::{Llc, Ways};
    use fairways_profiles::{ProfiledProgram, embedded};

    use super::*;
    use crate::SharingKind;
    use crate::oracle::ClusterLimits;
    use crate::table::Summed;

    /// The least ratio and the sum, by a search with prices or without.
    fn found(mix: &[usize], ways: u32, most: usize, is_priced: bool) -> (f64, f64) {
        let ways = Ways::new(ways).expect("ways");
        let programs: Vec<ProfiledProgram> =
            mix.iter().map(|&index| ProfiledProgram::new(embedded(), index, ways)).collect();
        let table = ClusterTable::new(&programs, ways, SharingKind::Clustering, Summed::Progress);
        let limits = ClusterLimits::new(&Llc::with_ways(ways), most);
        let mut oracle = Oracle::new(&table, limits);
        oracle.is_priced = is_priced;
        let mut search = Search::new(&table, oracle, is_priced);
        while search.step() {}
        search.break_ties();
        let BestClustering { clusters, value } = search.found.expect("a clustering");
        (value, clusters.iter().map(|cluster| table.sum[table.cell(*cluster)]).sum())
    }

    /// Prices, and cutting before the oracle is asked, change nothing but the time.
    #[test]
    fn prices_change_nothing() {
        for (first, programs, ways, most) in
            [(0, 9, 20, 9), (3, 10, 11, 10), (7, 10, 11, 3), (11, 9, 8, 2), (15, 10, 20, 4)]
        {
            let mix: Vec<usize> = (first..first + programs).collect();
            let [with, without] = [true, false].map(|is| found(&mix, ways, most, is));
            assert!((with.0 / without.0 - 1.0).abs() < 1e-9, "{mix:?}: {with:?} {without:?}");
            assert!((with.1 / without.1 - 1.0).abs() < 1e-9, "{mix:?}: {with:?} {without:?}");
        }
    }
}
