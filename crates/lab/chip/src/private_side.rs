//! A program, its pages and its private caches: everything before the last-level cache.

use fairways_core::AppId;
use fairways_profiles::StreamEventKind;
use rand_pcg::Pcg64Mcg;

use crate::account::Account;
use crate::cache::{DIRTY, HitLevel, NONE, PrivateCaches, Tag};
use crate::pages::PageMap;
use crate::program::{Access, AccessKind, BATCH, Generate, SimulatedProgram, Supply};
use crate::runner::{pages_of, seeds};
use crate::settings::Settings;
use crate::slices::{SliceCursor, Slices};

/// A program by itself, up to what leaves its private caches.
pub(crate) struct PrivateSide {
    source: Box<dyn Generate>,
    random: Pcg64Mcg,
    accesses: Vec<Access>,
    pages: PageMap,
    caches: PrivateCaches,
    pub(crate) slices: SliceCursor,
    pub(crate) counts: PrivateCounts,
}

/// Counts that do not depend on the last-level cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrivateCounts {
    pub(crate) account: Account,
    pub(crate) l2_hits: u64,
}

/// A line that leaves the private caches, or is missed in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) line: u32,
    /// Its set in the last-level cache.
    pub(crate) set: usize,
    pub(crate) kind: StreamEventKind,
    /// The slice in which that is.
    pub(crate) slice: u32,
}

/// The source of a program that was ended.
struct Exhausted;

impl Generate for Exhausted {
    fn generate(&mut self, _: &mut Pcg64Mcg, _: &mut Vec<Access>) -> Supply {
        Supply::Ended
    }
}

impl PrivateSide {
    /// A program that is ready to run by itself.
    pub(crate) fn new(settings: &Settings, program: &SimulatedProgram) -> Self {
        Self::from_source(settings, program, program.accesses.source(&settings.chip))
    }

    /// The same program, whose accesses come from outside ([`PrivateSide::run_all`]).
    pub(crate) fn without_source(settings: &Settings, program: &SimulatedProgram) -> Self {
        Self::from_source(settings, program, Box::new(Exhausted))
    }

    fn from_source(
        settings: &Settings,
        program: &SimulatedProgram,
        source: Box<dyn Generate>,
    ) -> Self {
        // As for the first program of a chip.
        let (placed, random) = seeds(settings, AppId(0), 0);
        Self {
            source,
            random,
            accesses: Vec::with_capacity(2 * BATCH),
            pages: pages_of(settings, Some(program), (placed, None)),
            caches: PrivateCaches::new(&settings.chip),
            slices: SliceCursor::new(Slices::ALL),
            counts: PrivateCounts::default(),
        }
    }

    /// The same program, of which only these slices count.
    pub(crate) fn within(self, slices: Slices) -> Self {
        Self { slices: SliceCursor::new(slices), ..self }
    }

    /// Runs the program for one batch of accesses.
    pub(crate) fn step(&mut self, leaves: &mut impl FnMut(&PrivateCounts, Departure)) -> Supply {
        self.accesses.clear();
        let supply = self.source.generate(&mut self.random, &mut self.accesses);
        let accesses = std::mem::take(&mut self.accesses);
        self.run_all(&accesses, leaves);
        self.accesses = accesses;
        if self.slices.is_over() { Supply::Ended } else { supply }
    }

    /// Runs these accesses.
    pub(crate) fn run_all(
        &mut self,
        accesses: &[Access],
        leaves: &mut impl FnMut(&PrivateCounts, Departure),
    ) {
        accesses.iter().for_each(|access| self.run(access, leaves));
    }

    /// Waits for a program that is asleep, in real time, at most `most`.
    pub(crate) fn wait(&mut self, most: std::time::Duration) {
        self.source.wait(most);
    }

    /// Ends the program, if it has not ended.
    pub(crate) fn end(&mut self) {
        self.source = Box::new(Exhausted);
    }

    /// Runs an access. Outside of the slices it only changes the private caches.
    fn run(&mut self, access: &Access, leaves: &mut impl FnMut(&PrivateCounts, Departure)) {
        let (instructions, counts) = self.slices.advance(access.instructions);
        self.counts.account.instructions += instructions;
        if counts {
            self.counts.account.l1_references += u64::from(access.references);
        }
        let (slice, line) = (self.slices.slice, access.line);
        let kind = match access.kind {
            // Fetches are ignored, too: profiles are of data.
            AccessKind::None | AccessKind::Fetch => return,
            AccessKind::HitL2 => {
                if counts {
                    self.counts.account.l1_misses += u64::from(line);
                    self.counts.l2_hits += u64::from(line);
                }
                return;
            }
            AccessKind::WriteBack => {
                if counts {
                    let (set, kind) = (self.pages.set_of(line), StreamEventKind::WriteBack);
                    leaves(&self.counts, Departure { line, set, kind, slice });
                }
                return;
            }
            AccessKind::Load | AccessKind::Missed => StreamEventKind::Load,
            AccessKind::Store => StreamEventKind::Store,
        };
        let set = self.pages.set_of(line);
        let (level, left) = match access.kind {
            AccessKind::Missed => (HitLevel::Beyond, [NONE; 2]),
            kind => {
                let pages = &mut self.pages;
                let tag = line << DIRTY | Tag::from(kind == AccessKind::Store);
                self.caches.access(set, tag, |tag| pages.set_of(tag >> DIRTY))
            }
        };
        if level == HitLevel::L1 || !counts {
            return;
        }
        self.counts.account.l1_misses += 1;
        for tag in left.into_iter().filter(|&tag| tag != NONE) {
            let (line, kind) = (tag >> DIRTY, StreamEventKind::WriteBack);
            let set = self.pages.set_of(line);
            leaves(&self.counts, Departure { line, set, kind, slice });
        }
        if level == HitLevel::L2 {
            self.counts.l2_hits += 1;
        } else {
            self.counts.account.llc_references += 1;
            leaves(&self.counts, Departure { line, set, kind, slice });
        }
    }
}
