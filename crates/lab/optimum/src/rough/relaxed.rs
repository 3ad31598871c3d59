//! A bound on every partition, for any number of programs.
//!
//! Every partition divides the cache: the programs' occupancies add up to its ways. The bounds are
//! the best values over all such occupancies, whether a mask can give them or not.

use fairways_core::Ways;
use fairways_profiles::ProfiledProgram;

use crate::Goal;

/// The ratio of neighbouring lows in a scan: a bound on a ratio is too low by this factor.
const STEP: f64 = 1.0005;

/// The number of halvings, or cuts into thirds, in a search for a number.
const STEPS: u32 = 100;

/// The programs' slowdowns at 0, 1, ... ways, between which they are lines.
struct Relaxed {
    ways: f64,
    slowdowns: Vec<Vec<f64>>,
}

/// A bound on the goal's value for these programs, whatever memory does; with a memory limit the
/// largest slowdown may be any multiple of the smallest.
pub(crate) fn bound(
    programs: &[ProfiledProgram],
    ways: Ways,
    goal: Goal,
    is_memory_limited: bool,
) -> f64 {
    let slowdowns = programs
        .iter()
        .map(|program| (0..=ways.get()).map(|x| program.slowdown(f64::from(x))).collect());
    let relaxed = Relaxed { ways: f64::from(ways.get()), slowdowns: slowdowns.collect() };
    match goal {
        Goal::Unfairness if is_memory_limited => 1.0,
        Goal::Unfairness => relaxed.ratio(),
        Goal::MaxSlowdown => relaxed.largest(0.0),
        Goal::Stp => relaxed.sum(|slowdown| 1.0 / slowdown),
        Goal::Antt => -relaxed.sum(|slowdown| -slowdown) / programs.len() as f64,
    }
}

impl Relaxed {
    /// The least ways that a program can occupy with a slowdown from `low` to `high`; infinite if
    /// it can't.
    fn least(slowdowns: &[f64], low: f64, high: f64) -> f64 {
        if (low..=high).contains(&slowdowns[0]) {
            return 0.0;
        }
        for (x, pair) in (0u32..).zip(slowdowns.windows(2)) {
            let enters = if pair[0] > high && pair[1] <= high {
                high
            } else if pair[0] < low && pair[1] >= low {
                low
            } else {
                continue;
            };
            return f64::from(x) + (pair[0] - enters) / (pair[0] - pair[1]);
        }
        f64::INFINITY
    }

    /// Whether all slowdowns can be from `low` to `high`.
    fn fits(&self, low: f64, high: f64) -> bool {
        let least = self.slowdowns.iter().map(|one| Self::least(one, low, high));
        least.sum::<f64>() <= self.ways * (1.0 + 1e-12)
    }

    /// The least that the largest slowdown can be while none is below `low`; infinite if one must
    /// be.
    fn largest(&self, low: f64) -> f64 {
        let most = self.slowdowns.iter().flatten().copied().fold(low, f64::max);
        if !self.fits(low, most) {
            return f64::INFINITY;
        }
        let (mut no, mut yes) = (low, most);
        for _ in 0..STEPS {
            let middle = f64::midpoint(no, yes);
            if self.fits(low, middle) {
                yes = middle;
            } else {
                no = middle;
            }
        }
        no
    }

    /// The least ratio of the largest slowdown to the smallest.
    fn ratio(&self) -> f64 {
        let all = self.slowdowns.iter().flatten().copied();
        let most = all.clone().fold(0.0, f64::max);
        let mut low = all.fold(f64::INFINITY, f64::min);
        let mut least = f64::INFINITY;
        while low <= most {
            // For all partitions with a smallest slowdown between `low` and `next`.
            let next = low * STEP;
            if self.fits(low, least * next) {
                least = least.min(self.largest(low) / next);
            }
            low = next;
        }
        least.max(1.0)
    }

    /// The largest sum of the programs' values: each way has a price at which the programs want
    /// exactly the cache's ways (Lagrange's bound). Between two numbers of ways, no program's value
    /// is above both of its values at these.
    fn sum(&self, value: impl Fn(f64) -> f64) -> f64 {
        let values: Vec<Vec<f64>> =
            self.slowdowns.iter().map(|one| one.iter().map(|&s| value(s)).collect()).collect();
        let steepest = values
            .iter()
            .flat_map(|one| one.windows(2).map(|pair| (pair[1] - pair[0]).abs()))
            .fold(0.0, f64::max);
        let (mut low, mut high) = (-steepest, steepest);
        for _ in 0..STEPS {
            let third = (high - low) / 3.0;
            if self.priced(&values, low + third) < self.priced(&values, high - third) {
                high -= third;
            } else {
                low += third;
            }
        }
        self.priced(&values, f64::midpoint(low, high))
    }

    /// The largest sum of the programs' values, net of the price of their ways, plus the price of
    /// the cache.
    fn priced(&self, values: &[Vec<f64>], price: f64) -> f64 {
        let best = values.iter().map(|one| {
            let net = (0u32..).zip(one).map(|(x, value)| value - price * f64::from(x));
            net.fold(f64::NEG_INFINITY, f64::max)
        });
        best.sum::<f64>() + price * self.ways
    }
}
