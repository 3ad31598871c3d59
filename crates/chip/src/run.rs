//! How a core runs its program for a turn.
//!
//! Time is cut into turns of about [`TURN`] cycles. In a turn one core after the other runs until the
//! turn's end; what they do to the last-level cache is in order only from turn to turn.

use crate::account::{Account, TICKS};
use crate::app::{Runner, Stretch, owner};
use crate::bus::Bus;
use crate::cache::{Caches, DIRTY, Level, NONE, Shared, Tag};
use crate::program::{AccessKind, Supply};

/// Cycles of a turn.
pub(crate) const TURN: u64 = 1000;

/// Instructions that are told at once.
const STRETCH: u32 = 1000;

/// Uses of simulated sets after which older ones weigh half.
const SEEN: u32 = 1 << 14;

/// What all cores share.
pub(crate) struct Uncore {
    pub(crate) llc: Shared,
    pub(crate) bus: Bus,
    /// Lines that each core's program holds, of the sets that are simulated.
    pub(crate) held: Vec<u32>,
    /// One of so many sets is simulated.
    pub(crate) sampling: usize,
    pub(crate) inclusive: bool,
}

/// A program on its core, with all that it needs.
pub(crate) struct Turn<'a> {
    pub(crate) core: usize,
    pub(crate) runner: &'a mut Runner,
    pub(crate) account: &'a mut Account,
    pub(crate) caches: &'a mut [Caches],
    pub(crate) uncore: &'a mut Uncore,
}

impl Turn<'_> {
    /// Runs until the core's clock is at `until`, or so many instructions have been run.
    pub(crate) fn run(&mut self, until: u64, instructions: u64) {
        let near_the_end = instructions.saturating_sub(u64::from(STRETCH));
        self.runner.supply = Supply::More;
        while self.runner.clock < until && self.account.instructions < instructions {
            let Stretch { source, accesses, next, cost, .. } = &mut self.runner.now;
            if *next == accesses.len() {
                let Some(source) = source else {
                    self.runner.clock = until;
                    return;
                };
                accesses.clear();
                *next = 0;
                let supply = source.generate(&mut self.runner.random, accesses);
                if supply != Supply::More {
                    (self.runner.supply, self.runner.clock) = (supply, until);
                    return;
                }
            }
            let access = &mut accesses[*next];
            // What comes before an access is told in pieces, and not beyond the end.
            if access.instructions > STRETCH || self.account.instructions > near_the_end {
                let left = instructions - self.account.instructions;
                let most = u32::try_from(left).map_or(STRETCH, |left| left.min(STRETCH));
                if access.instructions > most {
                    access.instructions -= most;
                    self.account.instructions += u64::from(most);
                    let ticks = u64::from(most) * cost.instruction;
                    self.runner.clock += ticks;
                    self.account.ticks += ticks;
                    self.runner.last_stall = 0;
                    continue;
                }
            }
            let access = *access;
            *next += 1;
            self.account.instructions += u64::from(access.instructions);
            self.account.l1_references += u64::from(access.references);
            let stalled = self.account.stall_ticks;
            let mut ticks = u64::from(access.instructions) * cost.instruction;
            let tag = self.runner.tag(access.line);
            ticks += match access.kind {
                AccessKind::None => 0,
                AccessKind::Load | AccessKind::Fetch => self.access(access.line, tag),
                AccessKind::Store => self.access(access.line, tag | DIRTY),
                AccessKind::Missed => {
                    self.account.l1_misses += 1;
                    let set = self.runner.now.pages.set(access.line);
                    self.shared(set, tag)
                }
            };
            self.runner.clock += ticks;
            self.account.ticks += ticks;
            self.runner.last_stall = self.account.stall_ticks - stalled;
        }
        if self.runner.seen.0 > SEEN {
            self.runner.seen = (self.runner.seen.0 / 2, self.runner.seen.1 / 2);
        }
    }

    /// Goes to the private caches first; the ticks that it takes.
    fn access(&mut self, line: u32, tag: Tag) -> u64 {
        let set = self.runner.now.pages.set(line);
        let pages = &mut self.runner.now.pages;
        let set_of = |tag| pages.set(Runner::line(tag));
        let (level, left) = self.caches[self.core].access(set, tag, set_of);
        if level == Level::L1 {
            return 0;
        }
        self.account.l1_misses += 1;
        for tag in left.into_iter().filter(|&tag| tag != NONE) {
            self.write_back(tag);
        }
        match level {
            Level::L1 => 0,
            Level::L2 => self.runner.now.cost.l2,
            Level::Beyond => self.shared(set, tag & !DIRTY),
        }
    }

    /// A dirty line leaves the private caches.
    fn write_back(&mut self, tag: Tag) {
        let set = self.runner.now.pages.set(Runner::line(tag));
        let Uncore { llc, sampling, .. } = &mut *self.uncore;
        let there = if *sampling == 1 {
            llc.write_back(set, tag)
        } else if set.is_multiple_of(*sampling) {
            llc.write_back(set / *sampling, tag)
        } else {
            // Whether it is there is known in the mean only; it was when it was brought in.
            true
        };
        if !there {
            self.post_write();
        }
    }

    /// A line goes to memory, and nobody waits for it.
    fn post_write(&mut self) {
        self.uncore.bus.take();
        self.account.lines += 1;
    }

    /// Goes to the last-level cache; the ticks that it takes.
    fn shared(&mut self, set: usize, tag: Tag) -> u64 {
        self.account.llc_references += 1;
        let sampling = self.uncore.sampling;
        let ticks = if sampling == 1 {
            self.look_up(set, set, tag)
        } else if set.is_multiple_of(sampling) {
            let misses = self.account.llc_misses;
            let ticks = self.look_up(set / sampling, set, tag);
            let hit = self.account.llc_misses == misses;
            let (uses, hits) = &mut self.runner.seen;
            *uses += 1;
            *hits += u32::from(hit);
            ticks
        } else {
            let (uses, hits) = self.runner.seen;
            self.runner.owed += (hits << 10).checked_div(uses).unwrap_or(0);
            if self.runner.owed >= 1 << 10 {
                self.runner.owed -= 1 << 10;
                self.runner.now.cost.llc
            } else {
                self.fetch()
            }
        };
        self.account.stall_ticks += ticks;
        ticks
    }

    fn look_up(&mut self, index: usize, set: usize, tag: Tag) -> u64 {
        let Some(evicted) = self.uncore.llc.access(index, tag, &self.runner.fill) else {
            return self.runner.now.cost.llc;
        };
        self.uncore.held[self.core] += 1;
        if evicted != NONE {
            let owner = owner(evicted);
            self.uncore.held[owner] -= 1;
            let mut dirty = evicted & DIRTY != 0;
            if self.uncore.inclusive {
                let Caches { l1, l2 } = &mut self.caches[owner];
                for cache in [Some(l1), l2.as_mut()].into_iter().flatten() {
                    let out = cache.invalidate(set, evicted);
                    dirty |= out.is_some_and(|out| out & DIRTY != 0);
                }
            }
            if dirty {
                self.post_write();
            }
        }
        self.fetch()
    }

    /// Brings a line from memory.
    fn fetch(&mut self) -> u64 {
        self.account.llc_misses += 1;
        self.account.lines += 1;
        let wait = self.uncore.bus.take();
        self.runner.now.cost.memory + wait * TICKS / self.runner.now.cost.overlap
    }
}
