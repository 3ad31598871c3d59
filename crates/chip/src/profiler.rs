//! Measures a program with every number of ways in one run.
//!
//! The private caches, which do not depend on the ways, are simulated as on the chip. Their misses
//! go to stacks, one for each set of the last-level cache: the lines of the set, the one used last
//! first. A line found at depth `d` (from 0) hits in a cache of the same sets and more than `d`
//! ways that replaces the line used longest ago, and misses in all smaller ones (Mattson et al.,
//! 1970). So one pass replaces a run for each number of ways.
//!
//! Differences from the chip: private caches keep lines that an inclusive last-level cache would
//! remove from them; no access waits for the bus; and the line used longest ago makes room,
//! whatever the chip's rule.

use fairways_core::MAX_WAYS;
use fairways_profiles::StreamEventKind;

use crate::account::{Account, Cost};
use crate::cache::{DIRTY, NONE, Tag};
use crate::geometry::GeometryError;
use crate::private_side::{Departure, PrivateSide};
use crate::program::{Access, SimulatedProgram, Supply};
use crate::settings::Settings;
use crate::slices::Slices;

/// A program under measurement.
pub struct Profiler {
    settings: Settings,
    cost: Cost,
    side: PrivateSide,
    stacks: Stacks,
}

/// A stack for each set.
struct Stacks {
    ways: usize,
    /// The lines of each set, the one used last first, to a depth of `ways`.
    lines: Vec<Tag>,
    /// For each line, the smallest number of ways with which it has changes that memory lacks.
    changed: Vec<u8>,
    /// Uses by the depth at which they found their line; the last entry: at none.
    uses_by_depth: [u64; MAX_WAYS + 1],
    /// Lines written to memory with `w` ways, at index `w`, as differences.
    written: [i64; MAX_WAYS + 2],
}

/// Unchanged with every number of ways.
const CLEAN: u8 = u8::MAX;

impl Stacks {
    fn new(sets: usize, ways: usize) -> Self {
        let (lines, changed) = (vec![NONE; sets * ways], vec![CLEAN; sets * ways]);
        Self { ways, lines, changed, uses_by_depth: [0; MAX_WAYS + 1], written: [0; MAX_WAYS + 2] }
    }

    /// Counts a line that caches of `from` to `to` ways write to memory.
    fn write(&mut self, from: usize, to: usize) {
        if from <= to {
            self.written[from] += 1;
            self.written[to + 1] -= 1;
        }
    }

    /// Notes that a line leaves the caches of up to `ways` ways; those with changes write it to
    /// memory. Returns the new `changed`.
    fn write_if_changed(&mut self, changed: u8, ways: usize) -> u8 {
        if changed == CLEAN {
            return CLEAN;
        }
        self.write(usize::from(changed), ways);
        changed.max(u8::try_from(ways + 1).unwrap_or(CLEAN))
    }

    /// Lines that a cache of `ways` ways has written to memory, including lines that have left it
    /// by now and were not used since.
    fn written(&self, ways: usize) -> u64 {
        let written_since: i64 = self.written[..=ways].iter().sum();
        let outside = self.changed.chunks(self.ways).flat_map(|set| &set[ways..]);
        let still_changed = outside.filter(|&&changed| usize::from(changed) <= ways).count();
        written_since.unsigned_abs() + still_changed as u64
    }

    /// Handles what leaves the private caches, if it is in one of `sampling` sets.
    #[inline]
    fn take(&mut self, departure: Departure, sampling: usize) {
        if !departure.set.is_multiple_of(sampling) {
            return;
        }
        let (index, line) = (departure.set / sampling, departure.line << DIRTY);
        match departure.kind {
            StreamEventKind::WriteBack => self.write_back(index, line),
            _ => self.access(index, line),
        }
    }

    fn access(&mut self, set: usize, line: Tag) {
        let range = set * self.ways..(set + 1) * self.ways;
        let found = self.lines[range.clone()].iter().position(|&other| other == line);
        let depth = found.unwrap_or(self.ways - 1);
        let last = range.start + depth;
        let changed = match found {
            Some(depth) => self.write_if_changed(self.changed[last], depth),
            None => {
                self.write_if_changed(self.changed[last], self.ways);
                CLEAN
            }
        };
        self.uses_by_depth[found.unwrap_or(MAX_WAYS)] += 1;
        self.lines.copy_within(range.start..last, range.start + 1);
        self.changed.copy_within(range.start..last, range.start + 1);
        (self.lines[range.start], self.changed[range.start]) = (line, changed);
    }

    /// Handles a changed line that leaves the private caches.
    fn write_back(&mut self, set: usize, line: Tag) {
        let range = set * self.ways..(set + 1) * self.ways;
        let found = self.lines[range.clone()].iter().position(|&other| other == line);
        // Caches of more ways than its depth have it.
        let without = found.unwrap_or(self.ways);
        self.write(1, without);
        if let Some(depth) = found {
            let place = range.start + depth;
            self.write_if_changed(self.changed[place], depth);
            self.changed[place] = u8::try_from(depth + 1).unwrap_or(CLEAN);
        }
    }
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
        let (sampling, stacks) = (self.settings.set_sampling as usize, &mut self.stacks);
        self.side.step(&mut |_, departure| stacks.take(departure, sampling))
    }

    /// Runs these accesses of the program.
    pub(crate) fn run_all(&mut self, accesses: &[Access]) {
        let (sampling, stacks) = (self.settings.set_sampling as usize, &mut self.stacks);
        self.side.run_all(accesses, &mut |_, departure| stacks.take(departure, sampling));
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
        let ways = (ways as usize).clamp(1, self.stacks.ways);
        let llc_hits = self.extrapolated(self.stacks.uses_by_depth[..ways].iter().sum());
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
        let seen: u64 = self.stacks.uses_by_depth.iter().sum();
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
        let ways = (ways as usize).min(self.stacks.ways);
        let sets = self.stacks.lines.chunks(self.stacks.ways);
        let lines = sets.flat_map(|set| &set[..ways]).filter(|&&line| line != NONE).count();
        lines as u64 * u64::from(self.settings.set_sampling)
    }

    /// The chip, and how it is simulated.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
