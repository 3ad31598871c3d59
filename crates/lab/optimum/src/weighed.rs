//! Of the clusterings that are hardly worse than the best, the one with the least unfairness, or
//! the least largest slowdown, over STP.
//!
//! A clustering of ratio r whose smallest slowdown is L lies in the window [L, rL]. The largest STP
//! of a window bounds what its clusterings can have; a window that may have a better one is cut in
//! two, down to single Ls, as in the search for the least ratio (`search.rs`).

use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::oracle::Oracle;
use crate::search::{EQUAL, LowInterval, just_above};
use crate::table::{ChosenCluster, ClusterTable, PossibleCluster};

/// The best clustering so far, and what it is the best of.
pub(crate) struct WeighedSearch<'o, 'a> {
    table: &'a ClusterTable,
    oracle: &'o mut Oracle<'a>,
    /// The least ratio, or the least largest slowdown, and the most that it may be.
    least: f64,
    most: f64,
    is_late: &'o dyn Fn() -> bool,
    /// The clusters, and their ratio or largest slowdown over STP.
    best: Option<(Vec<ChosenCluster>, f64)>,
}

impl<'o, 'a> WeighedSearch<'o, 'a> {
    /// Of clusterings that exceed the least by this part of it at most.
    pub(crate) fn new(
        table: &'a ClusterTable,
        oracle: &'o mut Oracle<'a>,
        (least, tolerance): (f64, f64),
        is_late: &'o dyn Fn() -> bool,
    ) -> Self {
        let most = least * (1.0 + tolerance);
        Self { table, oracle, least, most, is_late, best: None }
    }

    /// Searches by unfairness, from a clustering with the least on; the best, and whether none is
    /// better.
    pub(crate) fn by_ratio(mut self, start: Vec<ChosenCluster>) -> (Vec<ChosenCluster>, bool) {
        self.consider(start.clone(), true);
        let is_proven = self.search_lows();
        (self.best.map_or(start, |(clusters, _)| clusters), is_proven)
    }

    /// Searches by the largest slowdown; the best, and whether none is better.
    pub(crate) fn by_largest(mut self) -> Option<(Vec<ChosenCluster>, bool)> {
        let all = self.oracle.within(0.0, just_above(self.most));
        let is_proven = self.lower(&all, 0.0, just_above(self.most), false);
        self.best.map(|(clusters, _)| (clusters, is_proven))
    }

    /// Whether all smallest slowdowns were looked at before time was up.
    fn search_lows(&mut self) -> bool {
        let lows = self.table.lo.par_iter().copied().filter(|low| low.is_finite());
        let low = lows.clone().reduce(|| f64::INFINITY, f64::min);
        let top = lows.reduce(|| 0.0, f64::max);
        let candidates: Arc<[PossibleCluster]> = self.oracle.within(0.0, f64::INFINITY).into();
        let all = LowInterval { low, top, high: 0.0, bound: 0.0, candidates };
        let mut open = BinaryHeap::from([all]);
        while let Some(LowInterval { low, top, bound, candidates, .. }) = open.pop() {
            if !self.may_be_better(bound) {
                break;
            }
            if (self.is_late)() {
                return false;
            }
            let left = self.oracle.narrow(&candidates, low, just_above(self.most * top));
            let Some(left) = self.oracle.remaining(left) else { continue };
            let lows = self.table.values(&self.table.lo, &left, low, top);
            let (Some(&low), Some(&top)) = (lows.first(), lows.last()) else { continue };
            let high = just_above(self.most * top);
            let left = self.oracle.narrow(&left, low, high);
            if low == top {
                if !self.lower(&left, low, high, true) {
                    return false;
                }
                continue;
            }
            let Some((sum, _)) = self.ask(&left, low, high, true) else { continue };
            let (bound, middle) = (self.least / sum, (lows.len() - 1) / 2);
            let candidates: Arc<[PossibleCluster]> = left.into();
            for (low, top) in [(low, lows[middle]), (lows[middle + 1], top)] {
                let candidates = Arc::clone(&candidates);
                open.push(LowInterval { low, top, high: 0.0, bound, candidates });
            }
        }
        true
    }

    /// Looks for the best clustering whose smallest slowdown is `low`, or more, from the largest
    /// STP on to smaller and smaller largest slowdowns below `high`; whether all were looked at.
    fn lower(
        &mut self,
        candidates: &[PossibleCluster],
        low: f64,
        mut high: f64,
        is_ratio: bool,
    ) -> bool {
        while let Some((sum, largest)) = self.ask(candidates, low, high, is_ratio) {
            if !self.may_be_better(self.least / sum) {
                return true;
            }
            if (self.is_late)() {
                return false;
            }
            high = largest;
        }
        true
    }

    /// The largest STP with these clusters within these bounds, and the largest slowdown with it.
    fn ask(
        &mut self,
        candidates: &[PossibleCluster],
        low: f64,
        high: f64,
        is_ratio: bool,
    ) -> Option<(f64, f64)> {
        let within = self.oracle.narrow(candidates, low, high);
        self.oracle.load(&within, low, high);
        let (sum, clusters) = self.oracle.best(&self.table.sum)?;
        let (_, largest) = self.table.extremes(&clusters);
        self.consider(clusters, is_ratio);
        Some((sum, largest))
    }

    /// Whether a clustering with this value would be better than the best so far.
    fn may_be_better(&self, value: f64) -> bool {
        self.best.as_ref().is_none_or(|(_, best)| value < best * (1.0 - EQUAL))
    }

    /// Keeps these clusters if they are within the tolerance and better than the best so far.
    fn consider(&mut self, clusters: Vec<ChosenCluster>, is_ratio: bool) {
        let (least, largest) = self.table.extremes(&clusters);
        let value = if is_ratio { largest / least } else { largest };
        let sums = clusters.iter().map(|&cluster| self.table.sum[self.table.cell(cluster)]);
        let over_stp = value / sums.sum::<f64>();
        if value < just_above(self.most) && self.may_be_better(over_stp) {
            self.best = Some((clusters, over_stp));
        }
    }
}
