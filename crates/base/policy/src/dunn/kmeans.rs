//! k-means of numbers, exactly.

use alloc::vec::Vec;

use fairways_core::Q32;

/// Sorted numbers, cut into runs whose squared distances from their means have the least sum.
///
/// The published code draws centroids at random and lets them move for at most 100 rounds; its
/// result depends on the draw. On a line, clusters are runs, and dynamic programming finds the best
/// runs (Wang and Song, The R Journal 2011): the same ones every time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// At `i`: the sums of the first `i` numbers, and of their squares.
    sums: Vec<(u128, u128)>,
    /// By number of clusters (from 1) and by how many numbers: the least cost, and where the last
    /// run begins.
    best: Vec<Vec<(u128, usize)>>,
}

impl Runs {
    /// The best runs of `values`, which are sorted, for every number of clusters up to `most`.
    pub(crate) fn new(values: &[Q32], most: usize) -> Self {
        let mut runs = Self { sums: Vec::from([(0, 0)]), best: Vec::new() };
        let (mut sum, mut squares) = (0, 0);
        for value in values {
            let raw = u128::from(value.raw());
            (sum, squares) = (sum + raw, squares + raw * raw);
            runs.sums.push((sum, squares));
        }
        let one = (0..=values.len()).map(|end| (runs.cost(0, end), 0)).collect();
        runs.best.push(one);
        for k in 2..=most {
            let mut row: Vec<(u128, usize)> = Vec::with_capacity(values.len() + 1);
            // Where the numbers begin that are the same as the last one.
            let mut alike = 0;
            for end in 0..=values.len() {
                if end >= 2 && values[end - 1] != values[end - 2] {
                    alike = end - 1;
                }
                let likely = row.last().map_or(0, |&(_, begin)| begin);
                row.push(runs.last_run(k, end, [alike, likely]));
            }
            runs.best.push(row);
        }
        runs
    }

    /// The least cost of `k` runs of the first `end` numbers, and where the last run begins: as
    /// early as possible. The numbers from `alike` on are the same; `likely` is a begin that may
    /// be near the best.
    ///
    /// Where nothing is left to save, the earliest of the same numbers is the one.
    fn last_run(&self, k: usize, end: usize, [alike, likely]: [usize; 2]) -> (u128, usize) {
        if end < k {
            return (u128::MAX / 2, 0);
        }
        let (first, last) = (k - 1, end - 1);
        let mut best = (u128::MAX / 2, 0);
        for begin in [alike, likely] {
            best = best.min(self.runs_to(k, begin.clamp(first, last), end));
            if best.0 == 0 {
                return (0, alike.max(first));
            }
        }
        // From there to both sides, by ranges that double.
        let likely = likely.clamp(first, last);
        let (mut from, mut width) = (likely + 1, 1);
        while from <= last && self.best[k - 2][from].0 <= best.0 {
            let to = last.min(from + width - 1);
            self.narrow(k, [from, to], end, &mut best);
            (from, width) = (to + 1, 2 * width);
        }
        let (mut below, mut width) = (likely, 1);
        while below > first && self.cost(below - 1, end) <= best.0 {
            let from = first.max(below.saturating_sub(width));
            self.narrow(k, [from, below - 1], end, &mut best);
            (below, width) = (from, 2 * width);
        }
        best
    }

    /// The cost of the best `k` runs of the first `end` numbers whose last one begins at `begin`,
    /// and that begin.
    fn runs_to(&self, k: usize, begin: usize, end: usize) -> (u128, usize) {
        (self.best[k - 2][begin].0 + self.cost(begin, end), begin)
    }

    /// Looks for a better begin of the last run from `first` to `last`.
    ///
    /// A longer last run costs no less by itself, and a shorter rest no more. So none of these
    /// begins costs less than the rest of the first and the last run of the last.
    fn narrow(&self, k: usize, [first, last]: [usize; 2], end: usize, best: &mut (u128, usize)) {
        let least = self.best[k - 2][first].0 + self.cost(last, end);
        if least > best.0 {
            return;
        }
        if first == last {
            *best = (*best).min((least, first));
            return;
        }
        let middle = first.midpoint(last);
        self.narrow(k, [middle + 1, last], end, best);
        self.narrow(k, [first, middle], end, best);
    }

    /// The squared distances of the numbers of a run from their mean, times 2^80.
    fn cost(&self, begin: usize, end: usize) -> u128 {
        let count = (end - begin) as u128;
        if count == 0 {
            return 0;
        }
        let ((sum, squares), (to, squares_to)) = (self.sums[begin], self.sums[end]);
        let (sum, squares) = (to - sum, squares_to - squares);
        // Shares are at most 1, 2^32 raw: squares of 2^15 programs leave 2^16 for the fraction.
        ((count * squares - sum * sum) << 16) / count
    }

    /// Where each of `k` runs begins and ends.
    pub(crate) fn cut(&self, k: usize) -> Vec<(usize, usize)> {
        let mut end = self.sums.len() - 1;
        let mut runs: Vec<(usize, usize)> = (1..=k)
            .rev()
            .map(|k| {
                let begin = self.best[k - 1][end].1;
                let run = (begin, end);
                end = begin;
                run
            })
            .collect();
        runs.reverse();
        runs
    }
}

#[cfg(test)]
#[allow(clippy::float_arithmetic)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(values: &[u32]) -> Vec<Q32> {
        values.iter().map(|&v| Q32::from_raw(u64::from(v) << 24)).collect()
    }

    /// The squared distances of a run from its mean.
    fn cost(run: &[u32]) -> f64 {
        let mean = f64::from(run.iter().sum::<u32>()) / run.len() as f64;
        run.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum()
    }

    #[test]
    fn neighbours_are_together() {
        let runs = Runs::new(&values(&[1, 2, 50, 51, 52, 200]), 3);
        assert_eq!(runs.cut(1), [(0, 6)]);
        assert_eq!(runs.cut(2), [(0, 5), (5, 6)]);
        assert_eq!(runs.cut(3), [(0, 2), (2, 5), (5, 6)]);
    }

    proptest! {
        /// Compares with what looks at every begin.
        #[test]
        fn no_begin_is_left_out(mut numbers in prop::collection::vec(prop_oneof![0u32..9, 0u32..256], 1..60), most in 1usize..6) {
            numbers.sort_unstable();
            let runs = Runs::new(&values(&numbers), most);
            for k in 2..=most {
                for end in 0..=numbers.len() {
                    let costs = (k - 1..end)
                        .map(|begin| (runs.best[k - 2][begin].0 + runs.cost(begin, end), begin));
                    let least = costs.min().unwrap_or((u128::MAX / 2, 0));
                    prop_assert_eq!(runs.best[k - 1][end], least);
                }
            }
        }

        /// Compares with every way to cut.
        #[test]
        fn no_cut_is_better(mut numbers in prop::collection::vec(0u32..60, 3..8), k in 2usize..4) {
            numbers.sort_unstable();
            let n = numbers.len();
            let mut least = f64::INFINITY;
            for first in 1..n {
                if k == 2 {
                    least = least.min(cost(&numbers[..first]) + cost(&numbers[first..]));
                    continue;
                }
                for second in first + 1..n {
                    let parts = [&numbers[..first], &numbers[first..second], &numbers[second..]];
                    least = least.min(parts.map(cost).iter().sum());
                }
            }
            let runs = Runs::new(&values(&numbers), k).cut(k);
            prop_assert!(runs.iter().all(|(begin, end)| begin < end));
            let total: f64 = runs.iter().map(|&(begin, end)| cost(&numbers[begin..end])).sum();
            prop_assert!((total - least).abs() < 1e-6, "{total} {least}");
        }
    }
}
