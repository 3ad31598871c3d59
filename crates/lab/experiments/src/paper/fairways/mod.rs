//! `fairways`, the policy of this project. It has no paper, but aims that were set before anything
//! was measured. It is compared with the other policies on mixes drawn by seed.
//!
//! It runs on the static model with every profile known (`statically.rs`), over time with programs
//! that it does not know (`over_time.rs`), and on the chip (`on_chip.rs`). Losses are shown: the
//! worst mix of each policy, and the number of mixes on which it is less fair than no partitioning.

pub(super) mod claims;
mod on_chip;
mod over_time;
mod scored;
mod statically;

use fairways_chip::ChipError;
use fairways_core::Ways;
use fairways_profiles::{ProfileTable, ProgramCatalog};
use thiserror::Error;

use super::Findings;
use crate::gap::GapError;
use crate::live::LiveError;

pub use scored::ScoreFigures;

/// The size of the evaluation.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationSize {
    /// The number of mixes of each kind: of 4 and 8 programs, of 12, and of 16.
    pub mixes: [usize; 3],
    /// The number of mixes of each kind and size with limited memory bandwidth.
    pub limited: usize,
    /// The number of mixes that run over time, of 8, 12 and 16 programs each.
    pub live: usize,
    /// The number of mixes on the chip, of 4 and of 8 programs each.
    pub on_chip: usize,
    /// The seed of every mix.
    pub seed: u64,
}

impl EvaluationSize {
    /// The whole evaluation; if `quick`, fewer mixes, none over time, and none on the chip.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        if quick {
            Self { mixes: [10, 4, 1], limited: 3, live: 0, on_chip: 0, seed: 1 }
        } else {
            Self { mixes: [40, 20, 5], limited: 10, live: 4, on_chip: 2, seed: 1 }
        }
    }
}

/// Why the evaluation ended early.
#[derive(Debug, Error)]
pub enum Unfinished {
    /// On the static model.
    #[error(transparent)]
    Statically(#[from] GapError),
    /// Over time.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// On the chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
}

/// The evaluation.
#[derive(Debug)]
pub struct Evaluation<'a> {
    programs: &'a ProgramCatalog,
    size: EvaluationSize,
}

/// The ways of the caches, as far as the profiles have them.
const WAYS: [u32; 2] = [11, 20];

impl<'a> Evaluation<'a> {
    /// The evaluation with these programs.
    #[must_use]
    pub fn new(programs: &'a ProgramCatalog, size: EvaluationSize) -> Self {
        Self { programs, size }
    }

    /// Runs it. `progress` is called with the current experiment, the steps done, and all steps.
    ///
    /// # Errors
    /// If the chip is not possible, or a policy makes no plan.
    pub fn run(
        &self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, ScoreFigures), Unfinished> {
        let mut findings = Findings::default();
        let table = self.programs.table();
        let mut scored = Vec::new();
        for ways in caches(table) {
            let step = format!("mixes on {ways} ways");
            let found = statically::score(table, ways, self.size, &step, progress)?;
            statically::findings(ways, &found, &mut findings);
            scored.push((format!("{ways}-ways"), found.mixes));
        }
        self.limited(&mut findings, progress)?;
        if self.size.live > 0 {
            let found = over_time::run(self.programs, self.first_cache(), self.size, progress)?;
            scored::findings("over time, without profiles", &found, &mut findings);
            scored.push(("over-time".to_owned(), found));
        }
        if self.size.on_chip > 0 {
            let found = on_chip::run(table, self.first_cache(), self.size, progress)?;
            scored::findings("on the chip, without profiles", &found, &mut findings);
            scored.push(("chip".to_owned(), found));
        }
        Ok((findings, ScoreFigures(scored)))
    }

    /// The cache for the runs over time and on the chip.
    fn first_cache(&self) -> Ways {
        caches(self.programs.table())[0]
    }

    /// Runs with the two models of limited memory bandwidth.
    fn limited(
        &self,
        findings: &mut Findings,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(), Unfinished> {
        let (table, ways) = (self.programs.table(), self.first_cache());
        for model in statically::MODELS {
            statically::limited(table, ways, model, self.size, findings, progress)?;
        }
        Ok(())
    }
}

/// The caches that the profiles cover; if they have fewer ways, one cache with all of these.
fn caches(table: &ProfileTable) -> Vec<Ways> {
    let fitting = WAYS.into_iter().filter(|&ways| ways <= table.ways().get());
    let caches: Vec<Ways> = fitting.filter_map(Ways::new).collect();
    if caches.is_empty() { vec![table.ways()] } else { caches }
}
