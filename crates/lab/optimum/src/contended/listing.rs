//! Lists every clustering whose sums are large enough.

use crate::oracle::Oracle;
use crate::oracle::largest::Largest;
use crate::table::{ChosenCluster, ClusterTable, ProgramSet};

/// A sum over clusters that must reach a least value.
#[derive(Debug)]
pub(crate) struct RequiredSum<'a> {
    cells: &'a [f64],
    least: f64,
    /// The largest sums that the clusters of a set can reach.
    largest: Largest,
}

impl<'a> RequiredSum<'a> {
    /// Requires that the `cells` add up to `least`, for clusterings within the bounds that the
    /// oracle admitted last; `None` if no clustering does.
    pub(crate) fn new(oracle: &Oracle<'_>, cells: &'a [f64], least: f64) -> Option<Self> {
        let largest = oracle.largest(cells);
        let some = (0..oracle.layers()).any(|layer| largest.whole(layer) >= least);
        some.then_some(Self { cells, least, largest })
    }
}

/// The most sums that can be required at once.
const MOST: usize = 3;

/// A listing, which stops after `budget` clusters, or when it `is_late`.
pub(crate) struct Listing<'a> {
    pub(crate) oracle: &'a Oracle<'a>,
    pub(crate) table: &'a ClusterTable,
    pub(crate) wanted: &'a [RequiredSum<'a>],
    pub(crate) budget: u64,
    pub(crate) is_late: &'a dyn Fn() -> bool,
}

/// The number of clusters between two looks at the clock.
const OFTEN: u64 = 1 << 16;

impl Listing<'_> {
    /// Calls `visit` with every clustering whose sums are as required. Returns whether all were
    /// visited.
    pub(crate) fn run(mut self, visit: &mut dyn FnMut(&[ChosenCluster])) -> bool {
        let all_programs = (1usize << self.table.programs) - 1;
        (0..self.oracle.layers()).all(|layer| {
            self.rest(all_programs, layer, self.table.ways, [0.0; MOST], &mut Vec::new(), visit)
        })
    }

    /// Clusters the programs of `set` with these ways, after `clusters` with these `sums`.
    fn rest(
        &mut self,
        set: usize,
        layer: usize,
        ways: usize,
        sums: [f64; MOST],
        clusters: &mut Vec<ChosenCluster>,
        visit: &mut dyn FnMut(&[ChosenCluster]),
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
                for cluster in oracle.with_levels(ProgramSet::try_from(cluster).unwrap_or(0), w) {
                    self.budget = self.budget.saturating_sub(1);
                    if self.budget == 0 || (self.budget.is_multiple_of(OFTEN) && (self.is_late)()) {
                        all = false;
                        return;
                    }
                    if left == 0 && w != ways {
                        continue;
                    }
                    let mut sums = sums;
                    let cell = self.table.cell(cluster);
                    let enough = self.wanted.iter().zip(&mut sums).all(|(wanted, sum)| {
                        *sum += wanted.cells[cell];
                        *sum + wanted.largest.sum(left, below, ways - w) >= wanted.least
                    });
                    if enough {
                        clusters.push(cluster);
                        all = self.rest(left, below, ways - w, sums, clusters, visit);
                        clusters.pop();
                    }
                    if !all {
                        return;
                    }
                }
            }
        });
        all
    }
}
