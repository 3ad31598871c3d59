//! Measures a program with every number of ways in one run.
//!
//! The private caches, which do not depend on the ways, are simulated as on the chip. Their misses
//! go to the last-level caches of every number of ways at once (`cache/stacks.rs`), so one pass
//! replaces a run for each.
//!
//! Differences from the chip: private caches keep lines that an inclusive last-level cache would
//! remove from them; no access waits for the bus; and the line used longest ago makes room,
//! whatever the chip's rule.

use fairways_profiles::StreamEventKind;

use crate::account::{Account, Cost};
use crate::cache::{DIRTY, Stacks};
use crate::geometry::GeometryError;
use crate::private_side::{Departure, PrivateSide};
use crate::program::{Access, BATCH, SimulatedProgram, Supply};
use crate::settings::Settings;
use crate::slices::Slices;

/// A program under measurement.
pub struct Profiler {
    settings: Settings,
    cost: Cost,
    side: PrivateSide,
    stacks: Stacks,
    /// What left the private caches in the batch at hand.
    departures: Vec<Departure>,
}

impl Profiler {
    /// A profiler that is ready to run a program by itself.
    ///
    /// # Errors
    /// If such a chip can't be simulated: [`GeometryError`].
    pub fn new(settings: Settings, program: &SimulatedProgram) -> Result<Self, GeometryError> {
        settings.chip.check()?;
        let side = PrivateSide::new(&settings, program);
        Ok(Self::from_side(settings, program, side))
    }

    /// A profiler whose accesses come from outside.
    pub(crate) fn without_source(
        settings: Settings,
        program: &SimulatedProgram,
    ) -> Result<Self, GeometryError> {
        settings.chip.check()?;
        let side = PrivateSide::without_source(&settings, program);
        Ok(Self::from_side(settings, program, side))
    }

    fn from_side(settings: Settings, program: &SimulatedProgram, side: PrivateSide) -> Self {
        let Settings { chip, set_sampling, .. } = settings;
        let sets = chip.sets.div_ceil(set_sampling) as usize;
        Self {
            settings,
            cost: Cost::new(program.base_cpi, program.overlap, chip.latency),
            side,
            stacks: Stacks::new(sets, chip.llc.ways.get() as usize),
            departures: Vec::with_capacity(2 * BATCH),
        }
    }

    /// The same, for these slices of the program. The instructions before a slice go through the
    /// private caches only; the last-level cache begins empty.
    #[must_use]
    pub fn within(self, slices: Slices) -> Self {
        Self { side: self.side.within(slices), ..self }
    }

    /// Runs the program for one batch of accesses.
    pub fn step(&mut self) -> Supply {
        let departures = &mut self.departures;
        let supply = self.side.step(&mut |_, departure| departures.push(departure));
        self.take_departures();
        supply
    }

    /// Runs these accesses of the program.
    pub(crate) fn run_all(&mut self, accesses: &[Access]) {
        // Few at a time, so that sets that are read ahead are still there when they are used.
        for accesses in accesses.chunks(BATCH) {
            let departures = &mut self.departures;
            self.side.run_all(accesses, &mut |_, departure| departures.push(departure));
            self.take_departures();
        }
    }

    /// Hands what left the private caches to the last-level caches.
    fn take_departures(&mut self) {
        let sampling = self.settings.set_sampling as usize;
        if sampling > 1 {
            self.departures.retain_mut(|departure| {
                let is_simulated = departure.set.is_multiple_of(sampling);
                departure.set /= sampling;
                is_simulated
            });
        }
        self.stacks.read_ahead(self.departures.iter().map(|departure| departure.set));
        for Departure { line, set, kind, .. } in self.departures.drain(..) {
            match kind {
                StreamEventKind::WriteBack => self.stacks.write_back(set, line << DIRTY),
                _ => self.stacks.access(set, line << DIRTY),
            }
        }
    }

    /// Whether the program has run beyond the last slice.
    pub(crate) fn is_over(&self) -> bool {
        self.side.slices.is_over()
    }

    /// Waits for a program that is asleep, in real time, at most `most`.
    pub fn wait(&mut self, most: std::time::Duration) {
        self.side.wait(most);
    }

    /// Ends the program, if it has not ended.
    pub fn end(&mut self) {
        self.side.end();
    }

    /// Whether all slices were run.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.side.slices.is_complete()
    }

    /// Instructions up to now.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.side.counts.account.instructions
    }

    /// Loads and stores up to now.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.side.counts.account.l1_references
    }

    /// The program's counts up to now with `ways` ways, at most the chip's.
    #[must_use]
    pub fn account(&self, ways: u32) -> Account {
        let ways = (ways as usize).clamp(1, self.stacks.ways());
        let llc_hits = self.extrapolated(self.stacks.hits(ways));
        let (cost, llc_misses) = (&self.cost, self.side.counts.account.llc_references - llc_hits);
        let stall_ticks = llc_hits * cost.llc + llc_misses * cost.memory;
        let ticks = self.side.counts.account.instructions * cost.instruction
            + self.side.counts.l2_hits * cost.l2
            + stall_ticks;
        let lines = llc_misses + self.extrapolated(self.stacks.written(ways));
        Account { ticks, llc_misses, stall_ticks, lines, ..self.side.counts.account }
    }

    /// A count in the simulated sets, extrapolated to all sets.
    fn extrapolated(&self, count: u64) -> u64 {
        let seen = self.stacks.uses();
        let scaled = u128::from(count) * u128::from(self.side.counts.account.llc_references);
        u64::try_from(scaled.checked_div(u128::from(seen)).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// The part of [`Account::stall_ticks`] that waited for memory with `ways` ways.
    #[must_use]
    pub fn memory_ticks(&self, ways: u32) -> u64 {
        self.account(ways).llc_misses * self.cost.memory
    }

    /// Ticks that waited for the L2.
    #[must_use]
    pub fn l2_ticks(&self) -> u64 {
        self.side.counts.l2_hits * self.cost.l2
    }

    /// Lines that a cache of `ways` ways has now.
    #[must_use]
    pub fn lines_held(&self, ways: u32) -> u64 {
        let ways = (ways as usize).min(self.stacks.ways());
        self.stacks.lines_held(ways) * u64::from(self.settings.set_sampling)
    }

    /// The chip, and how it is simulated.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
