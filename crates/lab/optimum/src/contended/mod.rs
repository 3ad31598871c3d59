//! The best partition if memory bandwidth is limited.
//!
//! One number couples the clusters: the contention. Given the contention, a program's slowdown
//! depends on its own cluster alone, and grows with the contention. The programs' use of memory is
//! a sum over clusters; it decides whether a partition has that contention. So the search goes over
//! intervals of contention. Each cluster is rated at the more favourable end of the interval, which
//! bounds all partitions within it. If no partition of the interval can beat the best known, the
//! interval is done. Otherwise the candidates are listed if they are few; if they are many, the
//! interval is cut in two.
//!
//! A sum's bound is too weak by itself: the partition that it belongs to rarely has the interval's
//! contention. Missing or unused memory therefore gets a price (Lagrange's multiplier), which is
//! added to the sum.
//!
//! A level of bandwidth is a property of a cluster, like its ways: a limited cluster uses less at
//! every contention, and its programs are slower.

mod cells;
mod listing;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::oracle::{ClusterLimits, Oracle};
use crate::search::Search;
use crate::table::{ChosenCluster, ordered};
use crate::{BoundedClusters, Goal, Impossible};
pub(crate) use cells::ClusterCells;
use cells::ContentionView;
use listing::{Listing, RequiredSum};

/// Differences smaller than this part of a value do not make a partition better.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// Sums that differ by less than this are equal.
const SLACK: f64 = 1e-12;

/// The budget of a listing over the whole range of contention, in clusters per set of programs and
/// level. Each half of an interval gets half as many more.
const BUDGET: u64 = 2;

/// Intervals of contention that are relatively narrower than this are not cut further.
const NARROWEST: f64 = 1e-10;

/// Below this part of the highest contention, an interval's width is compared with this part, not
/// with the interval's own contention.
const NEARLY_NONE: f64 = 1e-3;

/// Lows within this ratio are listed together.
const TOGETHER: f64 = 1.01;

/// Lows within this ratio are not cut further; the contention is.
const ALIKE: f64 = 1.0005;

/// The number of prices tried for an interval.
const PRICES: u32 = 12;

/// The partitions whose contention is within an interval.
#[derive(Clone, Copy, Debug)]
struct ContentionInterval {
    from: f64,
    to: f64,
    /// No partition of the interval costs less.
    bound: f64,
    /// The clusters that a listing may look at before the interval is cut instead.
    budget: u64,
}

impl PartialEq for ContentionInterval {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ContentionInterval {}

impl PartialOrd for ContentionInterval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ContentionInterval {
    /// The most promising interval is the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(other.from.total_cmp(&self.from))
    }
}

impl ContentionInterval {
    fn halves(self) -> [Self; 2] {
        let middle = f64::midpoint(self.from, self.to);
        let budget = self.budget.saturating_add(self.budget / 2);
        [Self { to: middle, budget, ..self }, Self { from: middle, budget, ..self }]
    }

    fn is_narrow(self, most: f64) -> bool {
        self.to - self.from <= NARROWEST * self.to.max(NEARLY_NONE * most)
    }
}

/// The search, and the best partition found so far.
pub(crate) struct Contended<'a> {
    cells: &'a ClusterCells,
    limits: ClusterLimits,
    goal: Goal,
    is_late: &'a dyn Fn() -> bool,
    /// Whether the whole range of contention has been examined once, which happens even after the
    /// deadline.
    has_begun: bool,
    best: Option<BestPartition>,
}

#[derive(Debug)]
struct BestPartition {
    cost: f64,
    stp: f64,
    clusters: Vec<ChosenCluster>,
}

impl<'a> Contended<'a> {
    pub(crate) fn new(
        cells: &'a ClusterCells,
        limits: ClusterLimits,
        goal: Goal,
        is_late: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { cells, limits, goal, is_late, has_begun: false, best: None }
    }

    /// Searches for the best clusters. Returns them, and a lower bound on the cost if they are not
    /// proven to be the best. `least` is a known lower bound. `report` gets the least cost so far
    /// and the bound.
    ///
    /// # Errors
    /// If memory can serve no clustering, or none is found in time.
    pub(crate) fn run(
        mut self,
        least: f64,
        report: &mut dyn FnMut(Option<f64>, f64),
    ) -> Result<BoundedClusters, Impossible> {
        let programs = self.cells.programs;
        let all = ContentionInterval {
            from: 0.0,
            to: self.cells.most_contention,
            bound: least,
            budget: (BUDGET * self.cells.levels()) << programs,
        };
        let mut open = BinaryHeap::from([all]);
        let mut bound = None;
        while let Some(interval) = open.pop().filter(|next| next.bound < self.limit()) {
            report(self.best.as_ref().map(|best| best.cost), interval.bound);
            if self.must_stop() {
                bound = Some(interval.bound);
                break;
            }
            if let Some(bound) = self.look(interval) {
                let bound = bound.max(interval.bound);
                open.extend(interval.halves().map(|half| ContentionInterval { bound, ..half }));
            }
            self.has_begun = true;
        }
        match self.best {
            Some(best) => Ok((best.clusters, bound)),
            None if bound.is_some() => Err(Impossible::NoneInTime { programs }),
            None => Err(Impossible::TooLittleBandwidth { programs }),
        }
    }

    /// Whether the deadline is past and there is a result to return.
    fn must_stop(&self) -> bool {
        (self.has_begun || self.best.is_some()) && (self.is_late)()
    }

    /// A partition that costs less than this is better than the best known.
    fn limit(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.cost - TOLERANCE * best.cost.abs())
    }

    /// Keeps these clusters if they are better than the best known.
    fn consider(&mut self, clusters: &[ChosenCluster]) {
        let Some((cost, stp)) = self.cells.cost(clusters) else { return };
        let better = self.best.as_ref().is_none_or(|best| {
            cost < best.cost - SLACK || (cost < best.cost + SLACK && stp > best.stp)
        });
        if better {
            self.best = Some(BestPartition { cost, stp, clusters: clusters.to_vec() });
        }
    }

    /// Looks for better partitions in an interval. If the interval must be cut, returns a lower
    /// bound on the cost of its partitions.
    fn look(&mut self, interval: ContentionInterval) -> Option<f64> {
        let ContentionInterval { from, to, .. } = interval;
        let view = self.cells.view(from, to);
        let mut oracle = Oracle::new(&view.table, self.limits);
        oracle.admit(0.0, f64::INFINITY);
        let mut sums: Vec<(&[f64], f64)> = Vec::new();
        if from > 0.0 {
            sums.push((&view.used_at_least, self.cells.served(from) - SLACK));
        }
        sums.push((&view.room_at_most, -self.cells.served(to) - SLACK));
        for &(cells, least) in &sums {
            let (sum, clusters) = oracle.best(cells)?;
            self.consider(&clusters);
            if sum < least {
                return None;
            }
        }
        let narrow = interval.is_narrow(self.cells.most_contention);
        let budget = if narrow { u64::MAX } else { interval.budget };
        match self.goal {
            Goal::Unfairness | Goal::MaxSlowdown => {
                self.look_for_ratio(&view, oracle, &sums, budget)
            }
            Goal::Stp | Goal::Antt => self.look_for_sum(&view, &oracle, &sums, budget),
        }
    }

    fn look_for_ratio(
        &mut self,
        view: &ContentionView,
        oracle: Oracle<'_>,
        sums: &[(&[f64], f64)],
        budget: u64,
    ) -> Option<f64> {
        let floor = if self.goal == Goal::Unfairness { 1.0 } else { 0.0 };
        let mut search = Search::below(&view.table, oracle, floor, self.limit());
        while search.step() {
            if self.must_stop() {
                return Some(floor);
            }
        }
        let found = search.found.take()?;
        let mut oracle = search.into_oracle();
        self.consider(&found.clusters);
        let lows = ordered(&view.table.lo);
        let mut open = vec![(0, lows.len() - 1)];
        while let Some((first, last)) = open.pop() {
            if self.must_stop() {
                return Some(found.value);
            }
            let (low, top) = (lows[first], lows[last]);
            if !oracle.admits(low, self.limit() * top) {
                continue;
            }
            let middle = first + (last - first) / 2;
            let halves = [(middle + 1, last), (first, middle)];
            if top > low * TOGETHER {
                open.extend(halves);
                continue;
            }
            let wanted = sums.iter().map(|&(cells, least)| RequiredSum::new(&oracle, cells, least));
            let Some(wanted) = wanted.collect::<Option<Vec<_>>>() else { continue };
            if !self.list(view, &oracle, &wanted, budget) {
                if top <= low * ALIKE {
                    return Some(found.value);
                }
                open.extend(halves);
            }
        }
        None
    }

    fn look_for_sum(
        &mut self,
        view: &ContentionView,
        oracle: &Oracle<'_>,
        sums: &[(&[f64], f64)],
        budget: u64,
    ) -> Option<f64> {
        let gain = &view.table.sum;
        let (sum, clusters) = oracle.best(gain)?;
        self.consider(&clusters);
        let mut bound = -sum;
        let mut priced = gain.clone();
        let mut worth = 0.0;
        let lacking = sums.iter().find(|(cells, least)| view.sum(cells, &clusters) < *least);
        if let Some(&(cells, least)) = lacking {
            let (mut low, mut high, mut price) = (0.0, f64::INFINITY, 1.0);
            for _ in 0..PRICES {
                if bound >= self.limit() {
                    return None;
                }
                if self.must_stop() {
                    return Some(bound);
                }
                let trial: Vec<f64> =
                    gain.iter().zip(cells).map(|(gain, cell)| gain + price * cell).collect();
                let (sum, clusters) = oracle.best(&trial)?;
                self.consider(&clusters);
                if price * least - sum > bound {
                    bound = price * least - sum;
                    (priced, worth) = (trial, price * least);
                }
                if view.sum(cells, &clusters) < least {
                    low = price;
                } else {
                    high = price;
                }
                price = if high.is_finite() { f64::midpoint(low, high) } else { 4.0 * price };
            }
        }
        if bound >= self.limit() {
            return None;
        }
        let all = sums.iter().copied().chain([(&priced[..], worth - self.limit())]);
        let wanted = all.map(|(cells, least)| RequiredSum::new(oracle, cells, least));
        let wanted = wanted.collect::<Option<Vec<_>>>()?;
        (!self.list(view, oracle, &wanted, budget)).then_some(bound)
    }

    /// Considers every clustering whose sums are as required. Returns whether all were listed.
    fn list(
        &mut self,
        view: &ContentionView,
        oracle: &Oracle<'_>,
        wanted: &[RequiredSum<'_>],
        budget: u64,
    ) -> bool {
        let (is_late, may_stop) = (self.is_late, self.has_begun || self.best.is_some());
        let is_late = &|| may_stop && is_late();
        let listing = Listing { oracle, table: &view.table, wanted, budget, is_late };
        listing.run(&mut |clusters| self.consider(clusters))
    }
}
