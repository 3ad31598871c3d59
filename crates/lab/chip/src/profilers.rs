//! Measures a program on several chips in one run.

use std::time::Duration;

use fairways_core::AppId;
use rand_pcg::Pcg64Mcg;

use crate::geometry::{Geometry, GeometryError};
use crate::profiler::Profiler;
use crate::program::{Access, BATCH, Generate, SimulatedProgram, Supply};
use crate::runner::seeds;
use crate::settings::Settings;
use crate::slices::Slices;

/// A program under measurement on one or several chips, which runs once: each [`Profiler`] counts
/// what it would count in a run of its own. Private caches are simulated for each chip.
pub struct Profilers {
    /// Until the program was ended.
    source: Option<Box<dyn Generate>>,
    random: Pcg64Mcg,
    /// The accesses, for each L1 that needs its own, and which ones are each profiler's.
    accesses: Vec<Vec<Access>>,
    accesses_of: Vec<usize>,
    each: Vec<Profiler>,
}

impl Profilers {
    /// Profilers that are ready to run these slices of a program by itself. Random numbers are of
    /// the first chip's seed.
    ///
    /// # Errors
    /// If one of the chips can't be simulated: [`GeometryError`].
    ///
    /// # Panics
    /// If there is no chip.
    pub fn new(
        chips: &[Settings],
        program: &SimulatedProgram,
        slices: Slices,
    ) -> Result<Self, GeometryError> {
        let each: Result<Vec<Profiler>, GeometryError> = chips
            .iter()
            .map(|&chip| Ok(Profiler::without_source(chip, program)?.within(slices)))
            .collect();
        let each = each?;
        let geometries: Vec<Geometry> = chips.iter().map(|settings| settings.chip).collect();
        let (source, accesses_of) = program.accesses.source_for(&geometries);
        let count = accesses_of.iter().max().map_or(1, |most| most + 1);
        let accesses = (0..count).map(|_| Vec::with_capacity(2 * BATCH)).collect();
        let (_, random) = seeds(&chips[0], AppId(0), 0);
        Ok(Self { source: Some(source), random, accesses, accesses_of, each })
    }

    /// Runs the program for one batch of accesses.
    pub fn step(&mut self) -> Supply {
        let Some(source) = &mut self.source else { return Supply::Ended };
        self.accesses.iter_mut().for_each(Vec::clear);
        let supply = source.generate_by_l1(&mut self.random, &mut self.accesses);
        for (profiler, &accesses) in self.each.iter_mut().zip(&self.accesses_of) {
            profiler.run_all(&self.accesses[accesses]);
        }
        if self.each.iter().all(Profiler::is_over) { Supply::Ended } else { supply }
    }

    /// Waits for a program that is asleep, in real time, at most `most`.
    pub fn wait(&mut self, most: Duration) {
        if let Some(source) = &mut self.source {
            source.wait(most);
        }
    }

    /// Ends the program, if it has not ended.
    pub fn end(&mut self) {
        self.source = None;
    }

    /// Instructions of the slices so far, by the first chip's profiler: all run the same program.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.each[0].instructions()
    }

    /// Loads and stores of the slices so far, by the first chip's profiler.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.each[0].references()
    }

    /// Whether all slices were seen to their end, on every chip.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.each.iter().all(Profiler::is_complete)
    }

    /// The profilers, in the order of the chips.
    #[must_use]
    pub fn each(&self) -> &[Profiler] {
        &self.each
    }
}
