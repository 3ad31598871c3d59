//! The linear relaxation of set partitioning, over the clusters that were added: the revised
//! simplex method, for as few rows as there are programs.

use crate::table::ProgramSet;

/// A cluster, and what it costs.
#[derive(Clone, Copy, Debug)]
struct PricedCluster {
    set: ProgramSet,
    cost: f64,
}

/// Every program is in one cluster, or in parts of several; the sum of the costs is to be the
/// least.
pub(crate) struct Master {
    columns: Vec<PricedCluster>,
    /// By row: the column in the basis.
    basis: Vec<usize>,
    /// The basis' inverse, row by row, and how much of each basic column is taken.
    inverse: Vec<Vec<f64>>,
    taken: Vec<f64>,
}

/// Pivots below this are errors of rounding.
const PIVOT: f64 = 1e-9;

/// More pivots in one round come from degenerate columns, which need not be driven out.
const MOST_PIVOTS: usize = 2000;

impl Master {
    /// Begins with a cluster for each program alone that costs this much: more than any clustering.
    pub(crate) fn new(programs: usize, alone: f64) -> Self {
        Self {
            columns: (0..programs)
                .map(|row| PricedCluster { set: 1 << row, cost: alone })
                .collect(),
            basis: (0..programs).collect(),
            inverse: (0..programs).map(|row| unit_vector(programs, row)).collect(),
            taken: vec![1.0; programs],
        }
    }

    /// Adds a cluster; false if it is there already.
    pub(crate) fn add(&mut self, set: ProgramSet, cost: f64) -> bool {
        let is_there = self.columns.iter().any(|known| known.set == set && known.cost <= cost);
        if !is_there {
            self.columns.push(PricedCluster { set, cost });
        }
        !is_there
    }

    /// The dual solution: what each program costs at the margin.
    pub(crate) fn prices(&self) -> Vec<f64> {
        let mut prices = vec![0.0; self.basis.len()];
        for (&column, row) in self.basis.iter().zip(&self.inverse) {
            let cost = self.columns[column].cost;
            for (price, of) in prices.iter_mut().zip(row) {
                *price += cost * of;
            }
        }
        prices
    }

    /// Exchanges basic columns for cheaper ones until none is cheaper; false if it gave up.
    pub(crate) fn solve(&mut self) -> bool {
        for _ in 0..MOST_PIVOTS {
            let prices = self.prices();
            let columns = self.columns.iter();
            let gains = columns.map(|of| of.cost - members(of.set, &prices)).enumerate();
            let Some((entering, _)) =
                gains.filter(|(_, gain)| *gain < -PIVOT).min_by(|a, b| a.1.total_cmp(&b.1))
            else {
                return true;
            };
            let set = self.columns[entering].set;
            let direction: Vec<f64> = self.inverse.iter().map(|row| members(set, row)).collect();
            let ratios = direction.iter().zip(&self.taken).enumerate();
            let ratios = ratios.filter(|(_, (step, _))| **step > PIVOT);
            let leaving = ratios
                .map(|(row, (step, taken))| (row, taken / step, *step))
                .min_by(|a, b| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2)));
            let Some((row, ratio, step)) = leaving else { return false };
            self.pivot(row, entering, ratio.max(0.0), step, &direction);
        }
        false
    }

    fn pivot(&mut self, row: usize, entering: usize, ratio: f64, step: f64, direction: &[f64]) {
        self.basis[row] = entering;
        let leaving: Vec<f64> = self.inverse[row].iter().map(|value| value / step).collect();
        for (other, of) in direction.iter().enumerate() {
            if other != row {
                self.taken[other] = (self.taken[other] - ratio * of).max(0.0);
                for (value, from) in self.inverse[other].iter_mut().zip(&leaving) {
                    *value -= of * from;
                }
            }
        }
        self.taken[row] = ratio;
        self.inverse[row] = leaving;
    }
}

fn unit_vector(length: usize, one: usize) -> Vec<f64> {
    let mut vector = vec![0.0; length];
    vector[one] = 1.0;
    vector
}

/// The sum of the values of a set's members.
fn members(set: ProgramSet, values: &[f64]) -> f64 {
    let own = values.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
    own.map(|(_, value)| value).sum()
}
