//! What a program does with every number of ways, from running it once.
//!
//! The private caches, which do not depend on the ways, are simulated as on the chip. What misses them goes
//! to stacks, one for each set of the last-level cache: the lines of the set, the one used last first. A line
//! found at depth `d` (from 0) hits in a cache of the same sets and more than `d` ways that replaces the line
//! used longest ago, and misses in all smaller ones (Mattson et al., 1970). So one pass counts what would
//! take a run for each number of ways.
//!
//! What is not as on the chip: private caches keep lines that an inclusive last-level cache would take out of
//! them; nobody waits for the bus; and the line used longest ago makes room, whatever the chip's rule.

use fairways_core::{AppId, MAX_WAYS};
use rand_pcg::Pcg64Mcg;

use crate::account::{Account, Cost};
use crate::cache::{Caches, DIRTY, Level, NONE, Tag};
use crate::geometry::GeometryError;
use crate::pages::Pages;
use crate::program::{Access, AccessKind, BATCH, Generate, Program, Supply};
use crate::runner::{pages_of, seeds};
use crate::settings::Settings;

/// A program under measurement.
pub struct Profiler {
    settings: Settings,
    cost: Cost,
    source: Box<dyn Generate>,
    random: Pcg64Mcg,
    accesses: Vec<Access>,
    pages: Pages,
    caches: Caches,
    stacks: Stacks,
    /// What does not depend on the ways.
    common: Account,
    l2_hits: u64,
}

/// Nothing more.
struct Over;

impl Generate for Over {
    fn generate(&mut self, _: &mut Pcg64Mcg, _: &mut Vec<Access>) -> Supply {
        Supply::Ended
    }
}

/// A stack for each set.
struct Stacks {
    ways: usize,
    /// The lines of each set, the one used last first, to a depth of `ways`.
    lines: Vec<Tag>,
    /// Of each, the smallest number of ways with which it has changes that memory has not.
    changed: Vec<u8>,
    /// How many uses found their line at each depth; the last one: at none.
    found: [u64; MAX_WAYS + 1],
    /// How many lines were written to memory: at `w`, with `w` ways, as differences.
    written: [i64; MAX_WAYS + 2],
}

/// Changed with no number of ways.
const CLEAN: u8 = u8::MAX;

impl Stacks {
    fn new(sets: usize, ways: usize) -> Self {
        let (lines, changed) = (vec![NONE; sets * ways], vec![CLEAN; sets * ways]);
        Self { ways, lines, changed, found: [0; MAX_WAYS + 1], written: [0; MAX_WAYS + 2] }
    }

    /// So many ways, from `from` to `to`, write a line to memory.
    fn write(&mut self, from: usize, to: usize) {
        if from <= to {
            self.written[from] += 1;
            self.written[to + 1] -= 1;
        }
    }

    /// A line leaves the caches of up to so many ways; those among them that hold changes write them.
    fn leave(&mut self, changed: u8, ways: usize) -> u8 {
        if changed == CLEAN {
            return CLEAN;
        }
        self.write(usize::from(changed), ways);
        changed.max(u8::try_from(ways + 1).unwrap_or(CLEAN))
    }

    /// Lines that caches of so many ways have written to memory: also those that have left them by now, and have
    /// not been used since.
    fn written(&self, ways: usize) -> u64 {
        let told: i64 = self.written[..=ways].iter().sum();
        let left = |set: &[u8]| set[ways..].iter().filter(|&&of| usize::from(of) <= ways).count();
        told.unsigned_abs() + self.changed.chunks(self.ways).map(left).sum::<usize>() as u64
    }

    fn access(&mut self, set: usize, line: Tag) {
        let range = set * self.ways..(set + 1) * self.ways;
        let found = self.lines[range.clone()].iter().position(|&other| other == line);
        let depth = found.unwrap_or(self.ways - 1);
        let last = range.start + depth;
        let changed = match found {
            Some(depth) => self.leave(self.changed[last], depth),
            None => {
                self.leave(self.changed[last], self.ways);
                CLEAN
            }
        };
        self.found[found.unwrap_or(MAX_WAYS)] += 1;
        self.lines.copy_within(range.start..last, range.start + 1);
        self.changed.copy_within(range.start..last, range.start + 1);
        (self.lines[range.start], self.changed[range.start]) = (line, changed);
    }

    /// A changed line leaves the private caches.
    fn write_back(&mut self, set: usize, line: Tag) {
        let range = set * self.ways..(set + 1) * self.ways;
        let found = self.lines[range.clone()].iter().position(|&other| other == line);
        // It is in caches of more ways than its depth.
        let without = found.unwrap_or(self.ways);
        self.write(1, without);
        if let Some(depth) = found {
            let place = range.start + depth;
            self.leave(self.changed[place], depth);
            self.changed[place] = u8::try_from(depth + 1).unwrap_or(CLEAN);
        }
    }
}

impl Profiler {
    /// Ready to run a program by itself.
    ///
    /// # Errors
    /// If there can't be such a chip: [`GeometryError`].
    pub fn new(settings: Settings, program: &Program) -> Result<Self, GeometryError> {
        let Settings { chip, set_sampling, .. } = settings;
        chip.check()?;
        let sets = chip.sets.div_ceil(set_sampling) as usize;
        // As a chip has it of its first program.
        let (placed, random) = seeds(&settings, AppId(0), 0);
        Ok(Self {
            settings,
            cost: Cost::new(program.base_cpi, program.overlap, chip.latency),
            source: program.accesses.source(&chip),
            random,
            accesses: Vec::with_capacity(2 * BATCH),
            pages: pages_of(&settings, Some(program), placed),
            caches: Caches::new(&chip),
            stacks: Stacks::new(sets, chip.llc.ways.get() as usize),
            common: Account::default(),
            l2_hits: 0,
        })
    }

    /// Lets the program do a little more.
    pub fn step(&mut self) -> Supply {
        self.accesses.clear();
        let supply = self.source.generate(&mut self.random, &mut self.accesses);
        let accesses = std::mem::take(&mut self.accesses);
        accesses.iter().for_each(|access| self.run(access));
        self.accesses = accesses;
        supply
    }

    /// Waits for a program that is asleep, in real time, at most so long.
    pub fn wait(&mut self, most: std::time::Duration) {
        self.source.wait(most);
    }

    /// Ends the program, if it has not ended.
    pub fn end(&mut self) {
        self.source = Box::new(Over);
    }

    fn run(&mut self, access: &Access) {
        self.common.instructions += u64::from(access.instructions);
        self.common.l1_references += u64::from(access.references);
        let tag = access.line << DIRTY;
        let set = match access.kind {
            // Nor fetches: profiles are of data.
            AccessKind::None | AccessKind::Fetch => return,
            AccessKind::Load | AccessKind::Store | AccessKind::Missed => {
                self.pages.set(access.line)
            }
        };
        let (level, left) = match access.kind {
            AccessKind::Missed => (Level::Beyond, [NONE; 2]),
            kind => {
                let pages = &mut self.pages;
                let tag = tag | Tag::from(kind == AccessKind::Store);
                self.caches.access(set, tag, |tag| pages.set(tag >> DIRTY))
            }
        };
        if level == Level::L1 {
            return;
        }
        self.common.l1_misses += 1;
        for tag in left.into_iter().filter(|&tag| tag != NONE) {
            let set = self.pages.set(tag >> DIRTY);
            if let Some(index) = self.index(set) {
                self.stacks.write_back(index, tag & !DIRTY);
            }
        }
        if level == Level::L2 {
            self.l2_hits += 1;
        } else {
            self.common.llc_references += 1;
            if let Some(index) = self.index(set) {
                self.stacks.access(index, tag);
            }
        }
    }

    /// Where a set is among those that are simulated.
    fn index(&self, set: usize) -> Option<usize> {
        let sampling = self.settings.set_sampling as usize;
        set.is_multiple_of(sampling).then(|| set / sampling)
    }

    /// Instructions up to now.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.common.instructions
    }

    /// Loads and stores up to now.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.common.l1_references
    }

    /// What the program has counted up to now, with so many ways, at most those of the chip.
    #[must_use]
    pub fn account(&self, ways: u32) -> Account {
        let ways = (ways as usize).clamp(1, self.stacks.ways);
        // What is known of the sets that are simulated holds for all.
        let seen: u64 = self.stacks.found.iter().sum();
        let all = self.common.llc_references;
        let scaled = |count: u64| {
            let scaled = u128::from(count) * u128::from(all);
            u64::try_from(scaled.checked_div(u128::from(seen)).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let llc_misses = all - scaled(self.stacks.found[..ways].iter().sum());
        let (cost, llc_hits) = (&self.cost, all - llc_misses);
        let stall_ticks = llc_hits * cost.llc + llc_misses * cost.memory;
        let ticks =
            self.common.instructions * cost.instruction + self.l2_hits * cost.l2 + stall_ticks;
        let lines = llc_misses + scaled(self.stacks.written(ways));
        Account { ticks, llc_misses, stall_ticks, lines, ..self.common }
    }

    /// Ticks that waited for memory, of those of [`Account::stall_ticks`] with so many ways.
    #[must_use]
    pub fn memory_ticks(&self, ways: u32) -> u64 {
        self.account(ways).llc_misses * self.cost.memory
    }

    /// Ticks that waited for the L2.
    #[must_use]
    pub fn l2_ticks(&self) -> u64 {
        self.l2_hits * self.cost.l2
    }

    /// Lines that a cache of so many ways holds now.
    #[must_use]
    pub fn lines_held(&self, ways: u32) -> u64 {
        let ways = (ways as usize).min(self.stacks.ways);
        let sets = self.stacks.lines.chunks(self.stacks.ways);
        let held = |set: &[Tag]| set[..ways].iter().filter(|&&line| line != NONE).count();
        sets.map(held).sum::<usize>() as u64 * u64::from(self.settings.set_sampling)
    }

    /// The chip, and how it is simulated.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
