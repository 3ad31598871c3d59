//! Can the programs be clustered so that every slowdown lies within bounds?

pub(crate) mod largest;

use fairways_core::Llc;
use rayon::prelude::*;

use crate::prices;
use crate::table::{ChosenCluster, ClusterTable, FEW, PossibleCluster, ProgramSet};

/// The limits of a clustering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterLimits {
    /// The fewest ways of a cluster.
    pub(crate) min_ways: usize,
    /// The most clusters.
    pub(crate) max_clusters: usize,
}

impl ClusterLimits {
    pub(crate) fn new(llc: &Llc, max_clusters: usize) -> Self {
        Self { min_ways: llc.min_ways() as usize, max_clusters }
    }
}

/// A cache among several: its ways, the most programs that it runs, and its most clusters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRoom {
    pub(crate) ways: usize,
    pub(crate) programs: usize,
    pub(crate) clusters: usize,
}

/// Answers by dynamic programming over sets of programs with which totals of ways a set can be
/// clustered. A total is a bit, so that adding a cluster is a shift.
///
/// The cluster with a set's highest program comes first, so that every clustering counts once. Sets
/// with the same highest program depend only on sets without it, so they are computed in parallel.
/// With many programs, prices first rule out most clusters ([`prices`]).
#[derive(Debug)]
pub(crate) struct Oracle<'a> {
    pub(crate) table: &'a ClusterTable,
    limits: ClusterLimits,
    /// The bounds admitted last.
    bounds: (f64, f64),
    /// By set: the ways with which it is admitted as a cluster, at some level.
    admitted: Vec<u64>,
    /// By highest program: the sets that are admitted.
    sets: Vec<Vec<ProgramSet>>,
    /// By set and, where clusters are limited, their number: the totals of ways that it reaches.
    pub(crate) reached: Vec<u64>,
    layers: usize,
    counts_clusters: bool,
    /// The caches, if there are several; every set is then computed, the whole one too.
    pub(crate) rooms: Vec<CacheRoom>,
    /// Whether prices rule out clusters first.
    pub(crate) is_priced: bool,
}

/// With fewer programs, prices cost more than they save.
pub(crate) const MANY: usize = 9;

impl<'a> Oracle<'a> {
    pub(crate) fn new(table: &'a ClusterTable, limits: ClusterLimits) -> Self {
        Self::counting(table, limits, limits.max_clusters)
    }

    /// Counts clusters if `fewest` are fewer than a clustering can have.
    fn counting(table: &'a ClusterTable, limits: ClusterLimits, fewest: usize) -> Self {
        let sets = 1usize << table.programs;
        // A clustering has no more clusters than programs or ways.
        let most = table.programs.min(table.ways / limits.min_ways.max(1));
        let counts_clusters = fewest < most;
        let layers = if counts_clusters { limits.max_clusters.min(most) + 1 } else { 1 };
        Self {
            table,
            limits,
            bounds: (0.0, 0.0),
            admitted: vec![0; sets],
            sets: vec![Vec::new(); table.programs],
            reached: vec![0; sets / 2 * layers],
            layers,
            counts_clusters,
            rooms: Vec::new(),
            is_priced: table.programs >= MANY,
        }
    }

    /// The same for several caches, of which the largest has the table's ways. Prices, which know
    /// one cache, rule out nothing.
    pub(crate) fn placing(
        table: &'a ClusterTable,
        limits: ClusterLimits,
        rooms: Vec<CacheRoom>,
    ) -> Self {
        let fewest = rooms.iter().map(|room| room.clusters).min().unwrap_or(0);
        let one = Self::counting(table, limits, fewest);
        let reached = vec![0; (1 << table.programs) * one.layers];
        Self { reached, rooms, is_priced: false, ..one }
    }

    /// Whether a clustering exists whose slowdowns are all at least `low` and below `high`.
    pub(crate) fn admits(&mut self, low: f64, high: f64) -> bool {
        let candidates = self.within(low, high);
        let left = self.remaining(candidates);
        left.is_some_and(|left| self.are_enough(&left, low, high))
    }

    /// Whether some of these clusters are a clustering. Their slowdowns lie within these bounds.
    pub(crate) fn are_enough(
        &mut self,
        candidates: &[PossibleCluster],
        low: f64,
        high: f64,
    ) -> bool {
        self.load(candidates, low, high);
        self.reach();
        if !self.rooms.is_empty() {
            return self.placement().is_some();
        }
        let all = self.sets_below();
        let (table, mut whole) = (self.table, vec![0; self.layers]);
        self.gather(table.programs - 1, all, &self.reached, &mut whole);
        whole.iter().any(|totals| totals >> table.ways & 1 == 1)
    }

    /// Admits the clusters that lie within the bounds.
    pub(crate) fn admit(&mut self, low: f64, high: f64) {
        self.load(&self.within(low, high), low, high);
    }

    /// Admits these clusters, which lie within the bounds.
    pub(crate) fn load(&mut self, candidates: &[PossibleCluster], low: f64, high: f64) {
        self.bounds = (low, high);
        for &set in self.sets.iter().flatten() {
            self.admitted[set as usize] = 0;
        }
        self.sets.iter_mut().for_each(Vec::clear);
        for &PossibleCluster { set, ways } in candidates {
            self.admitted[set as usize] = ways;
            self.sets[set.ilog2() as usize].push(set);
        }
    }

    /// The clusters that lie within the bounds, in order.
    pub(crate) fn within(&self, low: f64, high: f64) -> Vec<PossibleCluster> {
        let sets = (1u32..1 << self.table.programs).into_par_iter().with_min_len(FEW);
        let all = sets.map(|set| PossibleCluster { set, ways: (2 << self.table.ways) - 1 });
        let narrowed = all.map(|candidate| self.narrowed(candidate, low, high));
        narrowed.filter(|candidate| candidate.ways != 0).collect()
    }

    /// Those of these clusters that lie within the bounds.
    pub(crate) fn narrow(
        &self,
        among: &[PossibleCluster],
        low: f64,
        high: f64,
    ) -> Vec<PossibleCluster> {
        let narrowed = among.par_iter().with_min_len(FEW);
        let narrowed = narrowed.map(|candidate| self.narrowed(*candidate, low, high));
        narrowed.filter(|candidate| candidate.ways != 0).collect()
    }

    /// The same cluster, with those of its ways with which it lies within the bounds.
    fn narrowed(
        &self,
        PossibleCluster { set, ways }: PossibleCluster,
        low: f64,
        high: f64,
    ) -> PossibleCluster {
        let row = self.table.row(set as usize);
        let (lo, hi) = (&self.table.lo[row.clone()], &self.table.hi[row]);
        let levels = lo.chunks_exact(self.table.levels).zip(hi.chunks_exact(self.table.levels));
        let cells = (1u32..).zip(levels).skip(self.limits.min_ways.saturating_sub(1));
        let within = cells.fold(0, |bits, (ways, (lo, hi))| {
            let fits = lo.iter().zip(hi).any(|(&lo, &hi)| lo >= low && hi < high);
            bits | u64::from(fits) << ways
        });
        PossibleCluster { set, ways: ways & within }
    }

    /// Those of these clusters that prices do not rule out; `None` if they rule out all
    /// clusterings.
    pub(crate) fn remaining(
        &self,
        candidates: Vec<PossibleCluster>,
    ) -> Option<Vec<PossibleCluster>> {
        let ClusterTable { programs, ways, .. } = *self.table;
        if !self.is_priced {
            return Some(candidates);
        }
        let most = self.limits.max_clusters.min(ways / self.limits.min_ways.max(1)).min(programs);
        prices::rule_out(candidates, programs, ways, most)
    }

    /// The programs of which sets are computed whose highest program is below this.
    fn highest_top(&self) -> usize {
        self.table.programs - usize::from(self.rooms.is_empty())
    }

    /// All programs but the highest.
    fn sets_below(&self) -> usize {
        (1 << (self.table.programs - 1)) - 1
    }

    /// Computes the totals that every set without the highest program reaches; with several caches,
    /// every set.
    fn reach(&mut self) {
        let layers = self.layers;
        let mut reached = std::mem::take(&mut self.reached);
        reached[..layers].fill(0);
        reached[0] = 1;
        for top in 0..self.highest_top() {
            let (below, level) = reached.split_at_mut(layers << top);
            let level = &mut level[..layers << top];
            level.par_chunks_mut(layers).with_min_len(FEW).enumerate().for_each(|(rest, whole)| {
                whole.fill(0);
                self.gather(top, rest, below, whole);
            });
        }
        self.reached = reached;
    }

    /// Adds the totals that the set of `top` and `rest` (all lower programs) reaches.
    fn gather(&self, top: usize, rest: usize, below: &[u64], whole: &mut [u64]) {
        let within = (2u64 << self.table.ways) - 1;
        if !self.counts_clusters {
            let mut reached = 0;
            self.each(top, rest, |set, left| reached |= sums(self.admitted[set], below[left]));
            whole[0] = reached & within;
            return;
        }
        self.each(top, rest, |set, left| {
            let below = &below[left * self.layers..][..self.layers - 1];
            for (whole, &totals) in whole[1..].iter_mut().zip(below) {
                *whole |= sums(self.admitted[set], totals) & within;
            }
        });
    }

    /// Calls `visit` with each admitted cluster of `top` and some of `rest`, and with the programs
    /// left over.
    pub(crate) fn each(&self, top: usize, rest: usize, mut visit: impl FnMut(usize, usize)) {
        let head = 1usize << top;
        if self.sets[top].len() < 1 << rest.count_ones() {
            for &set in &self.sets[top] {
                let others = set as usize ^ head;
                if others & !rest == 0 {
                    visit(set as usize, rest ^ others);
                }
            }
            return;
        }
        let mut others = rest;
        loop {
            if self.admitted[head | others] != 0 {
                visit(head | others, rest ^ others);
            }
            if others == 0 {
                return;
            }
            others = (others - 1) & rest;
        }
    }

    /// A clustering within the bounds admitted last, which must admit one.
    pub(crate) fn clustering(&self) -> Vec<ChosenCluster> {
        if !self.rooms.is_empty() {
            return self.clustering_of_caches();
        }
        self.clustering_of((1 << self.table.programs) - 1, self.table.ways, self.layers)
    }

    /// A clustering of a set with these ways, of fewer clusters than `below` where their number is
    /// limited.
    pub(crate) fn clustering_of(
        &self,
        mut set: usize,
        mut ways: usize,
        below: usize,
    ) -> Vec<ChosenCluster> {
        let mut clusters = Vec::new();
        let mut layer = None;
        while set != 0 {
            let top = set.ilog2() as usize;
            let rest = set ^ 1 << top;
            let mut found = None;
            self.each(top, rest, |cluster, left| {
                if found.is_some() {
                    return;
                }
                // For the whole set, any number of clusters is fine.
                let layers = match (self.counts_clusters, layer) {
                    (false, _) => 0..1,
                    (true, None) => 0..below - 1,
                    (true, Some(layer)) => layer - 1..layer,
                };
                for layer in layers {
                    let totals = self.reached[left * self.layers + layer];
                    let fits = |&w: &usize| {
                        self.admitted[cluster] >> w & 1 == 1 && totals >> (ways - w) & 1 == 1
                    };
                    if let Some(w) = (1..=ways).find(fits) {
                        found = Some((cluster, w, left, layer));
                        return;
                    }
                }
            });
            let Some((cluster, w, left, next)) = found else {
                unreachable!("the set reaches this total")
            };
            let cluster = ProgramSet::try_from(cluster).unwrap_or(0);
            clusters.extend(self.with_levels(cluster, w).next());
            (set, ways, layer) = (left, ways - w, Some(next));
        }
        clusters
    }

    /// The clusters of a set with these ways, one for each level within the bounds admitted last.
    pub(crate) fn with_levels(
        &self,
        set: ProgramSet,
        ways: usize,
    ) -> impl Iterator<Item = ChosenCluster> + '_ {
        let all = 0..self.table.levels;
        let levels = all.map(move |level| ChosenCluster { set, ways, level, cache: 0 });
        levels.filter(|&cluster| {
            let (cell, (low, high)) = (self.table.cell(cluster), self.bounds);
            self.table.lo[cell] >= low && self.table.hi[cell] < high
        })
    }

    /// The number of layers, one for each number of clusters; 1 if the number is not limited.
    pub(crate) fn layers(&self) -> usize {
        self.layers
    }

    /// The layer of the remaining set after a cluster is taken out of a set in this layer.
    pub(crate) fn layer_below(&self, layer: usize) -> Option<usize> {
        layer.checked_sub(usize::from(self.counts_clusters))
    }

    /// The ways with which a set may be a cluster, as bits.
    pub(crate) fn admitted(&self, set: usize) -> u64 {
        self.admitted[set]
    }
}

/// All sums of a bit of `ways` and a bit of `totals`.
fn sums(ways: u64, totals: u64) -> u64 {
    if ways == 0 || totals == 0 {
        return 0;
    }
    let least = ways.trailing_zeros();
    let run = ways >> least;
    let mut sums = totals << least;
    if run & (run + 1) == 0 {
        // Nearly always the way counts are one run: doubling shifts covers it faster than one by
        // one.
        let length = run.trailing_ones();
        let mut done = 1;
        while 2 * done <= length {
            sums |= sums << done;
            done *= 2;
        }
        return sums | sums << (length - done);
    }
    let mut rest = run & (run - 1);
    while rest != 0 {
        sums |= totals << (least + rest.trailing_zeros());
        rest &= rest - 1;
    }
    sums
}
