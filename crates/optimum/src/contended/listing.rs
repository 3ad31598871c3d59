//! Every clustering whose sums are large enough, one after the other.

use crate::oracle::{Cluster, Largest, Oracle};
use crate::table::{Set, Table};

/// A sum over clusters that must come to something.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    cells: &'a [f64],
    least: f64,
    /// What the clusters of a set can come to at most.
    largest: Largest,
}

impl<'a> Wanted<'a> {
    /// That the `cells` come to `least`, of clusterings within the bounds the oracle last admitted;
    /// none if none does.
    pub(crate) fn new(oracle: &Oracle<'_>, cells: &'a [f64], least: f64) -> Option<Self> {
        let largest = oracle.largest(cells);
        let some = (0..oracle.layers()).any(|layer| largest.whole(layer) >= least);
        some.then_some(Self { cells, least, largest })
    }
}

/// The most sums that are wanted at once.
const MOST: usize = 3;

/// A listing gives up when it has looked at `budget` clusters, or when it is `late`.
pub(crate) struct Listing<'a> {
    pub(crate) oracle: &'a Oracle<'a>,
    pub(crate) table: &'a Table,
    pub(crate) wanted: &'a [Wanted<'a>],
    pub(crate) budget: u64,
    pub(crate) late: &'a dyn Fn() -> bool,
}

/// How many clusters are looked at before time is.
const OFTEN: u64 = 1 << 16;

impl Listing<'_> {
    /// Calls `visit` with every clustering whose sums are as wanted; whether all were found.
    pub(crate) fn run(mut self, visit: &mut dyn FnMut(&[Cluster])) -> bool {
        let everybody = (1usize << self.table.programs) - 1;
        (0..self.oracle.layers()).all(|layer| {
            self.rest(everybody, layer, self.table.ways, [0.0; MOST], &mut Vec::new(), visit)
        })
    }

    /// Clusters the programs of `set` with these ways, after `clusters` with these `sums`.
    fn rest(
        &mut self,
        set: usize,
        layer: usize,
        ways: usize,
        sums: [f64; MOST],
        clusters: &mut Vec<Cluster>,
        visit: &mut dyn FnMut(&[Cluster]),
    ) -> bool {
        if set == 0 {
            visit(clusters);
            return true;
        }
        let Some(below) = self.oracle.layer_below(layer) else { return true };
        let top = set.ilog2() as usize;
        let mut all = true;
        let oracle = self.oracle;
        oracle.each(top, set ^ 1 << top, |cluster, left| {
            let mut admitted = oracle.admitted(cluster) & ((2 << ways) - 1);
            while all && admitted != 0 {
                let w = admitted.trailing_zeros() as usize;
                admitted &= admitted - 1;
                self.budget = self.budget.saturating_sub(1);
                if self.budget == 0 || (self.budget.is_multiple_of(OFTEN) && (self.late)()) {
                    all = false;
                    return;
                }
                if left == 0 && w != ways {
                    continue;
                }
                let mut sums = sums;
                let cell = cluster * self.table.ways + w - 1;
                let enough = self.wanted.iter().zip(&mut sums).all(|(wanted, sum)| {
                    *sum += wanted.cells[cell];
                    *sum + wanted.largest.of(left, below, ways - w) >= wanted.least
                });
                if enough {
                    clusters.push((Set::try_from(cluster).unwrap_or(0), w));
                    all = self.rest(left, below, ways - w, sums, clusters, visit);
                    clusters.pop();
                }
            }
        });
        all
    }
}
