//! The largest sums over clusterings within bounds, by dynamic programming over sets of programs.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Oracle;
use crate::table::{ChosenCluster, ClusterTable, FEW, ProgramSet};

impl Oracle<'_> {
    /// A clustering with the largest sum of `cells` within the bounds admitted last, and that sum.
    /// A cell belongs to a set and its ways, as in [`ClusterTable`].
    pub(crate) fn best(&self, cells: &[f64]) -> Option<(f64, Vec<ChosenCluster>)> {
        if !self.rooms.is_empty() {
            return self.best_of_caches(cells);
        }
        let most = self.most(cells);
        let largest = self.largest_of(&most);
        let layer = (0..self.layers).max_by(|&a, &b| {
            // Among equals, the fewest clusters.
            largest.whole(a).total_cmp(&largest.whole(b)).then(b.cmp(&a))
        })?;
        let sum = largest.whole(layer);
        (sum > f64::NEG_INFINITY).then(|| {
            let all = (1 << self.table.programs) - 1;
            let mut clusters = self.trace(&most, &largest, (all, self.table.ways, layer, sum));
            for cluster in &mut clusters {
                let levels = self.with_levels(cluster.set, cluster.ways);
                let best = levels.max_by(|a, b| {
                    cells[self.table.cell(*a)].total_cmp(&cells[self.table.cell(*b)])
                });
                *cluster = best.unwrap_or(*cluster);
            }
            (sum, clusters)
        })
    }

    /// By set and ways: the largest of `cells` over the levels within the bounds admitted last.
    fn most<'c>(&self, cells: &'c [f64]) -> Cow<'c, [f64]> {
        let ClusterTable { levels, lo, hi, .. } = self.table;
        if *levels == 1 {
            return Cow::Borrowed(cells);
        }
        let (low, high) = self.bounds;
        let bounds = lo.par_chunks_exact(*levels).zip(hi.par_chunks_exact(*levels));
        let rows = cells.par_chunks_exact(*levels).zip(bounds).with_min_len(FEW);
        let most = rows.map(|(cells, (lo, hi))| {
            let admitted = cells.iter().zip(lo.iter().zip(hi));
            let admitted = admitted.filter(|&(_, (&lo, &hi))| lo >= low && hi < high);
            admitted.map(|(&cell, _)| cell).fold(f64::NEG_INFINITY, f64::max)
        });
        Cow::Owned(most.collect())
    }

    /// The largest sums of `cells` that sets of programs reach within the bounds admitted last.
    pub(crate) fn largest(&self, cells: &[f64]) -> Largest {
        self.largest_of(&self.most(cells))
    }

    /// The same of cells by set and ways.
    fn largest_of(&self, cells: &[f64]) -> Largest {
        let (table, layers) = (self.table, self.layers);
        let stride = table.ways + 1;
        let size = layers * stride;
        let mut best = vec![f64::NEG_INFINITY; (1 << self.highest_top()) * size];
        best[0] = 0.0;
        for top in 0..self.highest_top() {
            let (below, level) = best.split_at_mut(size << top);
            level[..size << top].par_chunks_mut(size).with_min_len(FEW).enumerate().for_each(
                |(rest, whole)| {
                    self.add(cells, top, rest, below, whole);
                },
            );
        }
        let mut whole = vec![f64::NEG_INFINITY; size];
        if !self.rooms.is_empty() {
            return Largest { best, whole, layers, stride };
        }
        self.add(cells, table.programs - 1, self.sets_below(), &best, &mut whole);
        Largest { best, whole, layers, stride }
    }

    /// Improves the sums of `whole` by each cluster of `top` and some of `rest`.
    fn add(&self, cells: &[f64], top: usize, rest: usize, below: &[f64], whole: &mut [f64]) {
        let (stride, shift) = (self.table.ways + 1, usize::from(self.counts_clusters));
        self.each(top, rest, |set, left| {
            let sums = &cells[set * self.table.ways..][..self.table.ways];
            for layer in 0..self.layers - shift {
                let from = &below[(left * self.layers + layer) * stride..][..stride];
                let to = &mut whole[(layer + shift) * stride..][..stride];
                let mut ways = self.admitted[set];
                while ways != 0 {
                    let w = ways.trailing_zeros() as usize;
                    ways &= ways - 1;
                    for (to, from) in to[w..].iter_mut().zip(from) {
                        *to = to.max(from + sums[w - 1]);
                    }
                }
            }
        });
    }

    /// The clusters, without levels, that make up the largest sum of a set with these ways in a
    /// layer.
    pub(crate) fn trace(
        &self,
        cells: &[f64],
        largest: &Largest,
        (mut set, mut ways, mut layer, mut sum): (usize, usize, usize, f64),
    ) -> Vec<ChosenCluster> {
        let shift = usize::from(self.counts_clusters);
        let mut clusters = Vec::new();
        while set != 0 {
            let top = set.ilog2() as usize;
            let mut found = None;
            self.each(top, set ^ 1 << top, |cluster, left| {
                let sums = &cells[cluster * self.table.ways..][..self.table.ways];
                for w in (1..=ways).filter(|w| self.admitted[cluster] >> w & 1 == 1) {
                    let before = largest.sum(left, layer - shift, ways - w);
                    // Exactly the sum that was the largest.
                    if found.is_none() && before + sums[w - 1] == sum {
                        found = Some((cluster, w, left, before));
                    }
                }
            });
            let Some((cluster, w, left, before)) = found else {
                unreachable!("the set has this sum")
            };
            let set_of = ProgramSet::try_from(cluster).unwrap_or(0);
            clusters.push(ChosenCluster { set: set_of, ways: w, level: 0, cache: 0 });
            (set, ways, layer, sum) = (left, ways - w, layer - shift, before);
        }
        clusters
    }
}

/// The largest sums that sets of programs reach; minus infinity where there is no clustering.
#[derive(Clone, Debug)]
pub(crate) struct Largest {
    /// By set without the highest program, layer and total of ways.
    best: Vec<f64>,
    /// The sums of all programs, by layer and total of ways.
    whole: Vec<f64>,
    layers: usize,
    stride: usize,
}

impl Largest {
    /// The largest sum of a set without the highest program, in a layer, with this total of ways.
    pub(crate) fn sum(&self, set: usize, layer: usize, ways: usize) -> f64 {
        self.best[(set * self.layers + layer) * self.stride + ways]
    }

    /// The largest sum of all programs in a layer, with all ways.
    pub(crate) fn whole(&self, layer: usize) -> f64 {
        self.whole[(layer + 1) * self.stride - 1]
    }
}
