//! The best partition where programs also wait for each other at memory.
//!
//! Clusters are coupled by one number, the contention: given it, a program's slowdown depends on its
//! own cluster alone, and grows with it; and what programs use of memory, a sum over clusters, tells
//! whether a partition comes to that contention. So intervals of contention are looked at. Each
//! cluster is taken at the end of the interval that is better for it, which bounds what a partition
//! can be within; an interval where none is better than the best known is done with. Otherwise those
//! that could be better are listed, if they are few; if they are many, the interval is cut in two.
//!
//! A sum's bound is not good enough by itself: the partition with the least contention is rarely the
//! best, and far from any that comes to the interval's contention. What is missing or left of memory
//! is therefore given a price (Lagrange's multiplier), and added to the sum.

mod cells;
mod listing;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::oracle::{Cluster, Limits, Oracle};
use crate::search::{Search, ordered};
use crate::{Found, Impossible, Objective};
pub(crate) use cells::Cells;
use cells::View;
use listing::{Listing, Wanted};

/// A partition is not better than another by less than this part of its value.
pub(crate) const TOLERANCE: f64 = 1e-9;

/// Sums are as good as equal if they differ by less than this.
const SLACK: f64 = 1e-12;

/// Clusters that are looked at in a listing of the whole range of contention, times the number of
/// sets of programs; half as many more in each half, and so on.
const BUDGET: u64 = 2;

/// An interval of contention that is relatively narrower is not cut any more.
const NARROWEST: f64 = 1e-10;

/// Contentions below this part of the most are as narrow as those at it.
const NEARLY_NONE: f64 = 1e-3;

/// Lows of a ratio below this are listed together.
const TOGETHER: f64 = 1.01;

/// Lows of a ratio below this are not cut any more; contention is.
const ALIKE: f64 = 1.0005;

/// Prices that are tried for an interval.
const PRICES: u32 = 12;

/// Partitions whose contention is within an interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    from: f64,
    to: f64,
    /// None of them costs less.
    bound: f64,
    /// Clusters that are looked at in a listing before the interval is rather cut.
    budget: u64,
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Interval {}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Interval {
    /// The most promising is the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(other.from.total_cmp(&self.from))
    }
}

impl Interval {
    fn halves(self) -> [Self; 2] {
        let middle = f64::midpoint(self.from, self.to);
        let budget = self.budget.saturating_add(self.budget / 2);
        [Self { to: middle, budget, ..self }, Self { from: middle, budget, ..self }]
    }

    fn is_narrow(self, most: f64) -> bool {
        self.to - self.from <= NARROWEST * self.to.max(NEARLY_NONE * most)
    }
}

/// The search, and the best it has found.
pub(crate) struct Contended<'a> {
    cells: &'a Cells,
    limits: Limits,
    objective: Objective,
    late: &'a dyn Fn() -> bool,
    /// Whether the whole range of contention has been looked at once, however late it was.
    begun: bool,
    best: Option<Best>,
}

#[derive(Debug)]
struct Best {
    cost: f64,
    stp: f64,
    clusters: Vec<Cluster>,
}

impl<'a> Contended<'a> {
    pub(crate) fn new(
        cells: &'a Cells,
        limits: Limits,
        objective: Objective,
        late: &'a dyn Fn() -> bool,
    ) -> Self {
        Self { cells, limits, objective, late, begun: false, best: None }
    }

    /// The best clusters, and what none costs less than if they are not proven to be. None costs less
    /// than `least`. `told` hears of the least cost so far and of the bound.
    ///
    /// # Errors
    /// If memory can serve no clustering, or none is found in time.
    pub(crate) fn run(
        mut self,
        least: f64,
        told: &mut dyn FnMut(Option<f64>, f64),
    ) -> Result<Found, Impossible> {
        let programs = self.cells.programs;
        let all = Interval {
            from: 0.0,
            to: self.cells.most_contention,
            bound: least,
            budget: BUDGET << programs,
        };
        let mut open = BinaryHeap::from([all]);
        let mut bound = None;
        while let Some(interval) = open.pop().filter(|next| next.bound < self.limit()) {
            told(self.best.as_ref().map(|best| best.cost), interval.bound);
            if self.must_stop() {
                bound = Some(interval.bound);
                break;
            }
            if let Some(bound) = self.look(interval) {
                let bound = bound.max(interval.bound);
                open.extend(interval.halves().map(|half| Interval { bound, ..half }));
            }
            self.begun = true;
        }
        match self.best {
            Some(best) => Ok((best.clusters, bound)),
            None if bound.is_some() => Err(Impossible::NoneInTime { programs }),
            None => Err(Impossible::TooLittleBandwidth { programs }),
        }
    }

    /// Whether it is late, and there is something to tell.
    fn must_stop(&self) -> bool {
        (self.begun || self.best.is_some()) && (self.late)()
    }

    /// What costs less than this is better than the best known.
    fn limit(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.cost - TOLERANCE * best.cost.abs())
    }

    /// Keeps these clusters if they are better than the best known.
    fn hear(&mut self, clusters: &[Cluster]) {
        let Some((cost, stp)) = self.cells.cost(clusters) else { return };
        let better = self.best.as_ref().is_none_or(|best| {
            cost < best.cost - SLACK || (cost < best.cost + SLACK && stp > best.stp)
        });
        if better {
            self.best = Some(Best { cost, stp, clusters: clusters.to_vec() });
        }
    }

    /// Looks for better partitions in an interval; if it must be looked at in parts, what none within
    /// costs less than.
    fn look(&mut self, interval: Interval) -> Option<f64> {
        let Interval { from, to, .. } = interval;
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
            self.hear(&clusters);
            if sum < least {
                return None;
            }
        }
        let narrow = interval.is_narrow(self.cells.most_contention);
        let budget = if narrow { u64::MAX } else { interval.budget };
        match self.objective {
            Objective::Unfairness | Objective::MaxSlowdown => {
                self.look_for_ratio(&view, oracle, &sums, budget)
            }
            Objective::Stp | Objective::Antt => self.look_for_sum(&view, &oracle, &sums, budget),
        }
    }

    fn look_for_ratio(
        &mut self,
        view: &View,
        oracle: Oracle<'_>,
        sums: &[(&[f64], f64)],
        budget: u64,
    ) -> Option<f64> {
        let floor = if self.objective == Objective::Unfairness { 1.0 } else { 0.0 };
        let mut search = Search::below(&view.table, oracle, floor, self.limit());
        while search.step() {
            if self.must_stop() {
                return Some(floor);
            }
        }
        let found = search.found.take()?;
        let mut oracle = search.into_oracle();
        self.hear(&found.clusters);
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
            let cut = |open: &mut Vec<(usize, usize)>| {
                let middle = first + (last - first) / 2;
                open.extend([(middle + 1, last), (first, middle)]);
            };
            if top > low * TOGETHER {
                cut(&mut open);
                continue;
            }
            let wanted = sums.iter().map(|&(cells, least)| Wanted::new(&oracle, cells, least));
            let Some(wanted) = wanted.collect::<Option<Vec<_>>>() else { continue };
            if !self.list(view, &oracle, &wanted, budget) {
                if top <= low * ALIKE {
                    return Some(found.value);
                }
                cut(&mut open);
            }
        }
        None
    }

    fn look_for_sum(
        &mut self,
        view: &View,
        oracle: &Oracle<'_>,
        sums: &[(&[f64], f64)],
        budget: u64,
    ) -> Option<f64> {
        let gain = &view.table.sum;
        let (sum, clusters) = oracle.best(gain)?;
        self.hear(&clusters);
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
                self.hear(&clusters);
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
        let wanted = all.map(|(cells, least)| Wanted::new(oracle, cells, least));
        let wanted = wanted.collect::<Option<Vec<_>>>()?;
        (!self.list(view, oracle, &wanted, budget)).then_some(bound)
    }

    /// Hears of every clustering whose sums are as wanted; whether all were found.
    fn list(
        &mut self,
        view: &View,
        oracle: &Oracle<'_>,
        wanted: &[Wanted<'_>],
        budget: u64,
    ) -> bool {
        let (late, may_stop) = (self.late, self.begun || self.best.is_some());
        let late = || may_stop && late();
        let listing = Listing { oracle, table: &view.table, wanted, budget, late: &late };
        listing.run(&mut |clusters| self.hear(clusters))
    }
}
