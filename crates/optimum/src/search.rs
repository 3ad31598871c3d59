//! The least ratio of the largest slowdown to the smallest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::oracle::Oracle;
use crate::table::{ChosenCluster, ClusterTable};

/// Two ratios closer than this are equal.
const EQUAL: f64 = 1e-12;

/// Intervals of lows with a ratio below this are walked through instead of cut.
const NARROW: f64 = 1.001;

/// The best clustering found so far.
#[derive(Clone, Debug)]
pub(crate) struct BestClustering {
    pub(crate) clusters: Vec<ChosenCluster>,
    /// Their ratio.
    pub(crate) value: f64,
}

/// Clusterings whose smallest slowdown is one of `lows[first..=last]`.
#[derive(Clone, Copy, Debug)]
struct LowInterval {
    first: usize,
    last: usize,
    /// With all slowdowns at least `lows[first]`, no clustering has a largest slowdown below this.
    high: f64,
    /// No ratio within is smaller.
    bound: f64,
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
        other.bound.total_cmp(&self.bound).then(other.first.cmp(&self.first))
    }
}

/// The search for the least ratio. A clustering of ratio r whose smallest slowdown is L lies in the
/// window [L, rL], so the oracle decides for intervals of L whether they admit a clustering that is
/// better than the best known. Most admit none; the others are cut in two. The least largest
/// slowdown H*(L) is a staircase in L, and the best ratio lies at one of its corners: narrow
/// intervals are walked through, corner by corner.
pub(crate) struct Search<'a> {
    table: &'a ClusterTable,
    oracle: Oracle<'a>,
    /// Every slowdown that may be the smallest of a clustering, or the largest, in order.
    lows: Vec<f64>,
    highs: Vec<f64>,
    open: BinaryHeap<LowInterval>,
    /// No ratio is below this.
    floor: f64,
    pub(crate) found: Option<BestClustering>,
    /// Only ratios below this matter.
    limit: f64,
    /// Whether a bound is needed before the search ends, which costs extra questions to the oracle.
    needs_bound: bool,
}

impl<'a> Search<'a> {
    pub(crate) fn new(table: &'a ClusterTable, oracle: Oracle<'a>, needs_bound: bool) -> Self {
        let (lows, highs) = (ordered(&table.lo), ordered(&table.hi));
        let mut open = BinaryHeap::new();
        if !lows.is_empty() {
            open.push(LowInterval { first: 0, last: lows.len() - 1, high: 0.0, bound: 1.0 });
        }
        let (floor, limit) = (1.0, f64::INFINITY);
        Self { table, oracle, lows, highs, open, floor, found: None, limit, needs_bound }
    }

    /// A search for ratios below a limit only, where no ratio is below `floor`.
    pub(crate) fn below(
        table: &'a ClusterTable,
        oracle: Oracle<'a>,
        floor: f64,
        limit: f64,
    ) -> Self {
        let search = Self::new(table, oracle, false);
        let open = search.open.into_iter().map(|all| LowInterval { bound: floor, ..all }).collect();
        Self { open, floor, limit, ..search }
    }

    /// The oracle that answered the search's questions.
    pub(crate) fn into_oracle(self) -> Oracle<'a> {
        self.oracle
    }

    /// Examines the most promising interval; false once no interval can have a better clustering.
    pub(crate) fn step(&mut self) -> bool {
        let best = self.best();
        let Some(interval) = self.open.pop().filter(|next| next.bound < best * (1.0 - EQUAL))
        else {
            self.open.clear();
            return false;
        };
        let LowInterval { first, last, mut high, .. } = interval;
        let (low, top) = (self.lows[first], self.lows[last]);
        let limit = best * (1.0 - EQUAL) * top;
        if !self.oracle.admits(low, limit) {
            return true;
        }
        let clusters = self.oracle.clustering();
        let value = self.consider(clusters);
        if top <= low * NARROW {
            self.walk(interval, limit);
            return true;
        }
        // Either rules out the lower half between the known bounds on the largest slowdown, or
        // finds a clustering in it.
        let guess = (high.max(low) * limit.min(value * top)).sqrt();
        if self.needs_bound && guess > high && guess < limit && !self.oracle.admits(low, guess) {
            high = guess;
        }
        let middle = first + (last - first) / 2;
        self.push(first, middle, high);
        self.push(middle + 1, last, high);
        true
    }

    /// Goes one step up the staircase: finds the least largest slowdown at `lows[first]`, the
    /// highest low that admits it, and so the best ratio between these. The interval above that low
    /// stays open.
    fn walk(&mut self, LowInterval { first, last, high, .. }: LowInterval, limit: f64) {
        let (mut none, mut some) = (below(&self.highs, high), below(&self.highs, limit));
        while none < some {
            let middle = none + (some - none) / 2;
            if self.oracle.admits(self.lows[first], self.highs[middle].next_up()) {
                let (_, most) = self.extremes(&self.oracle.clustering());
                some = middle.min(below(&self.highs, most));
            } else {
                none = middle + 1;
            }
        }
        let largest = self.highs[some.min(self.highs.len() - 1)];
        let (mut yes, mut no) = (first, last + 1);
        let mut corner = None;
        while corner.is_none() || yes + 1 < no {
            let middle = if corner.is_none() { first } else { yes + (no - yes) / 2 };
            if self.oracle.admits(self.lows[middle], largest.next_up()) {
                let clusters = self.oracle.clustering();
                yes = middle.max(below(&self.lows, self.extremes(&clusters).0).min(last));
                corner = Some(clusters);
            } else if corner.is_none() {
                // No clustering lies within the interval's window after all.
                return;
            } else {
                no = middle;
            }
        }
        if let Some(clusters) = corner {
            self.consider(clusters);
        }
        if yes < last {
            self.push(yes + 1, last, largest);
        }
    }

    /// The smallest and the largest slowdown of these clusters.
    fn extremes(&self, clusters: &[ChosenCluster]) -> (f64, f64) {
        let ClusterTable { lo, hi, .. } = self.table;
        let cells = clusters.iter().map(|cluster| self.table.cell(*cluster));
        let least = cells.clone().map(|cell| lo[cell]).fold(f64::INFINITY, f64::min);
        (least, cells.map(|cell| hi[cell]).fold(0.0, f64::max))
    }

    /// Keeps these clusters if they are better than the best known; returns their ratio.
    fn consider(&mut self, clusters: Vec<ChosenCluster>) -> f64 {
        let (lo, hi) = self.extremes(&clusters);
        let value = hi / lo;
        if self.found.as_ref().is_none_or(|found| value < found.value) {
            self.found = Some(BestClustering { clusters, value });
        }
        value
    }

    fn push(&mut self, first: usize, last: usize, high: f64) {
        let bound = (high / self.lows[last]).max(self.floor);
        self.open.push(LowInterval { first, last, high, bound });
    }

    fn best(&self) -> f64 {
        self.found.as_ref().map_or(self.limit, |found| found.value)
    }

    /// A lower bound on all ratios.
    pub(crate) fn bound(&self) -> f64 {
        let best = self.best();
        self.open.peek().map_or(best, |interval| interval.bound.min(best))
    }

    /// Once the least ratio is known, picks a clustering with the largest sum among those that have
    /// it.
    pub(crate) fn break_ties(&mut self) {
        let Some(found) = self.found.take() else { return };
        let within = found.value * (1.0 + EQUAL);
        let mut best: Option<(f64, Vec<ChosenCluster>)> = None;
        let mut open = vec![(0, self.lows.len() - 1)];
        while let Some((first, last)) = open.pop() {
            let (low, top) = (self.lows[first], self.lows[last]);
            // Below: the bound itself belongs to the window.
            if !self.oracle.admits(low, (within * top).next_up()) {
                continue;
            }
            if first < last {
                let middle = first + (last - first) / 2;
                open.push((first, middle));
                open.push((middle + 1, last));
                continue;
            }
            if let Some((sum, clusters)) = self.oracle.best(&self.table.sum)
                && best.as_ref().is_none_or(|(known, _)| sum > *known)
            {
                best = Some((sum, clusters));
            }
        }
        let clusters = best.map_or(found.clusters.clone(), |(_, clusters)| clusters);
        let (lo, hi) = self.extremes(&clusters);
        self.found = Some(BestClustering { clusters, value: hi / lo });
    }
}

/// Makes the oracle admit the clusterings whose largest slowdown is the least possible.
pub(crate) fn least_largest(table: &ClusterTable, oracle: &mut Oracle<'_>) {
    let highs = ordered(&table.hi);
    let least = highs.partition_point(|&high| !oracle.admits(0.0, high.next_up()));
    let high = highs.get(least).copied().unwrap_or(f64::INFINITY);
    oracle.admit(0.0, (high * (1.0 + EQUAL)).next_up());
}

/// All different finite numbers of these, in order.
pub(crate) fn ordered(values: &[f64]) -> Vec<f64> {
    let mut ordered: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    ordered.par_sort_unstable_by(f64::total_cmp);
    ordered.dedup();
    ordered
}

/// The number of these that are below a value.
fn below(ordered: &[f64], value: f64) -> usize {
    ordered.partition_point(|&other| other < value)
}
