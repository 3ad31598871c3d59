//! How a mix fares on several caches.

use fairways_core::{AppId, Partition, WayMask, Ways};

use crate::program::{ProfiledProgram, sweep};
use crate::table::ProfileTable;

/// Scores plans of a mix on several caches whose ways are of equal size, each cache by itself.
/// Slowdowns are relative to the program alone on the largest one: on a smaller cache a program is
/// slow because that is small. Memory has no limit.
#[derive(Clone, Debug)]
pub struct PlacedScorer {
    caches: Vec<Ways>,
    programs: Vec<ProfiledProgram>,
}

impl PlacedScorer {
    /// A scorer of the mix of these programs (indices into `table`) on caches of these ways, at
    /// most as many as the table has.
    ///
    /// # Panics
    /// If there is no cache.
    #[must_use]
    pub fn new(table: &ProfileTable, programs: &[usize], caches: &[Ways]) -> Self {
        let largest = *caches.iter().max().expect("a cache");
        let programs =
            programs.iter().map(|&index| ProfiledProgram::new(table, index, largest)).collect();
        Self { caches: caches.to_vec(), programs }
    }

    /// The slowdown of each program. There is a plan for each cache, with the programs that run
    /// there; app `i` is program `i`.
    ///
    /// # Panics
    /// If a program is on no cache.
    #[must_use]
    pub fn score(&self, plans: &[Partition]) -> Vec<f64> {
        let mut slowdowns = vec![f64::NAN; self.programs.len()];
        for (cache, plan) in plans.iter().enumerate() {
            self.score_one(cache, plan, &mut |program, slowdown| slowdowns[program] = slowdown);
        }
        assert!(!slowdowns.iter().any(|slowdown| slowdown.is_nan()), "a cache for each program");
        slowdowns
    }

    /// Calls `each` with every program of a plan of this cache, and its slowdown.
    pub fn score_one(&self, cache: usize, plan: &Partition, each: &mut dyn FnMut(usize, f64)) {
        let there: Vec<(usize, WayMask)> = (0..self.programs.len())
            .zip((0..).map(AppId))
            .filter_map(|(program, app)| Some((program, plan.mask_of(app)?)))
            .collect();
        let fill = there.iter().map(|&(program, mask)| (&self.programs[program], mask));
        let mut occupancy = vec![0.0; there.len()];
        sweep(fill, self.caches[cache], &mut Vec::new(), &mut occupancy, |_, _, _| {});
        for (&(program, _), &x) in there.iter().zip(&occupancy) {
            each(program, self.programs[program].slowdown(x));
        }
    }
}
